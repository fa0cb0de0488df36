/** The calendars as this process knows them: the whole of `calendar.objects`, followed. */

import { type CalendarBook, createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'

export interface Calendars {
  book: CalendarBook
  /** Waits until everything appended before the call is in the book. */
  barrier(): Promise<void>
  stop(): Promise<void>
}

/** Resolves when the book has caught up; `onChange` is told every calendar that changed. */
export async function followCalendars(
  { log, codec }: { log: EventLog; codec: RecordCodec },
  onChange: (book: CalendarBook, tenant: string, calendar: string) => void = () => {},
): Promise<Calendars> {
  const book = createCalendarBook()
  const following = await log.follow({
    topics: ['calendar.objects'],
    from: 'beginning',
    onRecords: records => {
      for (const { value } of records) {
        const document = value && readable(() => codec.decode('table-document', value))
        const changed = document && book.apply(document)
        if (changed) onChange(book, changed.tenant, changed.calendar)
      }
    },
  })
  await following.barrier()
  return { book, barrier: () => following.barrier(), stop: () => following.stop() }
}
