/** Topics of a simulated log: records by partition and offset, with the gaps compaction leaves. */
import { partitionOf } from '../../domain/ids.ts'
import { AmbitError } from '../../errors.ts'
import type { LogRecord, OutgoingRecord, Position, TopicPartition } from '../../ports/event-log.ts'

/** A partition, and the loops that wait for its next record. */
export interface MemoryPartition extends TopicPartition {
  /** In offset order; compaction and retention leave gaps. */
  records: LogRecord[]
  /** Offset of the next record. */
  end: number
  readers: Set<{ wake(): void }>
}

export interface MemoryLogData {
  /** Partitions of a topic; undefined when there is no such topic. */
  topic(name: string): MemoryPartition[] | undefined
  partition(place: TopicPartition): MemoryPartition | undefined
  names(): string[]
  create(name: string, partitions: number): void
  /** Chooses the partitions; the returned function writes. Throws on an unknown topic. */
  prepareAppend(records: OutgoingRecord[]): () => Position[]
}

/** One name for a place, for maps. */
export function placeKey({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}

/** `partitions` answers for topics that were not created by hand; undefined: no such topic. */
export function createLogData(options: {
  now(): number
  partitions(topic: string): number | undefined
  onWrite?(record: LogRecord): void
}): MemoryLogData {
  const topics = new Map<string, MemoryPartition[]>()
  const create = (name: string, count: number) => {
    const made = Array.from({ length: count }, (_, partition) => emptyPartition(name, partition))
    topics.set(name, made)
    return made
  }
  const topic = (name: string) => {
    const known = topics.get(name)
    if (known) return known
    const count = options.partitions(name)
    return count === undefined ? undefined : create(name, count)
  }
  return {
    topic,
    partition: place => topic(place.topic)?.[place.partition],
    names: () => [...topics.keys()],
    create,
    prepareAppend(records) {
      const places = records.map(record => partitionFor(topic(record.topic), record))
      return () => {
        const timestamp = options.now()
        const positions = records.map((record, i) => {
          const written = write(places[i]!, record, timestamp)
          options.onWrite?.(written)
          const { topic, partition, offset } = written
          return { topic, partition, offset }
        })
        for (const place of new Set(places)) for (const reader of place.readers) reader.wake()
        return positions
      }
    },
  }
}

function emptyPartition(topic: string, partition: number): MemoryPartition {
  return { topic, partition, records: [], end: 0, readers: new Set() }
}

function partitionFor(
  partitions: MemoryPartition[] | undefined,
  { topic, key, partitionKey = key }: OutgoingRecord,
): MemoryPartition {
  if (partitions) return partitions[partitionOf(partitionKey, partitions.length)]!
  throw new AmbitError('log-unavailable', `There is no topic ${topic}: create it first.`)
}

const encoder = new TextEncoder()

function write(place: MemoryPartition, record: OutgoingRecord, timestamp: number): LogRecord {
  const { topic, partition, end: offset } = place
  const headers = Object.entries(record.headers ?? {}).filter(([, value]) => value !== undefined)
  const written: LogRecord = {
    topic,
    partition,
    offset,
    timestamp,
    key: encoder.encode(record.key),
    value: record.value && Uint8Array.from(record.value),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, encoder.encode(value)])),
  }
  place.records.push(written)
  place.end += 1
  return written
}

/** Up to `max` records from an offset on. */
export function readFrom(place: MemoryPartition, offset: number, max: number): LogRecord[] {
  const start = indexOf(place, offset)
  return place.records.slice(start, start + max)
}

/** The record at exactly this offset, if it is still there. */
export function recordAt(place: MemoryPartition, offset: number): LogRecord | undefined {
  const found = place.records[indexOf(place, offset)]
  return found?.offset === offset ? found : undefined
}

/** Index of the first record at or after an offset. */
function indexOf({ records }: MemoryPartition, offset: number): number {
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (records[middle]!.offset < offset) low = middle + 1
    else high = middle
  }
  return low
}

/** Offset of the first record appended at or after an instant; the end when there is none. */
export function offsetSince(place: MemoryPartition, sinceMs: number): number {
  return place.records.find(record => record.timestamp >= sinceMs)?.offset ?? place.end
}

/** Of each key keeps only the newest record; tombstones go too. */
export function compactPartition(place: MemoryPartition): void {
  const newest = new Map<string, number>()
  const name = (key: Uint8Array) => Buffer.from(key).toString('latin1')
  for (const { key, offset } of place.records) if (key) newest.set(name(key), offset)
  place.records = place.records.filter(
    ({ key, offset, value }) => !key || (newest.get(name(key)) === offset && value !== null),
  )
}

/** Retention: removes everything below an offset. */
export function dropBelow(place: MemoryPartition, offset: number): void {
  place.records = place.records.filter(record => record.offset >= offset)
}
