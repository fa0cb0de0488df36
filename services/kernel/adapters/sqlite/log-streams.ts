/**
 * The streams of the log (a stream is one partition of one topic): where each ends, appending
 * inside a transaction, reading what is durable, waking those who wait. Groups and followers
 * are built on it.
 *
 * - T1 nobody reads at or above `durableEnd`, and it rises only after a COMMIT.
 * - T2 an offset that was durable once is never given again, whatever was deleted.
 */
import { partitionOf } from '#kernel/domain/ids.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { LogRecord, OutgoingRecord, Position } from '#kernel/ports/event-log.ts'
import { firstSince, readDurable, rowAtOrAfter } from './log-reads.ts'
import { createLogTail } from './log-tail.ts'
import { createLogTopics, type LogTopics, type Stream, type Topic } from './log-topics.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { type PackedRecord, packRecord } from './stored-record.ts'

/** Records with their streams chosen, ready for `appendPrepared`. */
export interface PreparedAppend {
  records: { stream: Stream; packed: PackedRecord }[]
  bytes: number
}

export interface LogStreams {
  /** Chooses partitions and copies the bytes; throws `log-unavailable` for an unknown topic. */
  prepare(records: OutgoingRecord[]): PreparedAppend
  /** Must run inside a write of the database. */
  appendPrepared(append: PreparedAppend): Position[]
  /** All partitions of a topic in order; empty for an unknown one. */
  of(topic: string): Stream[]
  /** Names of the topics that ever got a record. */
  storedTopics(): string[]
  /** Durable records from an offset on, at most `max` and a few MiB. May skip gaps. */
  read(stream: Stream, from: number, max: number): LogRecord[]
  /** First durable offset whose record is of `sinceMs` or later; `durableEnd` without one. */
  firstSince(stream: Stream, sinceMs: number): number
  /** First offset that is left; `durableEnd` when there is none. */
  firstOffset(stream: Stream): number
  /** Forgets cached records after a deletion. */
  dropTail(stream: Stream): void
  /** Called with every topic whose first record became durable. */
  onTopic(listener: (topic: string) => void): () => void
}

export interface LogStreamsOptions {
  database: SqliteDatabase
  /** Partition count of a topic that may be used; `undefined` for unknown ones. */
  partitionsOf(topic: string): number | undefined
  tailBytesMax: number
}

const INSERT =
  'insert into log(stream, "offset", ts, key, value, headers) values (?, ?, ?, ?, ?, ?)'
const INSERT_TOPIC = 'insert into topic(id, name, partitions) values (?, ?, ?)'
const STORE_END = 'insert or replace into stream(id, "end") values (?, ?)'

/** Opens the streams that the file holds. Throws `conflict` when a partition count changed. */
export function createLogStreams(options: LogStreamsOptions): LogStreams {
  const { database, partitionsOf } = options
  const topics = createLogTopics(database, partitionsOf)
  const tail = createLogTail(options.tailBytesMax)
  const topicListeners = new Set<(topic: string) => void>()
  const dirty = new Set<Stream>()
  const fresh = new Set<Topic>()

  function appendPrepared({ records }: PreparedAppend): Position[] {
    const timestamp = database.now()
    const insert = database.statement(INSERT)
    return records.map(({ stream, packed }) => {
      const { topic, partition } = stream
      const offset = stream.end
      insert.run(stream.id, offset, timestamp, packed.key, packed.value, packed.headers)
      stream.end = offset + 1
      const { key, value, read: headers } = packed
      stream.pending.push({ topic, partition, offset, timestamp, key, value, headers })
      stream.pendingBytes += packed.size
      dirty.add(stream)
      return { topic, partition, offset }
    })
  }

  function beforeCommit(): void {
    for (const stream of dirty) {
      const topic = topics.find(stream.topic)
      if (topic && !topic.isStored && !fresh.has(topic)) {
        database.statement(INSERT_TOPIC).run(topic.id, topic.name, topic.streams.length)
        fresh.add(topic)
      }
      database.statement(STORE_END).run(stream.id, stream.end)
    }
  }

  function committed(): void {
    const streams = [...dirty]
    dirty.clear()
    for (const stream of streams) {
      stream.durableEnd = stream.end
      tail.push(stream.tail, stream.pending, stream.pendingBytes)
      clearPending(stream)
    }
    for (const topic of fresh) {
      topic.isStored = true
      for (const listener of topicListeners) listener(topic.name)
    }
    fresh.clear()
    for (const stream of streams) for (const listener of stream.listeners) listener()
  }

  function rolledBack(): void {
    for (const stream of dirty) {
      stream.end = stream.durableEnd
      clearPending(stream)
    }
    dirty.clear()
    fresh.clear()
  }

  database.join({ beforeCommit, committed, rolledBack })
  return {
    prepare: records => prepare(topics, records),
    appendPrepared,
    of: name => topics.find(name)?.streams ?? [],
    storedTopics: topics.stored,
    read: (stream, from, max) => readDurable(database, stream, from, max),
    firstSince: (stream, sinceMs) => firstSince(database, stream, sinceMs),
    firstOffset: stream => rowAtOrAfter(database, stream, 0)?.offset ?? stream.durableEnd,
    dropTail: stream => tail.drop(stream.tail),
    onTopic(listener) {
      topicListeners.add(listener)
      return () => topicListeners.delete(listener)
    },
  }
}

function prepare(topics: LogTopics, records: OutgoingRecord[]): PreparedAppend {
  let bytes = 0
  const prepared = records.map(record => {
    const streams = topics.find(record.topic)?.streams
    if (!streams) throw unknownTopic(record.topic)
    const packed = packRecord(record)
    bytes += packed.size
    const partition = partitionOf(record.partitionKey ?? record.key, streams.length)
    return { stream: streams[partition]!, packed }
  })
  return { records: prepared, bytes }
}

function clearPending(stream: Stream): void {
  stream.pending = []
  stream.pendingBytes = 0
}

function unknownTopic(topic: string): AmbitError {
  return new AmbitError(
    'log-unavailable',
    `Expected a topic of the catalogue, got "${topic}". Nothing was appended.`,
  )
}
