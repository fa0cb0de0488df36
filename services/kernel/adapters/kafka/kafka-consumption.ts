/** `EventLog.consume` on Kafka: a member of a group, with one queue per partition. */
import type {
  ConsumeOptions,
  Consumption,
  LogRecord,
  Position,
  RecordBatch,
  TopicPartition,
} from '../../ports/event-log.ts'
import { type ClusterSession, createClusterSession, EARLIEST, placeKey } from './cluster-session.ts'
import { type GroupTimes, startGroupMember, type Tenure } from './group-member.ts'
import { type KafkaConnection, kafkaErrorType } from './kafka-connection.ts'
import { DISCOVERY_MS, inner, wantedTopics } from './kafka-follower.ts'
import { createPartitionFetcher, type PartitionFetcher } from './partition-fetcher.ts'
import { createRecordPump, type RecordPump } from './record-pump.ts'
import { createBackoff, pause } from './wait.ts'

const BATCH_MAX = 500
/** Under load a batch of a few milliseconds costs a fraction of as many batches of one record. */
const PACE_MS = 10

interface Consumer {
  connection: KafkaConnection
  options: ConsumeOptions
  session: ClusterSession
  fetcher: PartitionFetcher
  pumps: Map<string, RecordPump>
  /** The preparation of the present tenure, `onAssigned` included. */
  preparing: Promise<void>
  stopped: AbortController
  /** Broker names of the topics that were last joined for. */
  topics: string[]
}

/** Resolves at once; the group is joined in the background, again and again if need be. */
export async function consumeKafka(
  connection: KafkaConnection,
  options: ConsumeOptions,
  times: GroupTimes,
): Promise<Consumption> {
  const { logger } = connection
  const session = createClusterSession(connection)
  const membership = createClusterSession(connection)
  const pumps = new Map<string, RecordPump>()
  const fetcher = createPartitionFetcher({
    session,
    logger,
    onChunk: chunk => pumps.get(placeKey(chunk))?.push(inner(connection, chunk)),
    isFull: place => pumps.get(placeKey(place))?.isFull() ?? false,
    paceMs: PACE_MS,
  })
  const self: Consumer = {
    connection,
    options,
    session,
    fetcher,
    pumps,
    preparing: Promise.resolve(),
    stopped: new AbortController(),
    topics: [],
  }
  const { group } = options
  const member = startGroupMember({
    session: membership,
    reading: session,
    logger,
    group,
    times,
    topics: async () => {
      self.topics = await existingTopics(self)
      return self.topics
    },
    begin(tenure) {
      self.preparing = prepare(self, tenure)
    },
    drain: () => drain(self),
  })
  const watching = watchTopics(self, () => member.rejoin())
  return {
    async stop() {
      self.stopped.abort()
      await Promise.all([member.stop(), watching])
      fetcher.stop()
      await Promise.all([session.close(), membership.close()])
    },
  }
}

async function existingTopics({ connection, session, options }: Consumer): Promise<string[]> {
  const wanted = await wantedTopics(connection, session, options)
  const existing = await session.track(wanted)
  if (existing.length < wanted.length) {
    const missing = wanted.filter(topic => !existing.includes(topic))
    const { group } = options
    connection.logger.warn({ group, missing }, 'topics are missing: run `ambit topics apply`')
  }
  return existing
}

/** Patterns are resolved when a group is joined, so a new topic needs a new join. */
async function watchTopics(self: Consumer, rejoin: () => void): Promise<void> {
  const { connection, session, options, stopped } = self
  while (!stopped.signal.aborted) {
    await pause(DISCOVERY_MS, stopped.signal)
    const joinedAll = self.topics.length >= options.topics.length && !options.withExtIngress
    if (stopped.signal.aborted || joinedAll) continue
    try {
      const existing = new Set(await session.listTopics())
      const wanted = await wantedTopics(connection, session, options)
      const now = wanted.filter(topic => existing.has(topic))
      if (now.join() !== self.topics.join()) rejoin()
    } catch (error) {
      connection.logger.debug({ reason: kafkaErrorType(error) }, 'topics were not listed')
    }
  }
}

async function prepare(self: Consumer, tenure: Tenure): Promise<void> {
  const { connection, options, session, fetcher, pumps } = self
  const positions = await untilDone(self, tenure, () => startPositions(session, tenure))
  if (!positions) return
  const names = tenure.partitions.map(place => named(connection, place))
  const assigned = await untilDone(self, tenure, async () => {
    await options.onAssigned?.(names)
    return true
  })
  if (!assigned) return
  for (const place of tenure.partitions) pumps.set(placeKey(place), createPump(self, tenure, place))
  fetcher.assign(positions)
}

function named(connection: KafkaConnection, place: TopicPartition): TopicPartition {
  return { ...place, topic: connection.inner(place.topic) ?? place.topic }
}

/** Repeats until it succeeds; undefined when the tenure is over before. */
async function untilDone<T>(
  self: Consumer,
  tenure: Tenure,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const backoff = createBackoff(100, 5000)
  const { logger } = self.connection
  while (!tenure.isEnding()) {
    try {
      const result = await work()
      return tenure.isEnding() ? undefined : result
    } catch (error) {
      const reason = kafkaErrorType(error)
      logger.warn({ group: self.options.group, reason }, 'an assignment is prepared again')
      await pause(backoff.next(), tenure.signal)
    }
  }
  return undefined
}

/** The committed offsets, and the first record where the group has committed nothing. */
async function startPositions(session: ClusterSession, tenure: Tenure): Promise<Position[]> {
  const committed = await tenure.committed()
  const none = committed.filter(position => position.offset < 0)
  const first = none.length > 0 ? await session.listOffsets(none, EARLIEST) : []
  return [...committed.filter(position => position.offset >= 0), ...first]
}

async function drain(self: Consumer): Promise<void> {
  const { preparing } = self
  const pumps = [...self.pumps.values()]
  self.fetcher.clear()
  self.pumps.clear()
  const handedOver = self.options.onHandOver?.()
  await Promise.all([preparing, handedOver, ...pumps.map(pump => pump.stop())])
}

function createPump(self: Consumer, tenure: Tenure, place: TopicPartition): RecordPump {
  const { options, connection, fetcher } = self
  return createRecordPump({
    batchMax: options.batchMax ?? BATCH_MAX,
    logger: connection.logger,
    deliver: records => options.handle(batchOf(connection, tenure, place, records)),
    onDelivered: () => fetcher.wake(),
  })
}

function batchOf(
  connection: KafkaConnection,
  tenure: Tenure,
  place: TopicPartition,
  records: LogRecord[],
): RecordBatch {
  return {
    ...named(connection, place),
    records,
    isOwned: tenure.holds,
    commit: offset => tenure.commit([{ ...place, offset }]),
    heartbeat: async () => tenure.assertSteady(),
  }
}
