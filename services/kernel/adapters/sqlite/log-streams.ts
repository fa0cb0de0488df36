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
import { createLogTail, type Tail } from './log-tail.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { type PackedRecord, packRecord, unpackHeaders } from './stored-record.ts'

/** One partition of one topic. */
export interface Stream {
  readonly id: number
  readonly topic: string
  readonly partition: number
  /** Next offset that an append gets; beyond `durableEnd` while a transaction is open. */
  end: number
  /** Next offset after the last durable record. */
  durableEnd: number
  readonly tail: Tail
  /** Called after every commit that added records. */
  readonly listeners: Set<() => void>
  pending: LogRecord[]
  pendingBytes: number
}

interface Topic {
  readonly id: number
  readonly name: string
  readonly streams: Stream[]
  /** True once its row is durable. */
  isStored: boolean
}

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

/** Streams of a topic have consecutive ids. */
const PARTITIONS_MAX = 1_024
const READ_BYTES_MAX = 8 * 1024 * 1024

const INSERT = 'insert into log(stream, "offset", ts, key, value, headers) values (?, ?, ?, ?, ?, ?)'
const INSERT_TOPIC = 'insert into topic(id, name, partitions) values (?, ?, ?)'
const STORE_END = 'insert or replace into stream(id, "end") values (?, ?)'
const READ =
  'select "offset", ts, key, value, headers from log ' +
  'where stream = ? and "offset" >= ? and "offset" < ? order by "offset" limit ?'
const AT_OR_AFTER =
  'select "offset", ts from log where stream = ? and "offset" >= ? and "offset" < ? ' +
  'order by "offset" limit 1'

interface LogRow {
  offset: number
  ts: number
  key: Uint8Array | null
  value: Uint8Array | null
  headers: Uint8Array | null
}

/** Opens the streams that the file holds. Throws `conflict` when a partition count changed. */
export function createLogStreams(options: LogStreamsOptions): LogStreams {
  const { database, partitionsOf } = options
  const topics = loadTopics(database, partitionsOf)
  const tail = createLogTail(options.tailBytesMax)
  const topicListeners = new Set<(topic: string) => void>()
  const dirty = new Set<Stream>()
  const fresh = new Set<Topic>()
  let topicIdMax = Math.max(0, ...[...topics.values()].map(({ id }) => id))

  function topicOf(name: string): Topic | undefined {
    const found = topics.get(name)
    if (found) return found
    const partitions = partitionsOf(name)
    if (partitions === undefined) return undefined
    topicIdMax += 1
    const made = newTopic({ id: topicIdMax, name, partitions, isStored: false })
    topics.set(name, made)
    return made
  }

  function prepare(records: OutgoingRecord[]): PreparedAppend {
    let bytes = 0
    const prepared = records.map(record => {
      const streams = topicOf(record.topic)?.streams
      if (!streams) throw unknownTopic(record.topic)
      const packed = packRecord(record)
      bytes += packed.size
      const partition = partitionOf(record.partitionKey ?? record.key, streams.length)
      return { stream: streams[partition]!, packed }
    })
    return { records: prepared, bytes }
  }

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
      const topic = topics.get(stream.topic)
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
    prepare,
    appendPrepared,
    of: name => topicOf(name)?.streams ?? [],
    storedTopics: () => [...topics.values()].filter(t => t.isStored).map(({ name }) => name),
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

function loadTopics(
  database: SqliteDatabase,
  partitionsOf: (topic: string) => number | undefined,
): Map<string, Topic> {
  const ends = new Map<number, number>()
  for (const { id, end } of database.statement('select id, "end" from stream').all()) {
    ends.set(Number(id), Number(end))
  }
  const topics = new Map<string, Topic>()
  for (const row of database.statement('select id, name, partitions from topic').all()) {
    const [id, name, partitions] = [Number(row.id), String(row.name), Number(row.partitions)]
    const wanted = partitionsOf(name)
    if (wanted !== undefined && wanted !== partitions) throw repartitioned(name, partitions, wanted)
    const topic = newTopic({ id, name, partitions, isStored: true })
    for (const stream of topic.streams) {
      stream.end = ends.get(stream.id) ?? 0
      stream.durableEnd = stream.end
    }
    topics.set(name, topic)
  }
  return topics
}

function newTopic(
  settings: Pick<Topic, 'id' | 'name' | 'isStored'> & { partitions: number },
): Topic {
  const { id, name, isStored, partitions } = settings
  const streams = Array.from({ length: partitions }, (_, partition) => ({
    id: id * PARTITIONS_MAX + partition,
    topic: name,
    partition,
    end: 0,
    durableEnd: 0,
    tail: { records: [], head: 0 },
    listeners: new Set<() => void>(),
    pending: [],
    pendingBytes: 0,
  }))
  return { id, name, isStored, streams }
}

function clearPending(stream: Stream): void {
  stream.pending = []
  stream.pendingBytes = 0
}

function readDurable(
  database: SqliteDatabase,
  stream: Stream,
  from: number,
  max: number,
): LogRecord[] {
  const { records, head } = stream.tail
  const first = records[head]?.offset
  if (first !== undefined && from >= first) {
    const at = head + (from - first)
    return boundBytes(records.slice(at, at + max))
  }
  const before = first ?? stream.durableEnd
  if (from >= before) return []
  return database.read('log-unavailable', () => {
    const found: LogRecord[] = []
    let bytes = 0
    for (const row of database.statement(READ).iterate(stream.id, from, before, max)) {
      const record = recordOf(stream, row as unknown as LogRow)
      found.push(record)
      bytes += record.value?.length ?? 0
      if (bytes >= READ_BYTES_MAX) break
    }
    // What the table has no more of goes on in the cache.
    return found.length === 0 && first !== undefined ? records.slice(head, head + max) : found
  })
}

function boundBytes(records: LogRecord[]): LogRecord[] {
  let bytes = 0
  for (const [at, record] of records.entries()) {
    bytes += record.value?.length ?? 0
    if (bytes >= READ_BYTES_MAX) return records.slice(0, at + 1)
  }
  return records
}

function recordOf({ topic, partition }: Stream, row: LogRow): LogRecord {
  const { offset, ts: timestamp, key, value } = row
  return { topic, partition, offset, timestamp, key, value, headers: unpackHeaders(row.headers) }
}

function rowAtOrAfter(database: SqliteDatabase, stream: Stream, offset: number) {
  const row = database.read('log-unavailable', () =>
    database.statement(AT_OR_AFTER).get(stream.id, offset, stream.durableEnd),
  )
  return row && { offset: Number(row.offset), timestamp: Number(row.ts) }
}

/** Times do not fall within a stream, so halving finds the place, gaps or not. */
function firstSince(database: SqliteDatabase, stream: Stream, sinceMs: number): number {
  let low = 0
  let high = stream.durableEnd
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = rowAtOrAfter(database, stream, middle)
    if (!row || row.timestamp >= sinceMs) high = middle
    else low = row.offset + 1
  }
  return low
}

function unknownTopic(topic: string): AmbitError {
  return new AmbitError(
    'log-unavailable',
    `Expected a topic of the catalogue, got "${topic}". Nothing was appended.`,
  )
}

function repartitioned(topic: string, found: number, wanted: number): AmbitError {
  return new AmbitError(
    'conflict',
    `Expected ${found} partitions for "${topic}", as when it was created, got ${wanted}. ` +
      'Set the old count, or start with an empty data directory.',
  )
}
