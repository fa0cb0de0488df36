/**
 * Compacted topics held as live tables: the highest version of each document wins, late appends
 * of old owners change nothing (I14, F28). Documents stay encoded; decoding is lazy and cached,
 * so that a hundred thousand subscriptions fit in memory.
 */
import { readable } from '#kernel/domain/readable.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, Following, LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { TableDocument } from '#schemas/generated/records.ts'
import { createDocumentPacker, type Packed } from './document-packer.ts'

/** Decoded documents kept per table. */
const DECODED_MAX = 5000

/** Kind of the records that prove the control plane alive. */
export const HEARTBEAT_KIND = 'heartbeat'

interface Held {
  version: number
  packed: Packed
}

export interface TableChange {
  topic: string
  key: string
  document: TableDocument
}

export interface LiveTables {
  /** The document, deleted ones included; undefined when never written. */
  get(topic: string, key: string): TableDocument | undefined
  /** Tenants that have any document; their name is the first part of its key. */
  tenants(): string[]
  /** Keys held, deleted documents included. */
  keys(topic: string): IterableIterator<string>
  /** Called for every newer version, and for what is already there. */
  onChange(listener: (change: TableChange) => void): void
  /** Waits until everything appended before the call is visible. */
  barrier(): Promise<void>
  /** Ms since the last sign of the control plane; Infinity before the first. */
  heartbeatAgeMs(): number
  stop(): Promise<void>
}

export interface LiveTablesOptions {
  log: EventLog
  codec: RecordCodec
  clock: Clock
  topics: string[]
}

/** Opens the tables and resolves when they have caught up. */
export async function openLiveTables(options: LiveTablesOptions): Promise<LiveTables> {
  const { log, codec, clock, topics } = options
  const tables = new Map(topics.map(topic => [topic, new Map<string, Held>()]))
  const decoded = new Map<string, TableDocument>()
  const store = createDocumentPacker()
  const tenants = new Set<string>()
  const listeners: ((change: TableChange) => void)[] = []
  let heartbeat = Number.NEGATIVE_INFINITY

  const apply = (record: LogRecord) => {
    if (!record.key) return
    const key = Buffer.from(record.key).toString()
    const table = tables.get(record.topic)
    if (!table) return
    if (!record.value) {
      table.delete(key)
      decoded.delete(`${record.topic}\n${key}`)
      return
    }
    const { value } = record
    const document = readable(() => codec.decode('table-document', value))
    if (!document) return
    if (document.kind === HEARTBEAT_KIND) {
      heartbeat = Math.max(heartbeat, Math.min(clock.now(), record.timestamp))
      return
    }
    if ((table.get(key)?.version ?? -1) >= document.version) return
    tenants.add(document.tenant)
    table.set(key, { version: document.version, packed: store.pack(record.value, table.size) })
    decoded.delete(`${record.topic}\n${key}`)
    for (const listener of listeners) listener({ topic: record.topic, key, document })
  }
  const get = (topic: string, key: string) => {
    const id = `${topic}\n${key}`
    const known = decoded.get(id)
    if (known) return known
    const held = tables.get(topic)?.get(key)
    if (!held) return undefined
    const document = codec.decode('table-document', store.unpack(held.packed))
    if (decoded.size >= DECODED_MAX) decoded.delete(decoded.keys().next().value ?? '')
    decoded.set(id, document)
    return document
  }
  const following: Following = await log.follow({
    topics,
    from: 'beginning',
    onRecords: records => {
      for (const record of records) apply(record)
    },
  })
  await following.barrier()
  return {
    get,
    tenants: () => [...tenants],
    keys: topic => (tables.get(topic) ?? new Map()).keys(),
    onChange(listener) {
      listeners.push(listener)
      for (const [topic, table] of tables) {
        for (const key of table.keys()) {
          const document = get(topic, key)
          if (document) listener({ topic, key, document })
        }
      }
    },
    barrier: shareBarrier(() => following.barrier()),
    heartbeatAgeMs: () => clock.now() - heartbeat,
    stop: () => following.stop(),
  }
}

/**
 * Callers that come while a barrier is under way share the next one: a barrier must begin after
 * its call, so the one under way is too old for them.
 */
function shareBarrier(barrier: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined
  let next: Promise<void> | undefined
  const start = (): Promise<void> => {
    const started = barrier().finally(() => {
      if (current === started) current = undefined
    })
    current = started
    return started
  }
  return () => {
    if (!current) return start()
    next ??= current
      .catch(() => {})
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }
}

/** Ms between two heartbeats of the control plane. */
export const HEARTBEAT_EVERY_MS = 5000

/**
 * The read barrier of a step: tables caught up, and the control plane heard of within
 * `continuityMs`. Waits (events stay in the log) while policy is too old, and says so.
 */
export async function awaitPolicy(
  tables: LiveTables,
  clock: Clock,
  rule: { continuityMs: number; onWaiting(isWaiting: boolean): void; isStopped(): boolean },
): Promise<void> {
  await tables.barrier()
  if (tables.heartbeatAgeMs() <= rule.continuityMs) return
  rule.onWaiting(true)
  while (tables.heartbeatAgeMs() > rule.continuityMs) {
    if (rule.isStopped()) throw new AmbitError('not-ready', 'Stopped while waiting for policy.')
    await clock.sleep(250)
  }
  rule.onWaiting(false)
  await tables.barrier()
}
