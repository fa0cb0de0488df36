/** What the broker's answer to a fetch means: the visible records and where to go on. */
import type { FetchedMessage, FetchedPartition } from 'kafkajs/src/cluster/index.js'
import filterAbortedMessages from 'kafkajs/src/consumer/filterAbortedMessages.js'
import type { LogRecord } from '../../ports/event-log.ts'

/** Consecutive records of one partition; `next` is where the partition goes on after them. */
export interface Chunk {
  topic: string
  partition: number
  records: LogRecord[]
  /** May be above the last record: compaction, aborted transactions, control records. */
  next: number
  bytes: number
}

/** The visible records at or after `from`; `records` is empty where only gaps came. */
export function chunkOf(topic: string, from: number, fetched: FetchedPartition): Chunk {
  const { partition } = fetched
  const chunk: Chunk = { topic, partition, records: [], next: from, bytes: 0 }
  const last = fetched.messages.at(-1)
  if (last) chunk.next = Math.max(from, endOf(last))
  // The broker answers whole batches, which may begin before the offset that was asked for.
  for (const message of filterAbortedMessages(fetched)) {
    if (message.isControlRecord || Number(message.offset) < from) continue
    chunk.records.push(recordOf(topic, partition, message))
    chunk.bytes += (message.key?.length ?? 0) + (message.value?.length ?? 0)
  }
  return chunk
}

/** End of the last record a reader may see. */
export function stableEnd({ lastStableOffset, highWatermark }: FetchedPartition): number {
  const stable = Number(lastStableOffset ?? -1)
  return stable >= 0 ? stable : Number(highWatermark)
}

/** A batch keeps its end when compaction takes its last records. */
function endOf({ offset, batchContext }: FetchedMessage): number {
  const afterRecord = Number(offset) + 1
  if (!batchContext) return afterRecord
  const { firstOffset, lastOffsetDelta } = batchContext
  return Math.max(afterRecord, Number(firstOffset) + lastOffsetDelta + 1)
}

function recordOf(topic: string, partition: number, message: FetchedMessage): LogRecord {
  return {
    topic,
    partition,
    offset: Number(message.offset),
    timestamp: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: headersOf(message.headers),
  }
}

/** Of a header that was sent twice the last counts; one without a value is left out. */
function headersOf(headers: FetchedMessage['headers']): Record<string, Uint8Array> {
  const entries: [string, Uint8Array][] = []
  for (const [name, value] of Object.entries(headers)) {
    const last = Array.isArray(value) ? value.at(-1) : value
    if (last) entries.push([name, last])
  }
  // `fromEntries` defines own members, so a header called __proto__ is only a name.
  return Object.fromEntries(entries)
}
