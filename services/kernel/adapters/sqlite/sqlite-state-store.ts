/**
 * The state store of the embedded host (S1 to S6) in the one SQLite file. Its commits may append
 * to the log and store a group's offset in the same transaction, so they need no outbox.
 *
 * What is read while a transaction is open may still be rolled back. An answer that touches such
 * data is given after that transaction is durable, so that nobody acts on what never happened.
 */
import { AmbitError } from '#kernel/errors.ts'
import type {
  Commit,
  CommitResult,
  DueEntry,
  Fence,
  Loaded,
  LoadRequest,
  OutboxEntry,
  StateStore,
  StoredDocument,
} from '#kernel/ports/state-store.ts'
import type { PreparedAppend } from './log-streams.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SqliteEventLog } from './sqlite-event-log.ts'
import { planCounters, sumOf, writeCounters } from './store-counters.ts'

export interface SqliteStateStoreOptions {
  database: SqliteDatabase
  /** A log in the same file; commits with `append` or `offset` go to it. */
  log: Pick<SqliteEventLog, 'prepare' | 'appendInside' | 'storeOffsetInside'>
}

/** The port, and its maintenance. */
export interface SqliteStateStore extends StateStore {
  /** Deletes up to `max` expired documents and counters each; resolves with their number. */
  sweep(max?: number): Promise<number>
}

type StoredFence = Omit<Fence, 'key'>

const SWEEP_MAX = 1_000

const DOCUMENT =
  'select version, body from document ' +
  'where tenant = ? and key = ? and (expires is null or expires > ?)'
const VERSION =
  'select version from document where tenant = ? and key = ? and (expires is null or expires > ?)'
const PUT =
  'insert into document(tenant, key, version, body, expires) values (?, ?, ?, ?, ?) ' +
  'on conflict do update set version = excluded.version, body = excluded.body, ' +
  'expires = excluded.expires'
const DELETE = 'delete from document where tenant = ? and key = ?'
const FENCE = 'select incarnation, epoch, seq from fence where tenant = ? and key = ?'
const PUT_FENCE =
  'insert or replace into fence(tenant, key, incarnation, epoch, seq) values (?, ?, ?, ?, ?)'
const MOVE_FENCE = 'update fence set seq = ? where tenant = ? and key = ?'
const PUT_DUE =
  'insert into due(tenant, queue, id, at) values (?, ?, ?, ?) ' +
  'on conflict do update set at = excluded.at'
const DELETE_DUE = 'delete from due where tenant = ? and queue = ? and id = ?'
const PEEK = 'select id, at from due where tenant = ? and queue = ? order by at, id limit ?'
const PUT_OUTBOX = 'insert or replace into outbox(tenant, outbox, id, body) values (?, ?, ?, ?)'
const DELETE_OUTBOX = 'delete from outbox where tenant = ? and outbox = ? and id = ?'
const READ_OUTBOX = 'select id, body from outbox where tenant = ? and outbox = ? order by id'
const SWEEP_DOCUMENTS =
  'delete from document where (tenant, key) in ' +
  '(select tenant, key from document where expires <= ? limit ?)'
const SWEEP_COUNTERS =
  'delete from counter where (tenant, counter, field) in ' +
  '(select tenant, counter, field from counter where expires <= ? limit ?)'

/** Opens the store over an open database. */
export function createSqliteStateStore({
  database,
  log,
}: SqliteStateStoreOptions): SqliteStateStore {
  const touched = trackTouched(database)

  async function load({ tenant, documents, counters = [] }: LoadRequest): Promise<Loaded> {
    const loaded = database.read('store-unavailable', () =>
      readAll(database, { tenant, documents, counters }),
    )
    const names = [
      ...documents.map(key => nameOf('document', tenant, key)),
      ...counters.map(counter => nameOf('counter', tenant, counter)),
    ]
    await touched.durable(names)
    return loaded
  }

  async function commit(request: Commit): Promise<CommitResult> {
    const append = request.append?.length ? log.prepare(request.append) : undefined
    assertWritable(request)
    return database.write('store-unavailable', sizeOf(request, append), () => {
      const result = commitInside(database, request)
      if (result.kind !== 'ok') return result
      if (append) log.appendInside(append)
      if (request.offset) log.storeOffsetInside(request.offset)
      touched.add(namesWritten(request))
      return result
    })
  }

  return {
    atomicWithLog: true,
    load,
    commit,
    takeFence: async (tenant, fence) =>
      database.write('store-unavailable', 0, () => takeFence(database, tenant, fence)),
    async peekDue(tenant, queue, max) {
      const peeked = database.read('store-unavailable', () =>
        peekDue(database, { tenant, queue, max }),
      )
      await touched.durable([nameOf('due', tenant, queue)])
      return peeked
    },
    async readOutbox(tenant, outbox) {
      const entries = database.read('store-unavailable', () =>
        database
          .statement(READ_OUTBOX)
          .all(tenant, outbox)
          .map(({ id, body }): OutboxEntry => ({ outbox, id: String(id), body: String(body) })),
      )
      await touched.durable([nameOf('outbox', tenant, outbox)])
      return entries
    },
    sweep: async (max = SWEEP_MAX) =>
      database.write('store-unavailable', 0, () => {
        const now = database.now()
        const documents = database.statement(SWEEP_DOCUMENTS).run(now, max)
        const counters = database.statement(SWEEP_COUNTERS).run(now, max)
        return Number(documents.changes) + Number(counters.changes)
      }),
    async stop() {},
  }
}

/** Names that the open transaction has written, so that only readers of those wait for it. */
function trackTouched(database: SqliteDatabase) {
  const names = new Set<string>()
  const clear = () => names.clear()
  database.join({ committed: clear, rolledBack: clear })
  return {
    add(written: string[]) {
      for (const name of written) names.add(name)
    },
    async durable(read: string[]): Promise<void> {
      if (names.size === 0 || !read.some(name => names.has(name))) return
      await database.settled('store-unavailable')
    },
  }
}

type Kind = 'document' | 'counter' | 'due' | 'outbox'

function nameOf(kind: Kind, tenant: string, name: string): string {
  return `${kind}:${tenant.length}:${tenant}${name}`
}

function namesWritten({ tenant, put = [], add = [], due = [], ...rest }: Commit): string[] {
  const { outbox = [], clear = [] } = rest
  return [
    ...put.map(({ key }) => nameOf('document', tenant, key)),
    ...add.map(({ counter }) => nameOf('counter', tenant, counter)),
    ...due.map(({ queue }) => nameOf('due', tenant, queue)),
    ...[...outbox, ...clear].map(entry => nameOf('outbox', tenant, entry.outbox)),
  ]
}

function readAll(
  database: SqliteDatabase,
  { tenant, documents, counters }: Required<LoadRequest>,
): Loaded {
  const now = database.now()
  const found = new Map<string, StoredDocument>()
  const select = database.statement(DOCUMENT)
  for (const key of documents) {
    const row = select.get(tenant, key, now)
    if (row) found.set(key, { version: Number(row.version), body: String(row.body) })
  }
  return {
    now,
    documents: found,
    counters: new Map(
      counters.map(counter => [counter, sumOf(database, { tenant, counter, now })]),
    ),
  }
}

/** Judges every precondition before the first write, so that a refusal leaves no trace (S1). */
function commitInside(database: SqliteDatabase, request: Commit): CommitResult {
  const { tenant, fence, expect = {}, add = [] } = request
  const now = database.now()
  if (fence) {
    const found = storedFence(database, tenant, fence.key)
    if (!found || !isSameFence(found, fence)) return { kind: 'lost', found, now }
  }
  for (const [key, version] of Object.entries(expect)) {
    const row = database.statement(VERSION).get(tenant, key, now)
    if (Number(row?.version ?? 0) !== version) return { kind: 'conflict', key, now }
  }
  const plan = planCounters(database, { tenant, now, add })
  if (plan.kind === 'limit') return { ...plan, now }
  if (fence) database.statement(MOVE_FENCE).run(fence.seq + 1, tenant, fence.key)
  writeCounters(database, { tenant, now }, plan.counters)
  writeDocuments(database, request, now)
  writeQueues(database, request)
  return { kind: 'ok', now }
}

function isSameFence(a: StoredFence, b: StoredFence): boolean {
  return a.incarnation === b.incarnation && a.epoch === b.epoch && a.seq === b.seq
}

function storedFence(database: SqliteDatabase, tenant: string, key: string): StoredFence | null {
  const row = database.statement(FENCE).get(tenant, key)
  if (!row) return null
  const { incarnation, epoch, seq } = row
  return { incarnation: String(incarnation), epoch: Number(epoch), seq: Number(seq) }
}

function writeDocuments(database: SqliteDatabase, { tenant, put = [] }: Commit, now: number): void {
  for (const { key, version, body, ttlMs } of put) {
    if (body === null) database.statement(DELETE).run(tenant, key)
    else {
      const expires = ttlMs === undefined ? null : now + ttlMs
      database.statement(PUT).run(tenant, key, version, body, expires)
    }
  }
}

function writeQueues(database: SqliteDatabase, request: Commit): void {
  const { tenant, due = [], clear = [], outbox = [] } = request
  for (const { queue, id, at } of due) {
    if (at === null) database.statement(DELETE_DUE).run(tenant, queue, id)
    else database.statement(PUT_DUE).run(tenant, queue, id, at)
  }
  for (const each of clear) database.statement(DELETE_OUTBOX).run(tenant, each.outbox, each.id)
  for (const each of outbox) {
    database.statement(PUT_OUTBOX).run(tenant, each.outbox, each.id, each.body)
  }
}

function takeFence(database: SqliteDatabase, tenant: string, fence: Fence) {
  const found = storedFence(database, tenant, fence.key)
  if (found && found.epoch >= fence.epoch) return { taken: false, stored: found }
  const { key, incarnation, epoch, seq } = fence
  database.statement(PUT_FENCE).run(tenant, key, incarnation, epoch, seq)
  return { taken: true, stored: { incarnation, epoch, seq } }
}

function peekDue(
  database: SqliteDatabase,
  { tenant, queue, max }: { tenant: string; queue: string; max: number },
): { now: number; due: DueEntry[]; next?: number } {
  const now = database.now()
  const rows = database
    .statement(PEEK)
    .all(tenant, queue, max + 1)
    .map(({ id, at }) => ({ id: String(id), at: Number(at) }))
  const due = rows.filter(({ at }) => at <= now).slice(0, max)
  return { now, due, next: rows[due.length]?.at }
}

/**
 * A value that SQLite cannot bind would take the whole group of writes with it, those of other
 * tenants too. Throws `store-unavailable`: such a commit never succeeds.
 */
function assertWritable({ put = [], add = [], due = [], offset }: Commit): void {
  const integers = [
    ...put.map(({ version }) => version),
    ...put.map(({ ttlMs }) => ttlMs ?? 0),
    ...add.map(({ ttlMs }) => ttlMs),
    ...due.map(({ at }) => at ?? 0),
    offset?.offset ?? 0,
  ]
  if (integers.every(Number.isSafeInteger) && add.every(({ amount }) => Number.isFinite(amount))) {
    return
  }
  throw new AmbitError(
    'store-unavailable',
    'Expected whole numbers as versions, times and offsets, and finite amounts, got others. ' +
      'Correct the decision that made this commit.',
  )
}

function sizeOf({ put = [], outbox = [] }: Commit, append: PreparedAppend | undefined): number {
  let size = append?.bytes ?? 0
  for (const { body } of put) size += body?.length ?? 0
  for (const { body } of outbox) size += body.length
  return size
}
