/** Drafts as another program would export them: an iCalendar file. */
import type { Draft, DraftException } from './meeting-drafts.ts'

export function icsOf(drafts: Iterable<Draft>, nowMs: number): string {
  const events = [...drafts].flatMap(draft => [
    ...eventOf(draft, draft, nowMs, [
      ...(draft.rrule ? [`RRULE:${draft.rrule}`] : []),
      ...draft.exdates.map(exdate => timeLine('EXDATE', exdate, draft.tzid)),
    ]),
    ...draft.exceptions.flatMap(exception => {
      const range = exception.range === 'thisAndFuture' ? ';RANGE=THISANDFUTURE' : ''
      const name = `RECURRENCE-ID${range}`
      const named = timeLine(name, exception.recurrenceId, draft.tzid)
      return eventOf(draft, exceptional(draft, exception), nowMs, [named])
    }),
  ])
  return ['BEGIN:VCALENDAR', 'VERSION:2.0', ...events, 'END:VCALENDAR', ''].join('\r\n')
}

/** An exception in a file is whole. */
function exceptional(draft: Draft, exception: DraftException): Draft {
  const { recurrenceId, start = recurrenceId, status = draft.status } = exception
  return { ...draft, start, status, summary: exception.summary ?? draft.summary }
}

function eventOf(draft: Draft, meeting: Draft, nowMs: number, more: string[]): string[] {
  const { start, durationMs, tzid, status, summary, attendees, categories } = meeting
  return [
    'BEGIN:VEVENT',
    `UID:${draft.uid}`,
    `DTSTAMP:${written(new Date(nowMs).toISOString().slice(0, 19))}Z`,
    `SEQUENCE:${draft.sequence}`,
    timeLine('DTSTART', start, tzid),
    ...(durationMs === null ? [] : [`DURATION:PT${durationMs / 60_000}M`]),
    `STATUS:${status.toUpperCase()}`,
    `SUMMARY:${summary}`,
    ...attendees.map(address => `ATTENDEE:mailto:${address}`),
    ...(categories.length > 0 ? [`CATEGORIES:${categories.join(',')}`] : []),
    ...more,
    'END:VEVENT',
  ]
}

const written = (text: string) => text.replaceAll(/[-:]/g, '')

function timeLine(name: string, text: string, tzid: string): string {
  if (text.length === 10) return `${name};VALUE=DATE:${written(text)}`
  if (text.endsWith('Z')) return `${name}:${written(text)}`
  return tzid === 'UTC' ? `${name}:${written(text)}Z` : `${name};TZID=${tzid}:${written(text)}`
}
