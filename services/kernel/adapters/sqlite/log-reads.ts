/** Reading durable records: from the cache where it reaches back far enough, else the table. */
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { Stream } from './log-topics.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { unpackHeaders } from './stored-record.ts'

/** One record may be larger. */
const READ_BYTES_MAX = 8 * 1024 * 1024

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

/** Durable records from an offset on, at most `max` and a few MiB; may skip gaps. */
export function readDurable(
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
  for (let at = 0; at < records.length; at += 1) {
    bytes += records[at]?.value?.length ?? 0
    if (bytes >= READ_BYTES_MAX) return records.slice(0, at + 1)
  }
  return records
}

function recordOf({ topic, partition }: Stream, row: LogRow): LogRecord {
  const { offset, ts: timestamp, key, value } = row
  return { topic, partition, offset, timestamp, key, value, headers: unpackHeaders(row.headers) }
}

/** The first durable record at or above an offset. */
export function rowAtOrAfter(database: SqliteDatabase, stream: Stream, offset: number) {
  const row = database.read('log-unavailable', () =>
    database.statement(AT_OR_AFTER).get(stream.id, offset, stream.durableEnd),
  )
  return row && { offset: Number(row.offset), timestamp: Number(row.ts) }
}

/**
 * First offset whose record is of `sinceMs` or later; the end without one. Times do not fall
 * within a stream, so halving finds the place, gaps or not.
 */
export function firstSince(database: SqliteDatabase, stream: Stream, sinceMs: number): number {
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
