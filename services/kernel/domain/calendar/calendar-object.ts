/**
 * A calendar object: what one UID stands for, that is a single meeting, or a series with its
 * exceptions. Truth is local time in a named zone; instants are computed when they are asked for,
 * so that a change of the zone database moves them.
 */
import { tenantKey } from '../ids.ts'

/** A time on the clock of a place: `2026-12-01T09:00:00` in an IANA zone (`UTC` for instants). */
export interface PlacedLocal {
  local: string
  zone: string
}

/** How long a meeting lasts: `days` of the local clock, then `ms` that really pass. */
export interface Span {
  days: number
  ms: number
}

export const MEETING_STATUSES = ['confirmed', 'tentative', 'cancelled'] as const
export type MeetingStatus = (typeof MEETING_STATUSES)[number]

/** What a series and each of its exceptions say in the same words. */
export interface Meeting {
  start: PlacedLocal
  span: Span
  /** Days, not times: it starts at midnight of its zone. */
  allDay: boolean
  status: MeetingStatus
  /** RFC 5545 3.8.7.4: grows with every revision that moves the meeting. */
  sequence: number
  /** When this revision was made, ms since the epoch; `null` where nobody said so. */
  stampMs: number | null
  summary: string
  /** Addresses in lower case, without `mailto:`. */
  attendees: string[]
  categories: string[]
}

/** An exception of a series (RFC 5545 3.8.4.4). */
export interface Exception extends Meeting {
  /** The instance that it stands for, where the series would have had it. */
  recurrenceId: ListedTime
  /** `RANGE=THISANDFUTURE`: all later instances change with it. */
  isFuture: boolean
}

/** An instance that is added to, or taken from, a series; days may be meant as a whole. */
export interface ListedTime extends PlacedLocal {
  /** `VALUE=DATE` on a series of times: every instance of that day. */
  isDay?: boolean
}

export interface CalendarObject {
  calendar: string
  uid: string
  /** `null` when a file held exceptions without their series; they stand alone then. */
  main: Meeting | null
  /** RFC 5545 RRULE texts, usually one at most. */
  rrules: string[]
  /** RFC 2445 EXRULE texts, from old programs. */
  exrules: string[]
  rdates: ListedTime[]
  exdates: ListedTime[]
  exceptions: Exception[]
}

/** Kinds of documents in the table `calendar.objects`. */
export const CALENDAR_OBJECT_KIND = 'calendar-object'
export const CALENDAR_FEED_KIND = 'calendar-feed'

/** Key of an object in the table; the keys of a calendar share their beginning. */
export function calendarObjectKey(tenant: string, calendar: string, uid: string): string {
  return tenantKey(tenant, CALENDAR_OBJECT_KIND, calendar, uid)
}

/** Does it happen more than once? */
export function isSeries(object: CalendarObject): boolean {
  return object.rrules.length > 0 || object.rdates.length > 0 || object.exceptions.length > 0
}
