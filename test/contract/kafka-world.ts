/** Worlds on a real broker: a prefix of their own, connections that can be cut. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { createKafkaEventLog } from '#kernel/adapters/kafka/kafka-event-log.ts'
import { topicSettings } from '#kernel/adapters/kafka/topic-admin.ts'
import type { EventLog, LogRecord } from '#kernel/ports/event-log.ts'
import { liveInfra } from '#test/support/live-infra.ts'
import type { EventLogWorld, MakeWorld, TopicSettings } from './event-log-world.ts'
import { until } from './event-log-world.ts'

/** Short times, so that a lost member is noticed within a test. */
export const TIMES = { sessionMs: 3000, rebalanceMs: 1500, heartbeatMs: 200 }

const KEPT = topicSettings({ cleanup: 'delete', retentionMs: -1 })

/** A compacted topic that the cleaner treats at once. */
const COMPACTED = {
  ...KEPT,
  'cleanup.policy': 'compact',
  'min.cleanable.dirty.ratio': '0.0001',
  'delete.retention.ms': '0',
  'segment.ms': '100',
}

/** A log whose connections can be cut, which a broker cannot tell from `kill -9`. */
export interface CuttableLog {
  log: EventLog
  /** Closes all connections and refuses new ones. */
  cut(): void
  /** Lets connections through again. */
  mend(): void
  /** Keeps back what the brokers answer, while they get what is asked; until `release`. */
  hold(): void
  release(): void
}

/** Opens a log on topics under `prefix`. */
export function openKafkaLog(brokers: string[], prefix: string): CuttableLog {
  const sockets = new Set<Socket>()
  let isCut = false
  const log = createKafkaEventLog({
    brokers,
    prefix,
    times: TIMES,
    socketFactory: ({ host, port, onConnect }) => {
      // Port 1 refuses: the log has no way back.
      const socket = connect({ host, port: isCut ? 1 : port }, onConnect).setNoDelay(true)
      sockets.add(socket)
      return socket
    },
  })
  return {
    log,
    cut() {
      isCut = true
      for (const socket of sockets) socket.destroy(new Error('cut'))
      sockets.clear()
    },
    mend() {
      isCut = false
    },
    hold: () => sockets.forEach(socket => void socket.pause()),
    release: () => sockets.forEach(socket => void socket.resume()),
  }
}

/** A fresh world on the broker of `npm run infra:up`. */
export const makeKafkaWorld: MakeWorld = async topics => {
  const brokers = liveInfra().AMBIT_KAFKA_BROKERS.split(',')
  const prefix = `contract-${randomBytes(6).toString('hex')}.`
  const kafka = new Kafka({ brokers, clientId: 'contract', logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const created: string[] = []
  const createTopic = async (topic: string, settings: TopicSettings) => {
    created.push(prefix + topic)
    await create(admin, prefix + topic, settings)
  }
  try {
    for (const [topic, settings] of Object.entries(topics)) await createTopic(topic, settings)
  } catch (error) {
    await admin.disconnect()
    throw error
  }
  const logs: CuttableLog[] = []
  const open = () => {
    const opened = openKafkaLog(brokers, prefix)
    logs.push(opened)
    return opened
  }
  const first = open()
  return {
    log: first.log,
    createTopic,
    another: async () => open().log,
    async crash() {
      first.cut()
      return open().log
    },
    seize: (group, { topic }) => seize(() => open().log, group, topic),
    compact: topic => compact(kafka, open().log, { prefix, topic }),
    async close() {
      await Promise.all(logs.map(({ log }) => log.stop()))
      await admin.deleteTopics({ topics: created })
      await admin.disconnect()
    },
  } satisfies EventLogWorld
}

async function create(admin: Admin, topic: string, settings: TopicSettings): Promise<void> {
  const { partitions, cleanup } = settings
  const entries = Object.entries(cleanup === 'compact' ? COMPACTED : KEPT)
  await admin.createTopics({
    // kafkajs gives up waiting when a busy broker has not heard of the new topic itself.
    waitForLeaders: false,
    topics: [
      {
        topic,
        numPartitions: partitions,
        configEntries: entries.map(([name, value]) => ({ name, value })),
      },
    ],
  })
  await until('the new topic has leaders', () => hasLeaders(admin, topic))
}

async function hasLeaders(admin: Admin, topic: string): Promise<boolean> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics.every(({ partitions }) => partitions.every(({ leader }) => leader >= 0))
  } catch {
    return false
  }
}

/**
 * Rivals join, and the owner, held up in its handler, does not come back in time. The group may
 * give the partition to the same member again, hence several rivals.
 */
async function seize(open: () => EventLog, group: string, topic: string): Promise<void> {
  let isTaken = false
  await until('a rival owns the partition', async () => {
    await open().consume({
      group,
      topics: [topic],
      handle: () => {
        isTaken = true
        return Promise.reject(new Error('only here to own'))
      },
    })
    const patience = Date.now() + 3000
    while (!isTaken && Date.now() < patience) await sleep(20)
    return isTaken
  })
}

/**
 * The cleaner leaves the newest segment alone, and only a write begins another one. Aborted
 * transactions are such writes, and no reader sees them.
 */
async function compact(
  kafka: Kafka,
  log: EventLog,
  { prefix, topic }: { prefix: string; topic: string },
): Promise<void> {
  const producer = kafka.producer({ transactionalId: `${prefix}compact`, maxInFlightRequests: 1 })
  await producer.connect()
  const deadline = Date.now() + 60_000
  while (!(await isCompact(log, topic))) {
    if (Date.now() > deadline) throw new Error('the cleaner did not compact the topic in time')
    await sleep(150)
    const transaction = await producer.transaction()
    await transaction.send({ topic: prefix + topic, messages: [{ key: 'filler', value: '' }] })
    await transaction.abort()
    await sleep(300)
  }
  await producer.disconnect()
}

async function isCompact(log: EventLog, topic: string): Promise<boolean> {
  const got: LogRecord[] = []
  const following = await log.follow({
    topics: [topic],
    from: 'beginning',
    onRecords: records => {
      got.push(...records)
    },
  })
  await following.barrier()
  await following.stop()
  const keys = got.map(record => String(record.key))
  return new Set(keys).size === keys.length && got.every(record => record.value !== null)
}
