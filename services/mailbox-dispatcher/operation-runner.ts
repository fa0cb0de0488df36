/**
 * Commits an operation and makes its outputs durable before anybody is answered.
 *
 * - R1 Outputs are committed with the change: in the same transaction as the log where store and
 *   log are one, else through the outbox of the tenant.
 * - R2 What could not be appended is appended before the next operation commits, and by any other
 *   process within `ORPHAN_MS` and one more sweep when this one is gone.
 */
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { decodeOutbox, encodeOutbox } from '#kernel/host/outbox.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import { runTransaction } from '#kernel/host/transaction.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { Commit, StateStore } from '#kernel/ports/state-store.ts'
import { OPERATIONS_OUTBOX } from './message-document.ts'

/** Ms after which appended outputs leave the outbox, many at a time. */
const CLEAR_EVERY_MS = 200
/** Ms between two looks for outputs that a dead process left. */
const SWEEP_EVERY_MS = 5000
/** Age in ms at which an entry belongs to nobody any more. */
const ORPHAN_MS = 5000

export interface OperationWorld {
  store: StateStore
  log: EventLog
  writer: RecordWriter
  clock: Clock
  ids: Ids
  logger: Logger
  /** Tenants whose outboxes are looked after. */
  tenants(): string[]
  /** Told of outputs once they are durable. */
  onDurable(outputs: Output[]): void
}

export interface Operation<T> {
  tenant: string
  documents: string[]
  counters?: string[]
  /** Field of counters; the one that a rebuild of the partition sets again. */
  field: string
  decide(unit: UnitOfWork): T
  /** Documents that must still have the version which `decide` read. */
  required?(): Record<string, number>
}

export interface Committed<T> {
  value: T
  /** Resolves when the outputs are in the log; never left unhandled. */
  durable: Promise<void>
}

export interface OperationRunner {
  /** Resolves when committed; an answer must wait for `durable` too. */
  commit<T>(operation: Operation<T>): Promise<Committed<T>>
  /** Appends everything the tenant's outbox holds. */
  drain(tenant: string): Promise<void>
  stop(): Promise<void>
}

interface Entry {
  tenant: string
  id: string
  records: OutgoingRecord[]
  outputs: Output[]
}

interface Self {
  world: OperationWorld
  /** Committed here, not appended yet (R2). */
  unsent: Set<Entry>
  sent: Map<string, string[]>
  isClearing: boolean
  stopping: AbortController
}

export function createOperationRunner(world: OperationWorld): OperationRunner {
  const self: Self = {
    world,
    unsent: new Set(),
    sent: new Map(),
    isClearing: false,
    stopping: new AbortController(),
  }
  const sweeping = world.store.atomicWithLog ? Promise.resolve() : sweep(self)
  return {
    commit: operation => commit(self, operation),
    drain: tenant => drain(self, tenant, 0),
    async stop() {
      self.stopping.abort()
      await sweeping
      await clear(self)
    },
  }
}

async function commit<T>(self: Self, operation: Operation<T>): Promise<Committed<T>> {
  for (const entry of [...self.unsent]) await resend(self, entry)
  const { store, ids } = self.world
  const { tenant, documents, counters = [], field } = operation
  let entry: Entry = { tenant, id: '', records: [], outputs: [] }
  let now = 0
  const result = await runTransaction({
    store,
    tenant,
    hints: { documents, counters },
    field,
    decide: unit => {
      now = unit.now
      return operation.decide(unit)
    },
    shape: changes => {
      Object.assign(changes.expect, { ...operation.required?.(), ...changes.expect })
      const id = `${String(now).padStart(16, '0')}-${ids.random()}`
      const records = changes.outputs.map(output => self.world.writer.encode(output))
      entry = { tenant, id, records, outputs: changes.outputs }
      return outputsPart(store, entry)
    },
  })
  if (result.kind === 'lost') throw new Error('an operation carries no fence and cannot lose it')
  const durable = entry.records.length === 0 ? Promise.resolve() : send(self, entry)
  durable.catch(() => {})
  return { value: result.value, durable }
}

/** The half of a commit that carries outputs (R1). */
function outputsPart(store: StateStore, { id, records }: Entry): Pick<Commit, 'append' | 'outbox'> {
  if (records.length === 0) return {}
  if (store.atomicWithLog) return { append: records }
  return { outbox: [{ outbox: OPERATIONS_OUTBOX, id, body: encodeOutbox(records) }] }
}

async function send(self: Self, entry: Entry): Promise<void> {
  const { store, log, onDurable } = self.world
  if (!store.atomicWithLog) {
    try {
      await log.append(entry.records)
    } catch (error) {
      self.unsent.add(entry)
      throw error
    }
    noteSent(self, entry.tenant, [entry.id])
  }
  onDurable(entry.outputs)
}

async function resend(self: Self, entry: Entry): Promise<void> {
  await self.world.log.append(entry.records)
  if (!self.unsent.delete(entry)) return
  noteSent(self, entry.tenant, [entry.id])
  self.world.onDurable(entry.outputs)
}

function noteSent(self: Self, tenant: string, ids: string[]): void {
  self.sent.set(tenant, [...(self.sent.get(tenant) ?? []), ...ids])
  if (self.isClearing || self.stopping.signal.aborted) return
  self.isClearing = true
  void self.world.clock
    .sleep(CLEAR_EVERY_MS, self.stopping.signal)
    .catch(() => {})
    .then(() => {
      self.isClearing = false
      return clear(self)
    })
}

/** An entry that stays is appended again by a sweep: the same records, recognised by readers. */
async function clear(self: Self): Promise<void> {
  const { store, logger } = self.world
  for (const [tenant, ids] of [...self.sent]) {
    self.sent.delete(tenant)
    const entries = ids.map(id => ({ outbox: OPERATIONS_OUTBOX, id }))
    await store
      .commit({ tenant, clear: entries })
      .catch(error => logger.warn({ tenant, err: error }, 'sent outputs stay in the outbox'))
  }
}

async function drain(self: Self, tenant: string, olderThanMs: number): Promise<void> {
  const { store, log } = self.world
  if (store.atomicWithLog) return
  const entries = await store.readOutbox(tenant, OPERATIONS_OUTBOX)
  if (entries.length === 0) return
  const { now } = await store.load({ tenant, documents: [] })
  const orphans = entries.filter(({ id }) => Number(id.split('-')[0]) <= now - olderThanMs)
  if (orphans.length === 0) return
  await log.append(orphans.flatMap(({ body }) => decodeOutbox(body)))
  noteSent(
    self,
    tenant,
    orphans.map(({ id }) => id),
  )
}

async function sweep(self: Self): Promise<void> {
  const { clock, logger, tenants } = self.world
  const { signal } = self.stopping
  while (!signal.aborted) {
    await clock.sleep(SWEEP_EVERY_MS, signal).catch(() => {})
    for (const tenant of signal.aborted ? [] : tenants()) {
      await drain(self, tenant, ORPHAN_MS).catch(error =>
        logger.warn({ tenant, err: error }, 'outbox could not be drained; will be retried'),
      )
    }
  }
}
