/** The calendars as this process knows them: the whole of `calendar.objects`, followed. */

import { type CalendarBook, createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { EventLog, LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'

export interface Calendars {
  book: CalendarBook
  /** Waits until everything appended before the call is in the book. */
  barrier(): Promise<void>
  stop(): Promise<void>
}

export interface FollowCalendarsOptions {
  log: EventLog
  codec: RecordCodec
  /** The book to keep; a new one when omitted. */
  book?: CalendarBook
  /** Is told every calendar that changed. */
  onChange?(tenant: string, calendar: string): void
}

/** Resolves when the book has caught up. */
export async function followCalendars(options: FollowCalendarsOptions): Promise<Calendars> {
  const { log, codec, book = createCalendarBook(), onChange } = options
  const take = ({ key, value, timestamp }: LogRecord) => {
    if (!value) return key ? book.forget(Buffer.from(key).toString()) : undefined
    const document = readable(() => codec.decode('table-document', value))
    const changed = document && book.apply(document, timestamp)
    if (changed) onChange?.(changed.tenant, changed.calendar)
  }
  const following = await log.follow({
    topics: ['calendar.objects'],
    from: 'beginning',
    onRecords: records => {
      for (const record of records) take(record)
    },
  })
  await following.barrier()
  return { book, barrier: () => following.barrier(), stop: () => following.stop() }
}
