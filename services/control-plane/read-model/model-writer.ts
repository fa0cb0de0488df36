/**
 * Collects records from the log and writes them in transactions of a few milliseconds, so that
 * a burst shares its commits and nobody else in the process waits long.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { isAmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { Erasures } from './erasures.ts'
import type { LiveChange } from './live-change.ts'
import { type Cutoffs, createPruner, type Pruner } from './prune.ts'
import { type ReadRecord, type RecordReader, readRecord } from './read-record.ts'
import { isBeforeWindow, writeRecord } from './write-record.ts'

/** Records per transaction: about three milliseconds. */
const CHUNK_MAX = 200
/** Above this the log waits for us. */
const PENDING_MAX = 5000
/** Records that come within this time share a transaction, ms. */
const GATHER_MS = 20
/** Pause after the database or a schema was not there, ms. */
const RETRY_MS = 500

export interface ModelWriterWorld {
  database: ProjectionDatabase
  reader: RecordReader
  erasures: Erasures
  clock: Clock
  logger: Logger
  cutoffs(): Cutoffs
  publish(changes: LiveChange[]): void
}

export interface ModelWriter {
  /** Takes records in the order of their partition; a promise when it has too many already. */
  take(records: LogRecord[]): void | Promise<void>
  /** Writes everything taken before the call. Rejects when it cannot be written. */
  drain(): Promise<void>
  status(): { skipped: number; pending: number }
  /** Writes what it has, then stops. */
  stop(): Promise<void>
}

export function createModelWriter(world: ModelWriterWorld): ModelWriter {
  const { clock, logger } = world
  const pending: LogRecord[] = []
  const stopping = new AbortController()
  const prune = createPruner(world.database)
  let skipped = countSkipped(world.database)
  let draining: Promise<void> | undefined
  let isGathering = false

  const skip = (record: LogRecord, error: unknown) => {
    skipped += 1
    const { topic, partition, offset } = record
    const reason = error instanceof Error ? error.message : 'unreadable'
    logger.warn({ topic, partition, offset, reason }, 'the read model skips a record')
  }

  async function writeAll(): Promise<void> {
    while (pending.length > 0) {
      const chunk = pending.slice(0, CHUNK_MAX)
      const read = await readChunk(world, chunk, skip)
      const changes = writeChunk(world, { chunk, read, skip, prune, skippedNow: () => skipped })
      pending.splice(0, chunk.length)
      world.publish(changes)
      if (pending.length > 0) await nextTurn()
    }
  }

  function drain(): Promise<void> {
    draining ??= writeAll().finally(() => {
      draining = undefined
    })
    return draining
  }

  function add(records: LogRecord[]): void {
    for (const record of records) pending.push(record)
    void gather()
  }

  /** Goes on until everything is written: the database or a schema may come back. */
  async function gather(): Promise<void> {
    if (isGathering || stopping.signal.aborted) return
    isGathering = true
    try {
      await clock.sleep(GATHER_MS, stopping.signal)
      while (pending.length > 0) {
        try {
          await drain()
        } catch (error) {
          logger.error({ err: error }, 'the read model could not be written; trying again')
          await clock.sleep(RETRY_MS, stopping.signal)
        }
      }
    } catch {
      // Stopped while waiting.
    } finally {
      isGathering = false
    }
  }

  return {
    // Nothing is taken while there is no room, since the log then brings the same records again.
    take: records =>
      pending.length < PENDING_MAX ? add(records) : drain().then(() => add(records)),
    drain,
    status: () => ({ skipped, pending: pending.length }),
    async stop() {
      stopping.abort()
      await drain().catch(error => logger.warn({ err: error }, 'the read model stops behind'))
    },
  }
}

/** Decodes before the transaction begins; what cannot be decoded is skipped (R2). */
async function readChunk(
  { reader, cutoffs }: ModelWriterWorld,
  chunk: LogRecord[],
  skip: (record: LogRecord, error: unknown) => void,
): Promise<ReadRecord[]> {
  const { recentMs } = cutoffs()
  const found: ReadRecord[] = []
  for (const record of chunk) {
    if (isBeforeWindow(record, recentMs)) continue
    try {
      const read = readRecord(record, reader)
      const value = read instanceof Promise ? await read : read
      if (value) found.push(value)
    } catch (error) {
      // The schema of a newer writer is on its way: the whole chunk is read again.
      if (isAmbitError(error) && error.code === 'not-ready') throw error
      skip(record, error)
    }
  }
  return found
}

interface Chunk {
  chunk: LogRecord[]
  read: ReadRecord[]
  skip(record: LogRecord, error: unknown): void
  skippedNow(): number
  prune: Pruner
}

/** Rows and positions together (R1). */
function writeChunk(world: ModelWriterWorld, chunk: Chunk): LiveChange[] {
  const { database, erasures, cutoffs } = world
  const limits = cutoffs()
  const target = { database, erasures, recentMs: limits.recentMs }
  const changes: LiveChange[] = []
  database.transaction(() => {
    for (const read of chunk.read) {
      try {
        const change = writeRecord(target, read)
        if (change) changes.push(change)
      } catch (error) {
        if (isDatabaseFailure(error)) throw error
        chunk.skip(read.record, error)
      }
    }
    storePositions(database, chunk.chunk)
    storeSkipped(database, chunk.skippedNow())
    chunk.prune(limits, chunk.chunk.length)
  })
  return changes
}

/** Result codes of SQLite that blame the record: too big, a constraint, a type, a range. */
const RECORD_CODES = [18, 19, 20, 25]

/** The database refused, so the chunk is tried again; anything else is the record's fault. */
function isDatabaseFailure(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false
  return !RECORD_CODES.includes(Number(error.errcode) & 0xff)
}

function storePositions(database: ProjectionDatabase, chunk: LogRecord[]): void {
  const next = new Map<string, LogRecord>()
  for (const record of chunk) next.set(`${record.topic}/${record.partition}`, record)
  for (const { topic, partition, offset } of next.values()) {
    database.run(
      `insert into positions (topic, partition, next) values (?, ?, ?)
       on conflict (topic, partition) do update set next = excluded.next`,
      ...[topic, partition, offset + 1],
    )
  }
}

function countSkipped(database: ProjectionDatabase): number {
  const row = database.get<{ value: number }>("select value from counters where name = 'skipped'")
  return row?.value ?? 0
}

function storeSkipped(database: ProjectionDatabase, skipped: number): void {
  if (skipped === 0) return
  database.run(
    `insert into counters (name, value) values ('skipped', ?)
     on conflict (name) do update set value = excluded.value`,
    skipped,
  )
}
