/**
 * The event log of the embedded host (L1 to L5) in the one SQLite file. Readers live in the same
 * process and are woken by the commit itself, so a hop costs one flush and no polling.
 */
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, LogRecord, OutgoingRecord, Position } from '#kernel/ports/event-log.ts'
import { createGroupOffsets, type GroupOffset } from './group-offsets.ts'
import { startFollowing } from './log-followers.ts'
import { createLogGroups } from './log-groups.ts'
import { type CompactSettings, compactTopic, pruneTopics } from './log-retention.ts'
import { createLogStreams, type LogStreams, type PreparedAppend } from './log-streams.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

export interface SqliteEventLogOptions {
  database: SqliteDatabase
  clock: Pick<Clock, 'sleep'>
  /** Partition count of a topic that may be used; `undefined` for unknown ones. */
  partitionsOf(topic: string): number | undefined
  /** True for the topics that `withExtIngress` means. Default: those named `ingress.ext.…`. */
  isExtIngress?(topic: string): boolean
  /** Memory for the newest records of all topics. Default 64 MiB. */
  tailBytesMax?: number
}

/** The port, and what only a log of the same file can do. */
export interface SqliteEventLog extends EventLog {
  /** Checks and copies records for `appendInside`; throws `log-unavailable`. */
  prepare(records: OutgoingRecord[]): PreparedAppend
  /** Appends as part of a write of the database that is under way. */
  appendInside(append: PreparedAppend): Position[]
  /** Stores a group's offset as part of a write of the database that is under way. */
  storeOffsetInside(offset: GroupOffset): void
  /**
   * Deletes records older than their topic's retention, a bite at a time; resolves with their
   * number. `retentionOf` answers ms, or -1 for topics that are kept or compacted.
   */
  prune(nowMs: number, retentionOf: (topic: string) => number): Promise<number>
  /** Keeps only the newest record of each key; resolves with the number of deleted ones. */
  compact(topic: string, settings?: CompactSettings): Promise<number>
}

const TAIL_BYTES_MAX = 64 * 1024 * 1024

/** Opens the log. Throws `conflict` when a stored topic has another partition count. */
export function createSqliteEventLog(options: SqliteEventLogOptions): SqliteEventLog {
  const { database, partitionsOf, clock } = options
  const isExtIngress = options.isExtIngress ?? (topic => topic.startsWith('ingress.ext.'))
  const tailBytesMax = options.tailBytesMax ?? TAIL_BYTES_MAX
  const streams = createLogStreams({ database, partitionsOf, tailBytesMax })
  const offsets = createGroupOffsets(database, streams)
  const groups = createLogGroups({ streams, offsets, clock, isExtIngress })
  const stops = new Set<() => Promise<void>>()

  async function append(records: OutgoingRecord[]): Promise<Position[]> {
    if (records.length === 0) return []
    const prepared = streams.prepare(records)
    return database.write('log-unavailable', prepared.bytes, () => streams.appendPrepared(prepared))
  }

  return {
    append,
    consume: groups.consume,
    async follow(followOptions) {
      const following = startFollowing({ streams, clock, isExtIngress }, followOptions)
      stops.add(following.stop)
      return {
        barrier: following.barrier,
        async stop() {
          stops.delete(following.stop)
          await following.stop()
        },
      }
    },
    async endOffsets(topics) {
      return topics
        .flatMap(streams.of)
        .map(({ topic, partition, durableEnd }) => ({ topic, partition, offset: durableEnd }))
    },
    readAt: async positions => positions.map(position => recordAt(streams, position)),
    lag: async (group, topics) => offsets.lag(group, topics),
    async stop() {
      await Promise.all([groups.stop(), ...[...stops].map(stop => stop())])
    },
    prepare: streams.prepare,
    appendInside: streams.appendPrepared,
    storeOffsetInside: offsets.storeInside,
    prune: (nowMs, retentionOf) => pruneTopics({ database, streams }, nowMs, retentionOf),
    compact: (topic, settings) => compactTopic({ database, streams }, topic, settings),
  }
}

function recordAt(streams: LogStreams, { topic, partition, offset }: Position) {
  const stream = streams.of(topic)[partition]
  const found: LogRecord | undefined = stream && streams.read(stream, offset, 1)[0]
  return found?.offset === offset ? found : undefined
}
