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

/** Resolves when the book has caught up. */
export async function followCalendars({
  log,
  codec,
}: {
  log: EventLog
  codec: RecordCodec
}): Promise<Calendars> {
  const book = createCalendarBook()
  const take = ({ key, value, timestamp }: LogRecord) => {
    if (!value && key) book.forget(Buffer.from(key).toString())
    const document = value && readable(() => codec.decode('table-document', value))
    if (document) book.apply(document, timestamp)
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
