/** One VEVENT as a meeting, or the reason why it is none (RFC 5545 3.6.1). Pure. */
import { hashId } from '../ids.ts'
import type { Exception, ListedTime, Meeting, MeetingStatus, Span } from './calendar-object.ts'
import type { IcsBlock } from './ics-blocks.ts'
import {
  type IcsProperty,
  parseDuration,
  parseProperty,
  parseRule,
  parseTimeValue,
  splitList,
  unescapeText,
  type WrittenValue,
} from './ics-property.ts'
import { localInstant } from './local-instant.ts'
import type { ZoneBook } from './zone-book.ts'

/** Why a component was left out. */
export type SkipReason =
  | 'not-closed'
  | 'no-start'
  | 'bad-time'
  | 'bad-rule'
  | 'unknown-zone'
  | 'too-many-values'

/** A component that was left out; `uid` where it could be read. */
export interface Skipped {
  uid?: string
  reason: SkipReason
}

/** What one VEVENT says. */
export interface ReadEvent {
  uid: string
  meeting: Meeting
  /** Set for an exception. */
  exception: Pick<Exception, 'recurrenceId' | 'isFuture'> | null
  rrules: string[]
  exrules: string[]
  rdates: ListedTime[]
  exdates: ListedTime[]
  /** Instances of `RDATE;VALUE=PERIOD`, which have a length of their own. */
  periods: Exception[]
}

const WANTED = new Set(
  [
    ['UID', 'DTSTART', 'DTEND', 'DURATION', 'RRULE', 'EXRULE', 'RDATE', 'EXDATE'],
    ['RECURRENCE-ID', 'SEQUENCE', 'DTSTAMP', 'LAST-MODIFIED', 'SUMMARY', 'STATUS'],
    ['ATTENDEE', 'CATEGORIES'],
  ].flat(),
)

/** Largest numbers of what one component may list. */
const LISTED_MAX = 5000
const ATTENDEES_MAX = 500
const CATEGORIES_MAX = 50
const TEXT_MAX = 1000
const UID_MAX = 512

type Properties = Map<string, IcsProperty[]>

/** Thrown inside this file only; a reason is a value outside. */
class Unreadable extends Error {
  readonly reason: SkipReason
  constructor(reason: SkipReason) {
    super(reason)
    this.reason = reason
  }
}

/** Reads a component. `isCancelled` says that its calendar cancels (`METHOD:CANCEL`). */
export function readEvent(
  block: IcsBlock,
  zones: ZoneBook,
  isCancelled: boolean,
): ReadEvent | Skipped {
  const found = propertiesOf(block)
  const uid = textOf(found, 'UID', UID_MAX) || undefined
  const left = (reason: SkipReason): Skipped => ({ ...(uid ? { uid } : {}), reason })
  if (!block.isClosed) return left('not-closed')
  try {
    return read(found, uid, { zones, isCancelled })
  } catch (error) {
    if (error instanceof Unreadable) return left(error.reason)
    throw error
  }
}

function propertiesOf(block: IcsBlock): Properties {
  const found: Properties = new Map()
  for (const line of block.lines) {
    const name = /^[A-Za-z-]+/.exec(line)?.[0].toUpperCase() ?? ''
    if (!WANTED.has(name)) continue
    const property = parseProperty(line) ?? unread(name)
    if (!property) continue
    const known = found.get(name)
    if (known) known.push(property)
    else found.set(name, [property])
  }
  return found
}

/**
 * A date that cannot be read is kept as such: left out, it would make a meeting at a wrong time.
 */
function unread(name: string): IcsProperty | null {
  const isTime = /^(?:DTSTART|DTEND|DURATION|RRULE|RDATE|EX|REC)/.test(name)
  return isTime ? { name, params: {}, raw: '?' } : null
}

interface Surroundings {
  zones: ZoneBook
  isCancelled: boolean
}

function read(found: Properties, uid: string | undefined, around: Surroundings): ReadEvent {
  const { zones } = around
  // A cancelled instance may be named by its recurrence id alone.
  const startProperty = first(found, 'DTSTART') ?? first(found, 'RECURRENCE-ID')
  if (!startProperty) throw new Unreadable('no-start')
  const startValue = timeOf(startProperty)
  const rrules = rulesOf(found, 'RRULE')
  const isSeries = rrules.length > 0 || found.has('RDATE')
  const start = placed(zones, startValue, startProperty, isSeries)
  const summary = textOf(found, 'SUMMARY', TEXT_MAX)
  const meeting: Meeting = {
    start,
    span: spanOf(found, zones, startValue, localInstant(start)),
    allDay: startValue.isDate,
    status: around.isCancelled ? 'cancelled' : statusOf(found),
    sequence: sequenceOf(found),
    stampMs: stampOf(found),
    summary,
    attendees: attendeesOf(found),
    categories: categoriesOf(found),
  }
  const added = addedInstances(found, zones, meeting)
  return {
    uid: uid ?? hashId('uid', start.local, start.zone, summary),
    meeting,
    exception: exceptionOf(found, zones, meeting),
    rrules,
    exrules: rulesOf(found, 'EXRULE'),
    ...added,
    exdates: removedInstances(found, zones, meeting),
  }
}

const first = (found: Properties, name: string) => found.get(name)?.[0]

function textOf(found: Properties, name: string, max: number): string {
  return unescapeText(first(found, name)?.raw ?? '')
    .trim()
    .slice(0, max)
}

/** A value with `VALUE=DATE` is a day, whatever follows the date. */
function timeOf(property: IcsProperty, raw = property.raw): WrittenValue {
  const value = parseTimeValue(raw)
  if (!value) throw new Unreadable('bad-time')
  if (property.params.value !== 'DATE' || value.isDate) return value
  return { local: `${value.local.slice(0, 10)}T00:00:00`, isDate: true, isUtc: false }
}

function placed(zones: ZoneBook, value: WrittenValue, { params }: IcsProperty, isSeries: boolean) {
  const place = zones.place(value, params.tzid, isSeries)
  if (!place) throw new Unreadable('unknown-zone')
  return place
}

function rulesOf(found: Properties, name: 'RRULE' | 'EXRULE'): string[] {
  const raws = (found.get(name) ?? []).map(({ raw }) => raw).filter(raw => raw.trim() !== '')
  return [...new Set(raws)].map(raw => {
    const rule = parseRule(raw)
    if (rule === null) throw new Unreadable('bad-rule')
    return rule
  })
}

/**
 * DTEND lasts exactly, DURATION in days of the clock (RFC 5545 3.8.5.3); a day where neither is.
 */
function spanOf(found: Properties, zones: ZoneBook, start: WrittenValue, startMs: number): Span {
  const end = first(found, 'DTEND')
  if (end && end.raw.trim() !== '') {
    const value = timeOf(end)
    if (start.isDate && value.isDate) {
      const days = (Date.parse(`${value.local}Z`) - Date.parse(`${start.local}Z`)) / 86_400_000
      // Some programs write the last day instead of the one after it.
      return { days: Math.max(1, Math.round(days)), ms: 0 }
    }
    const endMs = localInstant(placed(zones, value, end, false))
    return { days: 0, ms: Math.max(0, endMs - startMs) }
  }
  const duration = parseDuration(first(found, 'DURATION')?.raw ?? '')
  if (duration) return duration
  return start.isDate ? { days: 1, ms: 0 } : { days: 0, ms: 0 }
}

function statusOf(found: Properties): MeetingStatus {
  const status = textOf(found, 'STATUS', 32).toLowerCase()
  if (status === 'cancelled' || status === 'canceled') return 'cancelled'
  return status === 'tentative' ? 'tentative' : 'confirmed'
}

function sequenceOf(found: Properties): number {
  const sequence = Number(first(found, 'SEQUENCE')?.raw.trim() || 0)
  return Number.isSafeInteger(sequence) && sequence >= 0 ? sequence : 0
}

/** The later of DTSTAMP and LAST-MODIFIED, both in UTC. */
function stampOf(found: Properties): number | null {
  const stamps = ['DTSTAMP', 'LAST-MODIFIED'].flatMap(name => {
    const value = parseTimeValue(first(found, name)?.raw ?? '')
    return value ? [Date.parse(`${value.local}Z`)] : []
  })
  return stamps.length === 0 ? null : Math.max(...stamps)
}

function attendeesOf(found: Properties): string[] {
  const all = (found.get('ATTENDEE') ?? []).slice(0, ATTENDEES_MAX)
  const addresses = all.map(({ raw }) =>
    raw
      .trim()
      .replace(/^mailto:/i, '')
      .toLowerCase(),
  )
  return [...new Set(addresses)].filter(text => text !== '' && text.length <= 320)
}

function categoriesOf(found: Properties): string[] {
  const all = (found.get('CATEGORIES') ?? []).flatMap(({ raw }) => splitList(raw))
  return [...new Set(all)]
    .filter(text => text !== '' && text.length <= 200)
    .slice(0, CATEGORIES_MAX)
}

function exceptionOf(found: Properties, zones: ZoneBook, meeting: Meeting) {
  const property = first(found, 'RECURRENCE-ID')
  if (!property || property.raw.trim() === '') return null
  const value = timeOf(property)
  const recurrenceId = placeInSeries(zones, value, property, meeting)
  const isFuture = /^THISANDFUTURE$/i.test(property.params.range?.trim() ?? '')
  return { recurrenceId, isFuture }
}

/** Without a zone of its own an instance is named on the clock of its series. */
function placeInSeries(
  zones: ZoneBook,
  value: WrittenValue,
  property: IcsProperty,
  { start, allDay }: Meeting,
): ListedTime {
  const isDay = value.isDate && !allDay
  if (!value.isUtc && !(property.params.tzid && !value.isDate)) {
    return { local: value.local, zone: start.zone, ...(isDay ? { isDay } : {}) }
  }
  return placed(zones, value, property, false)
}

function values(found: Properties, name: string): { property: IcsProperty; raw: string }[] {
  const all = (found.get(name) ?? []).flatMap(property =>
    property.raw
      .split(',')
      .map(raw => ({ property, raw: raw.trim() }))
      .filter(({ raw }) => raw !== ''),
  )
  if (all.length > LISTED_MAX) throw new Unreadable('too-many-values')
  return all
}

function removedInstances(found: Properties, zones: ZoneBook, meeting: Meeting): ListedTime[] {
  return values(found, 'EXDATE').map(({ property, raw }) =>
    placeInSeries(zones, timeOf(property, raw), property, meeting),
  )
}

function addedInstances(found: Properties, zones: ZoneBook, meeting: Meeting) {
  const rdates: ListedTime[] = []
  const periods: Exception[] = []
  for (const { property, raw } of values(found, 'RDATE')) {
    const [startText = '', endText] = raw.split('/')
    const value = timeOf(property, startText)
    const listed = placeInSeries(zones, value, property, meeting)
    // A day added to a series of times is that day at the series' time.
    const at = listed.isDay
      ? { local: listed.local.slice(0, 10) + meeting.start.local.slice(10), zone: listed.zone }
      : listed
    rdates.push(at)
    if (endText === undefined) continue
    const span = periodSpan(zones, { property, endText, startMs: localInstant(at) })
    periods.push({ ...meeting, start: at, span, recurrenceId: at, isFuture: false })
  }
  return { rdates, periods }
}

function periodSpan(
  zones: ZoneBook,
  period: { property: IcsProperty; endText: string; startMs: number },
): Span {
  const duration = parseDuration(period.endText)
  if (duration) return duration
  const value = parseTimeValue(period.endText)
  if (!value) throw new Unreadable('bad-time')
  const endMs = localInstant(placed(zones, value, period.property, false))
  return { days: 0, ms: Math.max(0, endMs - period.startMs) }
}
