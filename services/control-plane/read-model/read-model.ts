/**
 * What happened, from the log into tables that can be asked. The model is derived: its file may be
 * deleted at any time, and is read again from the topics (I18).
 *
 * - R1 Rows and the positions up to which they were read are committed together, so a restart
 *   goes on where it stood.
 * - R2 A record that cannot be read is counted and skipped; the rest goes on.
 * - R3 After `fresh` everything appended before the call can be read.
 */
import { createEventReader } from '#kernel/host/event-reader.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, Position } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { createErasures } from './erasures.ts'
import type { LiveChange } from './live-change.ts'
import { createLiveFeed, type LiveFeed } from './live-feed.ts'
import { createLogBodies, type LogBodies } from './log-bodies.ts'
import { hashModel } from './model-hash.ts'
import { createModelWriter } from './model-writer.ts'
import type { Cutoffs } from './prune.ts'
import { emptyTables, prepareTables } from './read-model-schema.ts'
import { FOLLOWED_TOPICS } from './read-record.ts'

const DAY_MS = 24 * 3_600_000

/** Notices, dead letters and usage stay as long as their topics keep them. */
const LONG_WINDOW_MS = 31 * DAY_MS

/** How long a question waits for the newest records before it is answered from what is there. */
const FRESH_WITHIN_MS = 2000

/** People wait for a list longer than this anyway; fewer requests leave more for the events. */
const PACE_MS = 150

export interface ReadModelOptions {
  log: EventLog
  codec: RecordCodec
  /** The model's own from now on: `stop` closes it. */
  database: ProjectionDatabase
  clock: Clock
  logger: Logger
  /** Decodes a producer's Avro value by its registry id; absent without a registry. */
  decodeConfluent?(bytes: Uint8Array): Promise<unknown>
  /** Days of events, decisions and settled messages that are kept. Default 7. */
  recentDays?: number
  /** Called after changes became readable; must not throw. */
  onEvent?(changes: LiveChange[]): void
}

/** What the queries read. */
export interface ReadView {
  database: ProjectionDatabase
  bodies: LogBodies
  isErased(tenant: string, event: { source: string; id: string }): boolean
}

/** The newest fate of a subscription, as `last` of its stored form. */
export interface LastFate {
  fate: string
  /** RFC 3339. */
  at: string
  eventId: string
  messageId?: string
}

export interface ReadModelStatus {
  /** Records that could not be read since the model was built. */
  skipped: number
  /** Records read but not yet written. */
  pending: number
}

export interface ReadModel extends ReadView {
  /**
   * Waits until everything appended before the call can be read; after two seconds it goes on
   * with what is there and answers false.
   */
  fresh(): Promise<boolean>
  lastOf(tenant: string, subscription: string): LastFate | undefined
  watch: LiveFeed['watch']
  /** Hides an event's body and evidence here at once; the topic makes it last. */
  erase(tenant: string, event: { source: string; id: string }, by: string): void
  status(): ReadModelStatus
  /** Equal for two models of the same log and window. */
  hash(): Promise<string>
  /** Empties the model and reads the topics again; resolves when it has caught up. */
  rebuild(): Promise<void>
  stop(): Promise<void>
}

/** Opens the model and begins to follow; it catches up in the background. */
export async function openReadModel(options: ReadModelOptions): Promise<ReadModel> {
  const { log, codec, database, clock, logger, decodeConfluent } = options
  const windowMs = (options.recentDays ?? 7) * DAY_MS
  const cutoffs = (): Cutoffs => ({
    recentMs: clock.now() - windowMs,
    longMs: clock.now() - LONG_WINDOW_MS,
  })
  const offsets = await startPositions(options)
  const erasures = createErasures(database)
  const feed = createLiveFeed()
  let isRebuilding = false
  const publish = (changes: LiveChange[]) => {
    // What is read again is no news.
    if (isRebuilding) return
    feed.publish(changes)
    options.onEvent?.(changes)
  }
  const events = createEventReader({ codec, decodeConfluent })
  const reader = { codec, events }
  const begin = async (from: Position[]) => {
    const writer = createModelWriter({
      database,
      reader,
      erasures,
      clock,
      logger,
      cutoffs,
      publish,
    })
    const following = await log.follow({
      paceMs: PACE_MS,
      topics: FOLLOWED_TOPICS,
      withExtIngress: true,
      from: { offsets: from },
      onRecords: writer.take,
    })
    return { writer, following }
  }
  let running = await begin(offsets)
  const end = async () => {
    await running.following.stop()
    await running.writer.stop()
  }
  const fresh = async () => {
    try {
      await running.following.barrier(FRESH_WITHIN_MS)
      await running.writer.drain()
      return true
    } catch (error) {
      logger.warn({ err: error }, 'the read model answers from what it has')
      return false
    }
  }
  return {
    database,
    bodies: createLogBodies({ log, codec, events, erasures }),
    isErased: (tenant, { source, id }) => erasures.has(tenant, source, id),
    fresh,
    lastOf: (tenant, subscription) => lastOf(database, tenant, subscription),
    watch: feed.watch,
    erase: (tenant, event, by) => {
      database.transaction(() => erasures.add(tenant, event, { at: clock.now(), by }))
    },
    status: () => running.writer.status(),
    async hash() {
      await running.writer.drain()
      return hashModel(database, cutoffs())
    },
    async rebuild() {
      isRebuilding = true
      try {
        await end()
        emptyTables(database)
        running = await begin([])
        await running.following.barrier()
        await running.writer.drain()
      } finally {
        isRebuilding = false
      }
    },
    async stop() {
      await end()
      database.close()
    },
  }
}

/** Where to go on. A model ahead of its log belongs to another log and is built anew. */
async function startPositions(options: ReadModelOptions): Promise<Position[]> {
  const { log, database, logger } = options
  if (prepareTables(database)) return []
  const stored = database.all<{ topic: string; partition: number; next: number }>(
    'select topic, partition, next from positions',
  )
  const ends = await log.endOffsets([...new Set(stored.map(({ topic }) => topic))])
  const endOf = new Map(ends.map(end => [`${end.topic}/${end.partition}`, end.offset]))
  const isAhead = stored.some(at => at.next > (endOf.get(`${at.topic}/${at.partition}`) ?? 0))
  if (isAhead) {
    logger.warn({}, 'the read model is of another log; building anew')
    emptyTables(database)
    return []
  }
  return stored.map(({ topic, partition, next }) => ({ topic, partition, offset: next }))
}

function lastOf(database: ProjectionDatabase, tenant: string, id: string): LastFate | undefined {
  const row = database.get<{
    fate: string
    at: number
    event_id: string
    message_id: string | null
  }>(
    `select fate, at, event_id, message_id from last_fates where tenant = ? and subscription = ?`,
    tenant,
    id,
  )
  if (!row) return undefined
  return {
    fate: row.fate,
    at: new Date(row.at).toISOString(),
    eventId: row.event_id,
    ...(row.message_id === null ? {} : { messageId: row.message_id }),
  }
}
