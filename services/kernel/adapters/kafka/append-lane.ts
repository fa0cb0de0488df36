/**
 * `EventLog.append` on Kafka: one produce request at a time, into which everything goes that
 * came while the last one was under way. One at a time keeps the order of a partition without
 * any assumption about retries, and grouping makes up for it.
 *
 * After any failure the producer is replaced. It would otherwise reuse the sequence numbers of
 * the lost request, and a broker that had stored it after all would take the next records for
 * its repetition and drop them.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer } from 'kafkajs'
import { partitionOf } from '../../domain/ids.ts'
import { AmbitError } from '../../errors.ts'
import type { OutgoingRecord, Position } from '../../ports/event-log.ts'
import { placeKey } from './cluster-session.ts'
import { type KafkaConnection, kafkaErrorType } from './kafka-connection.ts'
import { missingTopics, PATIENCE_MS, type TopicDirectory, unavailable } from './topic-directory.ts'

/** Appends records of one log. */
export interface AppendLane {
  append(records: OutgoingRecord[]): Promise<Position[]>
  /** Finishes what was accepted, then closes. */
  stop(): Promise<void>
}

/** A request stays well below `max.message.bytes`, which counts per partition. */
const GROUP_BYTES = 1024 * 1024
const GROUP_RECORDS = 5000
/**
 * From the beginning of one request to that of the next. Under load a request of a few records
 * costs all sides nearly as much as one of many; what comes alone is sent at once.
 */
const REQUEST_EVERY_MS = 5
/** What a record costs beside its key and value, roughly. */
const OVERHEAD_BYTES = 100
const RETRY = { retries: 8, initialRetryTime: 50, maxRetryTime: 500 }
/** Even a late record gets this much, so that a queue cannot starve behind an outage. */
const ATTEMPT_MS_MIN = 1000

/** Errors of the records themselves: repeating them changes nothing. */
const OF_RECORDS = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'CORRUPT_MESSAGE',
  'INVALID_TIMESTAMP',
  'POLICY_VIOLATION',
  'TOPIC_AUTHORIZATION_FAILED',
  'UNKNOWN_TOPIC_OR_PARTITION',
])

interface Append {
  positions: Position[]
  missing: number
  deadline: number
  isSettled: boolean
  resolve(positions: Position[]): void
  reject(error: Error): void
}

interface Entry {
  record: OutgoingRecord
  /** The broker's name of the topic. */
  topic: string
  partition: number
  bytes: number
  append: Append
  index: number
}

interface Lane {
  connection: KafkaConnection
  directory: TopicDirectory
  queue: Entry[]
  producer: Promise<Producer> | undefined
  running: Promise<void> | undefined
  /** When the next request may begin, by `performance.now()`. */
  nextMs: number
}

/** A lane at rest; the producer is made at the first append. */
export function createAppendLane(
  connection: KafkaConnection,
  directory: TopicDirectory,
): AppendLane {
  const lane: Lane = {
    ...{ connection, directory, queue: [], producer: undefined, running: undefined },
    nextMs: 0,
  }
  return {
    async append(records) {
      if (records.length === 0) return []
      const topics = [...new Set(records.map(record => connection.outer(record.topic)))]
      if (topics.some(topic => directory.countOf(topic) === 0)) {
        await directory.load(topics)
        const missing = topics.filter(topic => directory.countOf(topic) === 0)
        if (missing.length > 0) throw missingTopics(missing)
      }
      const appended = enqueue(lane, records)
      lane.running ??= run(lane)
      return appended
    },
    async stop() {
      while (lane.running) await lane.running
      const producer = await lane.producer?.catch(() => undefined)
      lane.producer = undefined
      await producer?.disconnect().catch(() => undefined)
    },
  }
}

function enqueue(lane: Lane, records: OutgoingRecord[]): Promise<Position[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Position[]>()
  const append: Append = {
    positions: new Array(records.length),
    missing: records.length,
    deadline: performance.now() + PATIENCE_MS,
    isSettled: false,
    resolve,
    reject,
  }
  for (const [index, record] of records.entries()) {
    const topic = lane.connection.outer(record.topic)
    const key = record.partitionKey ?? record.key
    const partition = partitionOf(key, lane.directory.countOf(topic))
    const bytes = record.key.length + (record.value?.length ?? 0) + OVERHEAD_BYTES
    lane.queue.push({ record, topic, partition, bytes, append, index })
  }
  return promise
}

async function run(lane: Lane): Promise<void> {
  // Appends of the same tick belong together.
  await new Promise(resolve => setImmediate(resolve))
  while (lane.queue.length > 0) {
    const earlyMs = lane.nextMs - performance.now()
    if (earlyMs > 0) await sleep(earlyMs)
    lane.nextMs = performance.now() + REQUEST_EVERY_MS
    const group = takeGroup(lane)
    if (group.length > 0) await deliver(lane, group)
  }
  // In the same step as the last look at the queue, or an append could be left behind.
  lane.running = undefined
}

function takeGroup({ queue }: Lane): Entry[] {
  let bytes = 0
  let taken = 0
  for (const entry of queue) {
    bytes += entry.bytes
    if (taken > 0 && (bytes > GROUP_BYTES || taken >= GROUP_RECORDS)) break
    taken += 1
  }
  return queue.splice(0, taken).filter(entry => !entry.append.isSettled)
}

async function deliver(lane: Lane, group: Entry[]): Promise<void> {
  const appends = [...new Set(group.map(entry => entry.append))]
  const earliest = Math.min(...appends.map(append => append.deadline))
  const deadline = Math.max(earliest, performance.now() + ATTEMPT_MS_MIN)
  for (;;) {
    try {
      fill(group, await send(lane, group, deadline))
      return
    } catch (error) {
      const type = kafkaErrorType(error)
      if (OF_RECORDS.has(type)) {
        if (appends.length === 1) return fail(appends, ofRecords(type, error))
        // One bad record must not fail its neighbours.
        for (const append of appends) {
          await deliver(
            lane,
            group.filter(entry => entry.append === append),
          )
        }
        return
      }
      lane.connection.logger.warn({ reason: type, records: group.length }, 'an append failed')
      if (performance.now() >= deadline) return fail(appends, unavailable('append', error))
      await sleep(100)
    }
  }
}

function fail(appends: Append[], error: AmbitError): void {
  for (const append of appends) {
    append.isSettled = true
    append.reject(error)
  }
}

function ofRecords(type: string, cause: unknown): AmbitError {
  if (type !== 'MESSAGE_TOO_LARGE' && type !== 'RECORD_LIST_TOO_LARGE') {
    return unavailable('accept the records', cause)
  }
  return new AmbitError(
    'too-large',
    'Expected records that fit the topic (max.message.bytes), got larger ones. Send less.',
    { cause },
  )
}

/** Offset of the first record that a request wrote, by partition. */
type Sent = Map<string, number>

async function send(lane: Lane, group: Entry[], deadline: number): Promise<Sent> {
  const late = new AbortController()
  const limit = rejectAfter(deadline - performance.now(), late.signal)
  try {
    const producer = await Promise.race([connected(lane), limit])
    return await sendWith(lane, producer, { group, limit })
  } finally {
    late.abort()
  }
}

/**
 * A connection under way is kept when an attempt gives up: nothing went through it yet, and where
 * connecting takes longer than one attempt, beginning anew would never come to an end.
 */
function connected(lane: Lane): Promise<Producer> {
  lane.producer ??= createProducer(lane.connection).catch(error => {
    lane.producer = undefined
    throw error
  })
  return lane.producer
}

async function sendWith(
  lane: Lane,
  producer: Producer,
  { group, limit }: { group: Entry[]; limit: Promise<never> },
): Promise<Sent> {
  const sending = producer.sendBatch({ acks: -1, topicMessages: topicMessages(group) })
  try {
    return answered(group, await Promise.race([sending, limit]))
  } catch (error) {
    lane.producer = undefined
    // kafkajs connects again to finish its own retries, so it is closed when they have ended.
    const close = () => producer.disconnect().catch(() => undefined)
    sending.then(close, close)
    throw error
  }
}

/**
 * kafkajs leaves out the records of a partition that its metadata lack, and calls that a success.
 * What no broker has answered for is not written.
 */
function answered(group: Entry[], answers: Awaited<ReturnType<Producer['sendBatch']>>): Sent {
  const sent: Sent = new Map()
  for (const { topicName, partition, baseOffset } of answers) {
    sent.set(placeKey({ topic: topicName, partition }), Number(baseOffset))
  }
  const silent = group.find(entry => !sent.has(placeKey(entry)))
  if (silent) throw new Error(`expected an answer for ${placeKey(silent)}, got none`)
  return sent
}

async function rejectAfter(ms: number, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(
      () => reject(new AmbitError('log-unavailable', 'Expected an answer in time, got none.')),
      Math.max(0, ms),
    )
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  })
}

async function createProducer({ kafka }: KafkaConnection): Promise<Producer> {
  const producer = kafka.producer({
    idempotent: true,
    allowAutoTopicCreation: false,
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition ?? 0,
    retry: RETRY,
  })
  try {
    await producer.connect()
    return producer
  } catch (error) {
    void producer.disconnect().catch(() => undefined)
    throw error
  }
}

function topicMessages(group: Entry[]) {
  const topics = new Map<string, ReturnType<typeof messageOf>[]>()
  for (const entry of group) {
    const list = topics.get(entry.topic)
    if (list) list.push(messageOf(entry))
    else topics.set(entry.topic, [messageOf(entry)])
  }
  return [...topics].map(([topic, messages]) => ({ topic, messages }))
}

function messageOf({ record, partition }: Entry) {
  const { key, value, headers } = record
  const bytes = value && Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return { key, value: bytes, partition, ...(headers ? { headers: definedOnly(headers) } : {}) }
}

/** kafkajs crashes on a header without a value. */
function definedOnly(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers)
  const defined = entries.filter(([, value]) => value !== undefined)
  return defined.length === entries.length ? headers : Object.fromEntries(defined)
}

function fill(group: Entry[], next: Sent): void {
  for (const { topic, partition, append, index, record } of group) {
    const key = placeKey({ topic, partition })
    const offset = next.get(key) ?? -1
    next.set(key, offset + 1)
    append.positions[index] = { topic: record.topic, partition, offset }
    append.missing -= 1
    if (append.missing > 0 || append.isSettled) continue
    append.isSettled = true
    append.resolve(append.positions)
  }
}
