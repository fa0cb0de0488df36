/** A single meeting of one hour, for tests and benchmarks. */
import type { CalendarObject, Meeting } from '#kernel/domain/calendar/calendar-object.ts'

/** A confirmed meeting in UTC with the category `review`. */
export function meetingIn(calendar: string, uid: string, local: string): CalendarObject {
  const main: Meeting = {
    start: { local, zone: 'UTC' },
    span: { days: 0, ms: 3_600_000 },
    allDay: false,
    status: 'confirmed',
    sequence: 0,
    stampMs: null,
    summary: `Meeting ${uid}`,
    attendees: [],
    categories: ['review'],
  }
  const lists = { rrules: [], exrules: [], rdates: [], exdates: [], exceptions: [] }
  return { calendar, uid, main, ...lists }
}
