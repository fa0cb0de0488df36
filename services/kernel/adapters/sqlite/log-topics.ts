/** Which topics and streams there are: those of the file, and those that may come. */
import assert from 'node:assert/strict'
import { AmbitError } from '#kernel/errors.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { Tail } from './log-tail.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

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

/** A topic with all its streams, in order of partition. */
export interface Topic {
  readonly id: number
  readonly name: string
  readonly streams: Stream[]
  /** True once its row is durable. */
  isStored: boolean
}

/** Streams of a topic have consecutive ids. */
const PARTITIONS_MAX = 1_024

export interface LogTopics {
  /** A topic that may be used, made when it is new; `undefined` for an unknown one. */
  find(name: string): Topic | undefined
  /** Names of the topics that ever got a record. */
  stored(): string[]
}

/** Topics of the file. Throws `conflict` when a partition count changed. */
export function createLogTopics(
  database: SqliteDatabase,
  partitionsOf: (topic: string) => number | undefined,
): LogTopics {
  const topics = loadTopics(database, partitionsOf)
  let idMax = Math.max(0, ...[...topics.values()].map(({ id }) => id))
  return {
    find(name) {
      const found = topics.get(name)
      if (found) return found
      const partitions = partitionsOf(name)
      if (partitions === undefined) return undefined
      idMax += 1
      const made = newTopic({ id: idMax, name, partitions, isStored: false })
      topics.set(name, made)
      return made
    },
    stored: () => [...topics.values()].filter(topic => topic.isStored).map(({ name }) => name),
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
  assert.ok(partitions >= 1 && partitions <= PARTITIONS_MAX, `${name}: ${partitions} partitions`)
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

function repartitioned(topic: string, found: number, wanted: number): AmbitError {
  return new AmbitError(
    'conflict',
    `Expected ${found} partitions for "${topic}", as when it was created, got ${wanted}. ` +
      'Set the old count, or start with an empty data directory.',
  )
}
