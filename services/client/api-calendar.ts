/** The HTTP contract in types: calendars and their objects. */

/** What a change of a calendar did; `changed` counts new objects too. */
export interface CalendarChange {
  objects: number
  changed: number
  removed: number
  /** Components of a file that could not be read, and why. */
  skipped?: { uid?: string; reason: string }[]
}

export interface CalendarFeed {
  url: string
  /** Ms between two polls. Default 15 minutes. */
  everyMs?: number
  /** IANA zone of floating times and days where the file names none. */
  zone?: string
}

export interface CalendarSummary {
  name: string
  kind: 'local' | 'feed'
  owner: string
  zone: string | null
  version: number
  objects: number
  /** Of a feed: scheme and host of its address. */
  origin?: string
  everyMs?: number
  feed?: {
    lastFetchAt: string | null
    lastOkAt: string | null
    lastError: string | null
    failures: number
    skipped: number
    nextFetchAt: string | null
  }
}

type MeetingStatus = 'confirmed' | 'tentative' | 'cancelled'

interface MeetingInput {
  /** Local in `tzid`, or with `Z` or an offset; a date alone is a whole day. */
  start: string
  end?: string | null
  durationMs?: number | null
  status?: MeetingStatus
  sequence?: number
  summary?: string
  attendees?: string[]
  categories?: string[]
  tzid?: string | null
}

export interface CalendarObjectInput extends MeetingInput {
  rrule?: string | null
  rdates?: string[]
  exdates?: string[]
  exceptions?: (Partial<MeetingInput> & {
    recurrenceId: string
    range?: 'this' | 'thisAndFuture'
  })[]
}

export interface StoredCalendarObject extends CalendarObjectInput {
  uid: string
  allDay?: boolean
  startsAt?: string
  endsAt?: string
}
