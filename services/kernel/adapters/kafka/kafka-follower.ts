/** `EventLog.follow` on Kafka: all partitions, no group, nothing committed. */
import { AmbitError } from '../../errors.ts'
import type { Following, FollowOptions, Position, TopicPartition } from '../../ports/event-log.ts'
import {
  type ClusterSession,
  createClusterSession,
  EARLIEST,
  LATEST,
  placeKey,
} from './cluster-session.ts'
import { type KafkaConnection, kafkaErrorType } from './kafka-connection.ts'
import { createPartitionFetcher, type PartitionFetcher } from './partition-fetcher.ts'
import { createRecordPump } from './record-pump.ts'
import { missingTopics, patiently } from './topic-directory.ts'
import { type Condition, createCondition, createShared, pause } from './wait.ts'

/** How often new `ingress.ext.<tenant>` topics are looked for. */
export const DISCOVERY_MS = 2000

/** Topics of outside producers, as the port names them. */
const EXT_INGRESS_PREFIX = 'ingress.ext.'

const BARRIER_MS = 30_000
const BATCH_MAX = 500

interface Follower {
  connection: KafkaConnection
  options: FollowOptions
  session: ClusterSession
  fetcher: PartitionFetcher
  /** Next offset to deliver, by partition: everything below was delivered. */
  delivered: Map<string, number>
  progress: Condition
  stopped: AbortController
}

/**
 * Resolves when the start positions are fixed.
 *
 * @throws AmbitError `log-unavailable` when the brokers or a topic are not there.
 */
export async function followKafka(
  connection: KafkaConnection,
  options: FollowOptions,
): Promise<Following> {
  const session = createClusterSession(connection)
  const delivered = new Map<string, number>()
  const progress = createCondition()
  const stopped = new AbortController()
  const pump = createRecordPump({
    batchMax: BATCH_MAX,
    logger: connection.logger,
    deliver: records => options.onRecords(records),
    onDelivered(topic, partition, next) {
      delivered.set(placeKey({ topic: connection.outer(topic), partition }), next)
      progress.changed()
      fetcher.wake()
    },
  })
  const fetcher = createPartitionFetcher({
    session,
    logger: connection.logger,
    // One queue for all partitions: a receiver is never called twice at the same time.
    onChunk: chunk => pump.push(inner(connection, chunk)),
    isFull: () => pump.isFull(),
    paceMs: options.paceMs,
  })
  const self = { connection, options, session, fetcher, delivered, progress, stopped }
  try {
    await patiently(session, 'begin to follow', () => begin(self))
  } catch (error) {
    await session.close()
    throw error
  }
  const watching = options.withExtIngress ? watchForTopics(self) : undefined
  const readEnds = createShared(() => endsOf(self))
  return {
    barrier: timeoutMs => barrier(self, readEnds, timeoutMs),
    async stop() {
      stopped.abort(new AmbitError('log-unavailable', 'The follower was stopped.'))
      fetcher.stop()
      await Promise.all([pump.stop(), watching])
      await session.close()
    },
  }
}

/** Records of a chunk under the names that the port uses. */
export function inner<C extends { topic: string; records: { topic: string }[] }>(
  connection: KafkaConnection,
  chunk: C,
): C {
  const topic = connection.inner(chunk.topic) ?? chunk.topic
  for (const record of chunk.records) record.topic = topic
  return { ...chunk, topic }
}

/** Broker names of the topics wanted, with the outside producers' topics that exist now. */
export async function wantedTopics(
  connection: KafkaConnection,
  session: ClusterSession,
  options: { topics: string[]; withExtIngress?: boolean },
): Promise<string[]> {
  const named = options.topics.map(connection.outer)
  if (!options.withExtIngress) return named
  const ext = connection.outer(EXT_INGRESS_PREFIX)
  const found = (await session.listTopics()).filter(topic => topic.startsWith(ext))
  return [...new Set([...named, ...found])].sort()
}

async function begin(self: Follower): Promise<void> {
  const { connection, session, options } = self
  const wanted = await wantedTopics(connection, session, options)
  const existing = await session.track(wanted)
  const missing = wanted.filter(topic => !existing.includes(topic))
  if (missing.length > 0) throw missingTopics(missing)
  add(self, await startPositions(self, placesOf(self, existing)))
}

function placesOf({ session, options }: Follower, topics: string[]): TopicPartition[] {
  const places = topics.flatMap(topic => session.partitionsOf(topic))
  const { partitions } = options
  return partitions ? places.filter(place => partitions.includes(place.partition)) : places
}

async function startPositions(self: Follower, places: TopicPartition[]): Promise<Position[]> {
  const { session, options, connection } = self
  const { from } = options
  if (from === 'beginning') return session.listOffsets(places, EARLIEST)
  if (from === 'end') return session.listOffsets(places, LATEST)
  if ('sinceMs' in from) {
    const found = await session.listOffsets(places, from.sinceMs)
    const none = found.filter(position => position.offset < 0)
    const ends = none.length > 0 ? await session.listOffsets(none, LATEST) : []
    return [...found.filter(position => position.offset >= 0), ...ends]
  }
  const given = new Map(
    from.offsets.map(p => [placeKey({ ...p, topic: connection.outer(p.topic) }), p.offset]),
  )
  const first = await session.listOffsets(places, EARLIEST)
  return first.map(p => ({ ...p, offset: Math.max(p.offset, given.get(placeKey(p)) ?? 0) }))
}

function add({ delivered, fetcher }: Follower, positions: Position[]): void {
  for (const position of positions) delivered.set(placeKey(position), position.offset)
  fetcher.assign(positions)
}

/** A topic that appears later is followed from its first record, whatever the start was. */
async function discover(self: Follower): Promise<void> {
  const { connection, session, options, delivered } = self
  const topics = await session.track(await wantedTopics(connection, session, options))
  const fresh = placesOf(self, topics).filter(place => !delivered.has(placeKey(place)))
  if (fresh.length > 0) add(self, await session.listOffsets(fresh, EARLIEST))
}

async function watchForTopics(self: Follower): Promise<void> {
  const { signal } = self.stopped
  while (!signal.aborted) {
    await pause(DISCOVERY_MS, signal)
    if (signal.aborted) return
    try {
      await discover(self)
    } catch (error) {
      self.connection.logger.debug({ reason: kafkaErrorType(error) }, 'topics were not listed')
    }
  }
}

async function endsOf(self: Follower): Promise<Position[]> {
  if (self.options.withExtIngress) await discover(self)
  const places = [...self.delivered.keys()].map(key => {
    const cut = key.lastIndexOf('/')
    return { topic: key.slice(0, cut), partition: Number(key.slice(cut + 1)) }
  })
  return self.session.listOffsets(places, LATEST)
}

async function barrier(
  self: Follower,
  readEnds: () => Promise<Position[]>,
  timeoutMs = BARRIER_MS,
): Promise<void> {
  const late = new AmbitError(
    'log-unavailable',
    `Expected to catch up within ${timeoutMs} ms, got no further. Try again later.`,
    { expected: `caught up within ${timeoutMs} ms`, actual: 'still behind' },
  )
  const timer = new AbortController()
  const timeout = setTimeout(() => timer.abort(late), timeoutMs)
  const signal = AbortSignal.any([self.stopped.signal, timer.signal])
  try {
    const ends = await endsWithin(self, readEnds, signal)
    const isBehind = (end: Position) => (self.delivered.get(placeKey(end)) ?? 0) < end.offset
    let behind = ends.filter(isBehind)
    await self.progress.wait(() => {
      behind = behind.filter(isBehind)
      return behind.length === 0
    }, signal)
  } finally {
    clearTimeout(timeout)
  }
}

async function endsWithin(
  self: Follower,
  readEnds: () => Promise<Position[]>,
  signal: AbortSignal,
): Promise<Position[]> {
  for (;;) {
    signal.throwIfAborted()
    try {
      return await readEnds()
    } catch (error) {
      await pause(100, signal)
      if (!signal.aborted) await self.session.recover(error)
    }
  }
}
