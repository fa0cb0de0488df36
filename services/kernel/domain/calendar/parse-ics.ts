/**
 * Reads an iCalendar file (RFC 5545) into calendar objects. ical.js reads lines; instants come from
 * the zone database and the recurrence module. A component that cannot be read is left out and
 * named with a reason, and never guessed.
 */
import { AmbitError } from '../../errors.ts'
import type { CalendarObject, Exception, ListedTime, Meeting } from './calendar-object.ts'
import { type IcsBlock, parseBlocks, unfoldLines } from './ics-blocks.ts'
import { parseProperty } from './ics-property.ts'
import { isOlder } from './is-older.ts'
import { dayNamed, localAt, localInstant } from './local-instant.ts'
import { type ReadEvent, readEvent, type Skipped } from './read-event.ts'
import { createZoneBook, type ZoneBook } from './zone-book.ts'

export interface ParseIcsOptions {
  /** Name of the calendar that the objects belong to. */
  calendar: string
  /** IANA zone of floating times and of days where the file names none (`X-WR-TIMEZONE`). */
  zone: string
  /** Largest file, bytes. Default 1 MiB. */
  bytesMax?: number
  /** Largest number of objects. Default 10 000. */
  objectsMax?: number
}

export interface ParsedIcs {
  /** One for each UID, in the order of the file. */
  objects: CalendarObject[]
  /** Components that were left out. An object with one of them is left out as a whole. */
  skipped: Skipped[]
}

export const ICS_BYTES_MAX = 1024 * 1024
export const ICS_OBJECTS_MAX = 10_000

/**
 * @throws AmbitError `bad-request` for what is no calendar, is cut off, or holds events of which
 * none can be read; `too-large` beyond a bound.
 */
export function parseIcs(bytes: Uint8Array, options: ParseIcsOptions): ParsedIcs {
  const { bytesMax = ICS_BYTES_MAX, objectsMax = ICS_OBJECTS_MAX } = options
  if (bytes.length > bytesMax) throw tooLarge(`a calendar of at most ${bytesMax} bytes`)
  const { calendars, isCut } = parseBlocks(unfoldLines(bytes))
  if (calendars.length === 0) {
    throw notReadable('BEGIN:VCALENDAR', 'none of it', 'Send an iCalendar file (RFC 5545).')
  }
  // Read as whole, its missing end would delete what stands there.
  if (isCut) throw notReadable('END:VCALENDAR', 'the end of the text', 'Send the whole file.')
  const books = zoneBooks(calendars)
  const read = calendars.flatMap(calendar => readCalendar(calendar, books, options.zone))
  const { objects, skipped } = collect(read, options.calendar)
  if (objects.length > objectsMax) throw tooLarge(`a calendar of at most ${objectsMax} objects`)
  const broken = skipped.filter(isBroken)
  if (objects.length === 0 && broken.length > 0) {
    const reasons = [...new Set(broken.map(({ reason }) => reason))].join(', ')
    throw notReadable(
      'at least one readable VEVENT',
      reasons,
      'Correct the file and send it again.',
    )
  }
  return { objects, skipped }
}

/** Without a start (RFC 5545 3.6.1) there is nothing to be on time for, and nothing wrong. */
const isBroken = ({ reason }: Skipped) => reason !== 'no-start'

function tooLarge(expected: string): AmbitError {
  return new AmbitError('too-large', `Expected ${expected}, got more. Split the calendar.`, {
    expected,
    actual: 'more',
  })
}

function notReadable(expected: string, actual: string, todo: string): AmbitError {
  return new AmbitError('bad-request', `Expected ${expected}, got ${actual}. ${todo}`, {
    expected,
    actual,
  })
}

type ZoneBooks = (ownZone: string) => ZoneBook

/** Zones are looked for in the whole file: some programs keep them in a calendar of their own. */
function zoneBooks(calendars: readonly IcsBlock[]): ZoneBooks {
  const timezones = calendars.flatMap(({ children }) =>
    children.filter(({ name }) => name === 'VTIMEZONE'),
  )
  const books = new Map<string, ZoneBook>()
  return zone => {
    const book = books.get(zone) ?? createZoneBook(timezones, zone)
    books.set(zone, book)
    return book
  }
}

function readCalendar(calendar: IcsBlock, books: ZoneBooks, zone: string): (ReadEvent | Skipped)[] {
  const zones = books(ownZone(calendar, books, zone))
  const isCancelled = /^CANCEL$/i.test(calendarProperty(calendar, 'METHOD') ?? '')
  return calendar.children
    .filter(({ name }) => name === 'VEVENT')
    .map(block => readEvent(block, zones, isCancelled))
}

function calendarProperty(calendar: IcsBlock, name: string): string | undefined {
  const line = calendar.lines.find(text => text.toUpperCase().startsWith(name))
  const property = line === undefined ? null : parseProperty(line)
  return property?.name === name ? property.raw.trim() : undefined
}

/** What `X-WR-TIMEZONE` names, if anybody knows it. */
function ownZone(calendar: IcsBlock, books: ZoneBooks, zone: string): string {
  const written = calendarProperty(calendar, 'X-WR-TIMEZONE')
  if (!written) return zone
  const noon = { local: '2026-01-01T12:00:00', isDate: false, isUtc: false }
  return books(zone).place(noon, written, true)?.zone ?? zone
}

function collect(read: readonly (ReadEvent | Skipped)[], calendar: string): ParsedIcs {
  const skipped: Skipped[] = []
  const readable: ReadEvent[] = []
  for (const event of read) {
    if ('reason' in event) skipped.push(event)
    else readable.push(event)
  }
  const broken = new Set(skipped.filter(isBroken).map(({ uid }) => uid))
  const objects: CalendarObject[] = []
  for (const [uid, events] of Map.groupBy(readable, event => event.uid)) {
    if (broken.has(uid)) continue
    objects.push(assemble(calendar, uid, events))
  }
  return { objects, skipped }
}

/** The newest revision of the series and of each exception (RFC 5546 2.1.5). */
function assemble(calendar: string, uid: string, events: readonly ReadEvent[]): CalendarObject {
  const series = events
    .filter(({ exception }) => !exception)
    .reduce<ReadEvent | undefined>(newer, undefined)
  const exceptions = new Map<string, Exception>()
  const add = (exception: Exception) => {
    const recurrenceId = inSeries(exception.recurrenceId, series?.meeting)
    const key = `${localInstant(recurrenceId)} ${exception.isFuture}`
    const known = exceptions.get(key)
    if (!known || !isOlder(exception, known)) exceptions.set(key, { ...exception, recurrenceId })
  }
  for (const period of series?.periods ?? []) add(period)
  for (const { exception, meeting } of events) {
    if (exception) add({ ...meeting, ...exception })
  }
  return {
    calendar,
    uid,
    main: series?.meeting ?? null,
    rrules: series?.rrules ?? [],
    exrules: series?.exrules ?? [],
    rdates: series?.rdates ?? [],
    exdates: series?.exdates ?? [],
    exceptions: [...exceptions.values()],
  }
}

/** Of equals the later in the file. */
function newer(known: ReadEvent | undefined, event: ReadEvent): ReadEvent {
  return known && isOlder(event.meeting, known.meeting) ? known : event
}

/** The instance that an exception names, on the clock of its series. */
function inSeries(named: ListedTime, series: Meeting | undefined): ListedTime {
  if (!series) return { local: named.local, zone: named.zone }
  const { zone, local } = series.start
  const date = (place: ListedTime) => place.local.slice(0, 10)
  if (named.isDay) return { local: date(named) + local.slice(10), zone }
  if (series.allDay) return { local: `${dayNamed(named, zone)}T00:00:00`, zone }
  return named.zone === zone ? named : localAt(localInstant(named), zone)
}
