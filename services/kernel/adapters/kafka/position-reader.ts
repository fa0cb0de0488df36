/** `EventLog.readAt` on Kafka: single records by position, grouped into few requests. */
import type { FetchedPartition } from 'kafkajs/src/cluster/index.js'
import type { LogRecord, Position } from '../../ports/event-log.ts'
import {
  byTopic,
  type ClusterSession,
  EARLIEST,
  LATEST,
  placeKey,
  READ_COMMITTED,
} from './cluster-session.ts'
import { kafkaErrorType } from './kafka-connection.ts'
import { chunkOf, stableEnd } from './log-record.ts'
import { patiently } from './topic-directory.ts'
import { createShared } from './wait.ts'

/** Reads single records; names are the broker's. */
export type PositionReader = (positions: Position[]) => Promise<(LogRecord | undefined)[]>

const FETCH_BYTES = 4 * 1024 * 1024
const PARTITION_BYTES = 256 * 1024

interface Search {
  positions: Position[]
  resolve(found: Map<string, LogRecord>): void
  reject(error: unknown): void
}

/** A reader on its user's session; calls that come together share their requests. */
export function createPositionReader(session: ClusterSession): PositionReader {
  const waiting: Search[] = []
  const work = createShared(async () => {
    const searches = waiting.splice(0)
    const positions = searches.flatMap(search => search.positions)
    try {
      const found = await patiently(session, 'read', () => find(session, positions))
      for (const search of searches) search.resolve(found)
    } catch (error) {
      for (const search of searches) search.reject(error)
    }
  })
  return async positions => {
    if (positions.length === 0) return []
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, LogRecord>>()
    waiting.push({ positions, resolve, reject })
    void work()
    const found = await promise
    return positions.map(position => found.get(positionKey(position)))
  }
}

function positionKey(position: Position): string {
  return `${placeKey(position)}@${position.offset}`
}

/** Offsets still wanted of one partition, ascending. */
interface Wanted {
  topic: string
  partition: number
  offsets: number[]
}

async function find(
  session: ClusterSession,
  positions: Position[],
): Promise<Map<string, LogRecord>> {
  const found = new Map<string, LogRecord>()
  let wanted = await withinLog(session, group(session, positions))
  while (wanted.length > 0) {
    const byNode = Map.groupBy(wanted, place => session.leaderOf(place) ?? -1)
    for (const [nodeId, places] of byNode) {
      if (nodeId < 0) throw new Error('a partition has no leader at present')
      try {
        await fetchInto(session, nodeId, places, found)
      } catch (error) {
        if (kafkaErrorType(error) !== 'OFFSET_OUT_OF_RANGE') throw error
        // Retention moved on since the bounds were read.
        await withinLog(session, places)
      }
    }
    wanted = wanted.filter(place => place.offsets.length > 0)
  }
  return found
}

function group(session: ClusterSession, positions: Position[]): Wanted[] {
  const byPlace = new Map<string, Wanted>()
  for (const { topic, partition, offset } of positions) {
    if (session.leaderOf({ topic, partition }) === undefined) continue
    const key = placeKey({ topic, partition })
    const wanted = byPlace.get(key) ?? { topic, partition, offsets: [] }
    byPlace.set(key, wanted)
    if (!wanted.offsets.includes(offset)) wanted.offsets.push(offset)
  }
  for (const wanted of byPlace.values()) wanted.offsets.sort((a, b) => a - b)
  return [...byPlace.values()]
}

/** Drops offsets that the log does not hold, in place; a fetch of one would be refused. */
async function withinLog(session: ClusterSession, wanted: Wanted[]): Promise<Wanted[]> {
  const [first, last] = await Promise.all([
    session.listOffsets(wanted, EARLIEST),
    session.listOffsets(wanted, LATEST),
  ])
  const starts = new Map(first.map(position => [placeKey(position), position.offset]))
  const ends = new Map(last.map(position => [placeKey(position), position.offset]))
  for (const place of wanted) {
    const start = starts.get(placeKey(place)) ?? 0
    const end = ends.get(placeKey(place)) ?? 0
    place.offsets = place.offsets.filter(offset => offset >= start && offset < end)
  }
  return wanted.filter(place => place.offsets.length > 0)
}

async function fetchInto(
  session: ClusterSession,
  nodeId: number,
  places: Wanted[],
  found: Map<string, LogRecord>,
): Promise<void> {
  const broker = await session.node(nodeId)
  const { responses } = await broker.fetch({
    isolationLevel: READ_COMMITTED,
    maxWaitTime: 1,
    minBytes: 1,
    maxBytes: FETCH_BYTES,
    topics: byTopic(places, (partition, { offsets }) => ({
      partition,
      fetchOffset: String(offsets[0] ?? 0),
      maxBytes: PARTITION_BYTES,
    })),
  })
  const asked = new Map(places.map(place => [placeKey(place), place]))
  for (const { topicName, partitions } of responses) {
    for (const fetched of partitions) {
      const key = placeKey({ topic: topicName, partition: fetched.partition })
      const place = asked.get(key)
      if (place) take(place, fetched, { found, isAlone: places.length === 1 })
    }
  }
}

/** Removes from `place.offsets` what this answer settles, found or not. */
function take(
  place: Wanted,
  fetched: FetchedPartition,
  { found, isAlone }: { found: Map<string, LogRecord>; isAlone: boolean },
): void {
  const chunk = chunkOf(place.topic, place.offsets[0] ?? 0, fetched)
  for (const record of chunk.records) {
    if (place.offsets.includes(record.offset)) found.set(positionKey(record), record)
  }
  // Nothing at all may mean that the answer had no room, unless nothing else was asked for.
  const isEmpty = fetched.messages.length === 0
  const settled = isEmpty && isAlone ? Math.max(chunk.next, stableEnd(fetched)) : chunk.next
  place.offsets = place.offsets.filter(offset => offset >= settled)
}
