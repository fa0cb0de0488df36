/** The calendars as this process knows them: the whole of `calendar.objects`, followed. */

import { type CalendarBook, createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { takeCalendarRecord } from '#kernel/domain/calendar/take-calendar-record.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
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
  const decode = (value: Uint8Array) => codec.decode('table-document', value)
  const following = await log.follow({
    topics: ['calendar.objects'],
    from: 'beginning',
    onRecords: records => {
      for (const record of records) takeCalendarRecord(book, record, decode)
    },
  })
  await following.barrier()
  return { book, barrier: () => following.barrier(), stop: () => following.stop() }
}
