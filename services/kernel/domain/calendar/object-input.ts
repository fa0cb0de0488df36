/** The object API: a meeting in JSON, and the other way round. */
import { z } from 'zod'
import { AmbitError } from '../../errors.ts'
import { zoneSchema } from './calendar.ts'
import type { CalendarObject, Exception, ListedTime, Meeting, Span } from './calendar-object.ts'
import { MEETING_STATUSES } from './calendar-object.ts'
import { parseRule } from './ics-property.ts'
import { endOf, localAt, localInstant } from './local-instant.ts'

const TIME = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(?::(\d{2}))?(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?)?$/

const time = z.string().regex(TIME, {
  message: 'a time such as 2026-12-01T09:00:00, local or with Z or an offset, or a day',
})
const text = z.string().max(1000)

const meetingMembers = {
  start: time,
  end: time.nullable().optional(),
  /** Ms; instead of `end`. */
  durationMs: z.int().min(0).max(31_622_400_000).nullable().optional(),
  status: z.enum(MEETING_STATUSES).default('confirmed'),
  sequence: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  summary: text.default(''),
  attendees: z.array(z.string().min(1).max(320)).max(500).default([]),
  categories: z.array(z.string().min(1).max(200)).max(50).default([]),
}

/** What `GET` adds to what was written: ignored when it comes back. */
const shown = z.unknown().optional()
const shownMembers = { allDay: shown, startsAt: shown, endsAt: shown }

/** An instance that differs; what it does not say it takes from its series. */
const exceptionSchema = z.strictObject({
  recurrenceId: time,
  range: z.enum(['this', 'thisAndFuture']).default('this'),
  start: time.optional(),
  end: meetingMembers.end,
  durationMs: meetingMembers.durationMs,
  status: z.enum(MEETING_STATUSES).optional(),
  summary: text.optional(),
  attendees: meetingMembers.attendees.unwrap().optional(),
  categories: meetingMembers.categories.unwrap().optional(),
  sequence: z.int().min(0).optional(),
  tzid: zoneSchema.nullable().optional(),
  ...shownMembers,
})

/** Body of `PUT /v1/calendars/{name}/objects/{uid}`. */
export const objectSchema = z.strictObject({
  uid: z.string().min(1).max(512).optional(),
  ...meetingMembers,
  /** IANA zone of its local times, and the one in which a series repeats. */
  tzid: zoneSchema.nullable().optional(),
  rrule: z.string().min(1).max(1024).nullable().optional(),
  rdates: z.array(time).max(500).default([]),
  exdates: z.array(time).max(500).default([]),
  exceptions: z.array(exceptionSchema).max(1000).default([]),
  ...shownMembers,
})

export type ObjectInput = z.infer<typeof objectSchema>

interface Place {
  calendar: string
  uid: string
  /** Zone of local times where the object names none. */
  zone: string
}

/** The object that a body describes. @throws AmbitError `invalid` with the pointer. */
export function objectFrom(input: ObjectInput, { calendar, uid, zone }: Place): CalendarObject {
  const home = input.tzid ?? zone
  const start = placeOf('/start', input.start, { zone: home, isNamed: Boolean(input.tzid) })
  const main = mainOf(input, start, isDay(input.start))
  const listed = (name: string, texts: readonly string[]): ListedTime[] =>
    texts.map((value, n) => listedIn(main, `/${name}/${n}`, value))
  const rule = input.rrule ? parseRule(input.rrule.replace(/^RRULE:/i, '')) : null
  if (input.rrule && rule === null) throw invalid('/rrule', 'an RRULE of RFC 5545', 'another text')
  return {
    ...{ calendar, uid, main, exrules: [] },
    rrules: rule === null ? [] : [rule],
    rdates: listed('rdates', input.rdates),
    exdates: listed('exdates', input.exdates),
    exceptions: input.exceptions.map((given, n) => exceptionFrom(given, main, n)),
  }
}

function mainOf(input: ObjectInput, start: ListedTime, allDay: boolean): Meeting {
  const { status, sequence, summary, categories } = input
  return {
    ...{ start, allDay, status, sequence, summary, categories, stampMs: null },
    span: spanOf('', input, { start, allDay }),
    attendees: input.attendees.map(addressOf),
  }
}

const addressOf = (text: string) => text.replace(/^mailto:/i, '').toLowerCase()
const isDay = (text: string) => text.length === 10

function invalid(pointer: string, expected: string, actual: string): AmbitError {
  return new AmbitError('invalid', `${pointer}: expected ${expected}; got ${actual}.`, {
    ...{ pointer, expected, actual },
  })
}

/** An instant is kept on the clock of the object's zone where it names one, else in UTC. */
function placeOf(
  pointer: string,
  text: string,
  { zone, isNamed }: { zone: string; isNamed: boolean },
): ListedTime {
  const [, date = '', minutes = '00:00', seconds = '00', offset] = TIME.exec(text) ?? []
  const local = `${date}T${minutes}:${seconds}`
  try {
    if (offset === undefined) {
      const at = localInstant({ local, zone })
      if (Number.isNaN(at)) throw new RangeError()
      return { local, zone }
    }
    const atMs = Temporal.Instant.from(`${local}${offset}`).epochMilliseconds
    return localAt(atMs, isNamed ? zone : 'UTC')
  } catch {
    throw invalid(pointer, 'a time that the calendar has', 'another')
  }
}

function spanOf(
  at: string,
  given: { end?: string | null; durationMs?: number | null },
  { start, allDay }: { start: ListedTime; allDay: boolean },
): Span {
  if (given.end && given.durationMs) {
    throw invalid(`${at}/durationMs`, 'end or durationMs', 'both')
  }
  if (!given.end) {
    return allDay && !given.durationMs ? { days: 1, ms: 0 } : { days: 0, ms: given.durationMs ?? 0 }
  }
  const end = placeOf(`${at}/end`, given.end, { zone: start.zone, isNamed: true })
  if (allDay && isDay(given.end)) {
    const days = (Date.parse(`${end.local}Z`) - Date.parse(`${start.local}Z`)) / 86_400_000
    if (days < 1) throw invalid(`${at}/end`, 'the day after the last one', 'an earlier day')
    return { days, ms: 0 }
  }
  const ms = localInstant(end) - localInstant(start)
  if (ms < 0) throw invalid(`${at}/end`, 'an end after the start', 'an earlier time')
  return { days: 0, ms }
}

function listedIn({ start, allDay }: Meeting, pointer: string, text: string): ListedTime {
  const place = placeOf(pointer, text, { zone: start.zone, isNamed: true })
  return isDay(text) && !allDay ? { ...place, isDay: true } : place
}

function exceptionFrom(
  given: z.infer<typeof exceptionSchema>,
  main: Meeting,
  n: number,
): Exception {
  const at = `/exceptions/${n}`
  const named = listedIn(main, `${at}/recurrenceId`, given.recurrenceId)
  const clock = main.start.local.slice(10)
  const recurrenceId = {
    local: named.isDay ? named.local.slice(0, 10) + clock : named.local,
    zone: named.zone,
  }
  const home = { zone: given.tzid ?? main.start.zone, isNamed: true }
  const start = given.start ? placeOf(`${at}/start`, given.start, home) : recurrenceId
  const allDay = given.start ? isDay(given.start) : main.allDay
  const hasSpan = Boolean(given.end) || typeof given.durationMs === 'number'
  return {
    ...main,
    ...{ recurrenceId, start, allDay, isFuture: given.range === 'thisAndFuture' },
    span: hasSpan ? spanOf(at, given, { start, allDay }) : main.span,
    status: given.status ?? main.status,
    sequence: given.sequence ?? main.sequence,
    summary: given.summary ?? main.summary,
    attendees: given.attendees?.map(addressOf) ?? main.attendees,
    categories: given.categories ?? main.categories,
  }
}

/** An object as the API shows it: `PUT` takes the same members back, but for the instants. */
export function objectView(object: CalendarObject) {
  const { uid, main, rrules, rdates, exdates, exceptions } = object
  return {
    uid,
    ...(main ? meetingView(main) : {}),
    rrule: rrules[0] ?? null,
    ...(rrules.length > 1 ? { rrules } : {}),
    rdates: rdates.map(writtenTime),
    exdates: exdates.map(writtenTime),
    exceptions: exceptions.map(exception => ({
      recurrenceId: writtenTime(exception.recurrenceId),
      range: exception.isFuture ? 'thisAndFuture' : 'this',
      ...meetingView(exception),
    })),
  }
}

function writtenTime({ local, zone, isDay: isWholeDay }: ListedTime): string {
  if (isWholeDay) return local.slice(0, 10)
  return zone === 'UTC' ? `${local}Z` : local
}

function meetingView(meeting: Meeting) {
  const { start, span, allDay, status, sequence, summary, attendees, categories } = meeting
  const startMs = localInstant(start)
  const endMs = endOf(startMs, span, start.zone)
  const end = localAt(endMs, start.zone)
  const written = (place: ListedTime) => (allDay ? place.local.slice(0, 10) : writtenTime(place))
  return {
    ...{ start: written(start), end: written(end), tzid: start.zone, allDay },
    ...{ status, sequence, summary, attendees, categories },
    startsAt: new Date(startMs).toISOString(),
    endsAt: new Date(endMs).toISOString(),
  }
}
