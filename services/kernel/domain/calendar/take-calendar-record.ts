/** A record of `calendar.objects`, taken into a book. Pure. */
import type { TableDocument } from '#schemas/generated/records.ts'
import { readable } from '../readable.ts'
import type { CalendarBook } from './calendar-book.ts'

export interface CalendarRecord {
  key: Uint8Array | null
  value: Uint8Array | null
  /** When it was appended, by the log's clock. */
  timestamp: number
}

/**
 * Takes what a reader of the topic came upon: a tombstone forgets, what nobody can read is passed
 * over. Answers the calendar that changed, if one did.
 */
export function takeCalendarRecord(
  book: CalendarBook,
  { key, value, timestamp }: CalendarRecord,
  decode: (value: Uint8Array) => TableDocument,
): { tenant: string; calendar: string } | undefined {
  if (!value && key) book.forget(Buffer.from(key).toString())
  const document = value && readable(() => decode(value))
  return document ? book.apply(document, timestamp) : undefined
}
