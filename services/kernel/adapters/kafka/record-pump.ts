/** Hands records over one batch at a time, in order, again and again until they are taken. */
import { isAmbitError } from '../../errors.ts'
import type { LogRecord } from '../../ports/event-log.ts'
import { type KafkaLogger, kafkaErrorType } from './kafka-connection.ts'
import type { Chunk } from './log-record.ts'
import { createBackoff, pause } from './wait.ts'

/** What a pump needs from its user. */
export interface PumpOptions {
  batchMax: number
  logger: KafkaLogger
  /** Gets at least one record; a rejection means the same records again after a pause. */
  deliver(records: LogRecord[]): void | Promise<void>
  /** Everything of this partition below `next` was delivered. */
  onDelivered(topic: string, partition: number, next: number): void
}

/** A queue of chunks that is delivered in order. */
export interface RecordPump {
  push(chunk: Chunk): void
  isFull(): boolean
  /** No further batch; resolves when the one in hand has ended, well or badly. */
  stop(): Promise<void>
}

const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 5000
/** Batches that may wait, so that the next one is there when a handler ends. */
const BATCHES_WAITING = 4
const BYTES_WAITING = 8 * 1024 * 1024

interface Pump extends PumpOptions {
  queue: Chunk[]
  waiting: { records: number; bytes: number }
  stopped: AbortController
  running: Promise<void> | undefined
}

/** A pump at rest; it runs while chunks wait. */
export function createRecordPump(options: PumpOptions): RecordPump {
  const pump: Pump = {
    ...options,
    queue: [],
    waiting: { records: 0, bytes: 0 },
    stopped: new AbortController(),
    running: undefined,
  }
  return {
    push(chunk) {
      if (pump.stopped.signal.aborted) return
      pump.queue.push(chunk)
      pump.waiting.records += chunk.records.length
      pump.waiting.bytes += chunk.bytes
      pump.running ??= run(pump)
    },
    isFull: () =>
      pump.waiting.records >= BATCHES_WAITING * pump.batchMax ||
      pump.waiting.bytes >= BYTES_WAITING,
    async stop() {
      pump.stopped.abort()
      pump.queue.length = 0
      await pump.running
    },
  }
}

async function run(pump: Pump): Promise<void> {
  // The caller must have stored the promise before the queue can be found empty.
  await Promise.resolve()
  while (pump.queue.length > 0) {
    const { records, chunks } = take(pump)
    if (records.length > 0 && !(await deliver(pump, records))) break
    for (const { topic, partition, next } of chunks) pump.onDelivered(topic, partition, next)
  }
  // In the same step as the last look at the queue, or a chunk could be left behind.
  pump.running = undefined
}

/** Takes whole chunks up to `batchMax` records; a chunk that is too large is cut. */
function take(pump: Pump): { records: LogRecord[]; chunks: Omit<Chunk, 'records' | 'bytes'>[] } {
  const records: LogRecord[] = []
  const chunks: Omit<Chunk, 'records' | 'bytes'>[] = []
  for (let chunk = pump.queue[0]; chunk; chunk = pump.queue[0]) {
    const room = pump.batchMax - records.length
    if (room <= 0 && chunk.records.length > 0) break
    if (chunk.records.length > room) {
      const head = chunk.records.splice(0, room)
      records.push(...head)
      pump.waiting.records -= head.length
      const cut = (head.at(-1)?.offset ?? -1) + 1
      chunks.push({ topic: chunk.topic, partition: chunk.partition, next: cut })
      break
    }
    pump.queue.shift()
    records.push(...chunk.records)
    pump.waiting.records -= chunk.records.length
    pump.waiting.bytes -= chunk.bytes
    chunks.push(chunk)
  }
  return { records, chunks }
}

async function deliver(pump: Pump, records: LogRecord[]): Promise<boolean> {
  const { stopped, logger } = pump
  const backoff = createBackoff(RETRY_FIRST_MS, RETRY_MAX_MS)
  while (!stopped.signal.aborted) {
    try {
      await pump.deliver(records)
      return true
    } catch (error) {
      const { topic, partition, offset } = records[0] ?? {}
      const place = { topic, partition, offset, records: records.length }
      logger.warn({ ...place, ...reasonOf(error) }, 'a batch was refused and comes again')
      await pause(backoff.next(), stopped.signal)
    }
  }
  return false
}

/** Only our own errors are quoted: messages of other layers may hold a record. */
function reasonOf(error: unknown): { reason: string; detail?: string } {
  if (isAmbitError(error)) return { reason: error.code, detail: error.message }
  if (error instanceof Error && 'code' in error) return { reason: String(error.code) }
  return { reason: kafkaErrorType(error) }
}
