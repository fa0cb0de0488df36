/** Calendars: files, feeds and single objects. */
import type {
  CalendarChange,
  CalendarFeed,
  CalendarObjectInput,
  CalendarSummary,
  StoredCalendarObject,
} from './api.ts'
import { type Listing, listing } from './page-items.ts'
import { segment, type Transport } from './transport.ts'

export interface Calendars {
  list: Listing<CalendarSummary, unknown>
  get(name: string): Promise<CalendarSummary>
  /** Makes the calendar hold what the iCalendar text has, no less and no more. */
  upload(name: string, text: string, zone?: string): Promise<CalendarChange>
  /** Fetches the address now, and from now on. */
  follow(name: string, feed: CalendarFeed): Promise<CalendarChange>
  delete(name: string): Promise<CalendarChange>
  objects(name: string): Listing<StoredCalendarObject, unknown>
  object(name: string, uid: string): Promise<StoredCalendarObject>
  putObject(name: string, uid: string, object: CalendarObjectInput): Promise<CalendarChange>
  deleteObject(name: string, uid: string): Promise<CalendarChange>
}

/** Binds the calendar routes to a transport. */
export function calendarCalls(transport: Transport): Calendars {
  const at = (name: string) => `/v1/calendars/${segment(name)}`
  const object = (name: string, uid: string) => `${at(name)}/objects/${segment(uid)}`
  const contentType = 'text/calendar'
  return {
    list: listing(transport, '/v1/calendars'),
    get: name => transport.json({ method: 'GET', path: at(name) }),
    upload: (name, body, zone) =>
      transport.json({ method: 'PUT', path: at(name), query: { zone }, body, contentType }),
    follow: (name, body) => transport.json({ method: 'PUT', path: at(name), body }),
    delete: name => transport.json({ method: 'DELETE', path: at(name) }),
    objects: name => listing(transport, `${at(name)}/objects`),
    object: (name, uid) => transport.json({ method: 'GET', path: object(name, uid) }),
    putObject: (name, uid, body) =>
      transport.json({ method: 'PUT', path: object(name, uid), body }),
    deleteObject: (name, uid) => transport.json({ method: 'DELETE', path: object(name, uid) }),
  }
}
