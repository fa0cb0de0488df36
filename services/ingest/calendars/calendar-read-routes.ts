/** Calendars and their objects, to look at. */
import { z } from 'zod'
import type { Calendar } from '#kernel/domain/calendar/calendar.ts'
import type { CalendarObject } from '#kernel/domain/calendar/calendar-object.ts'
import { expandObject, type Instance } from '#kernel/domain/calendar/expand-object.ts'
import { objectView } from '#kernel/domain/calendar/object-input.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { RawApp } from '../raw-bodies.ts'
import { type CalendarRoutesWorld, callerOf } from './calendar-caller.ts'
import type { CalendarPlace } from './calendar-store.ts'
import { nextFetchAt } from './feed-schedule.ts'

const instant = z.iso.datetime({ offset: true }).transform(text => Date.parse(text))
const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(1024).optional(),
})
/** With a window the objects' instances are listed, else the objects. */
const objectsQuery = pageQuery.extend({ from: instant.optional(), to: instant.optional() })

/** Longest window of instances, ms. */
const WINDOW_MAX_MS = 400 * 86_400_000

/** Registers the routes. */
export function calendarReadRoutes(app: RawApp, world: CalendarRoutesWorld): void {
  app.get('/v1/calendars', async request => {
    const { place } = await callerOf(world, request, 'read')
    const query = parseWith(pageQuery, request.query, 'bad-request')
    const names = calendarNames(world, place.tenant)
    return pageOf(names, query, calendar => calendarView(world, { ...place, calendar }))
  })
  app.get('/v1/calendars/:name', async request => {
    const { place } = await callerOf(world, request, 'read')
    return calendarView(world, place)
  })
  app.get('/v1/calendars/:name/objects', async request => {
    const { place } = await callerOf(world, request, 'read')
    const query = parseWith(objectsQuery, request.query, 'bad-request')
    knownCalendar(world, place)
    const objects = world.store.objects(place)
    const { from, to } = query
    if (from !== undefined || to !== undefined) return instancesIn(objects, { from, to, ...query })
    const shown = (uid: string) => objectView(objects.get(uid) as CalendarObject)
    return pageOf([...objects.keys()].sort(), query, shown)
  })
  app.get('/v1/calendars/:name/objects/:uid', async request => {
    const { place } = await callerOf(world, request, 'read')
    const object = world.store.object(place, request.params.uid ?? '')
    if (!object) throw new AmbitError('not-found', 'The calendar has no object of this UID.')
    return objectView(object)
  })
}

function calendarNames({ tables, directory }: CalendarRoutesWorld, tenant: string): string[] {
  const prefix = objectKey(tenant, 'calendar', '')
  return [...tables.keys('sources')]
    .filter(key => key.startsWith(prefix))
    .map(key => decodeURIComponent(key.slice(prefix.length)))
    .filter(name => directory.calendar(tenant, name))
    .sort()
}

function knownCalendar({ directory }: CalendarRoutesWorld, place: CalendarPlace): Calendar {
  const calendar = directory.calendar(place.tenant, place.calendar)
  if (!calendar) throw new AmbitError('not-found', 'There is no calendar of this name.')
  return calendar
}

const isoOf = (ms: number | null | undefined) =>
  ms === null || ms === undefined ? null : new Date(ms).toISOString()

/** Of a feed's address only its origin is shown: the rest may be a secret. */
function calendarView(world: CalendarRoutesWorld, place: CalendarPlace) {
  const calendar = knownCalendar(world, place)
  const { kind, owner, zone, origin, everyMs, version } = calendar
  const objects = world.store.objects(place).size
  const shown = { name: place.calendar, kind, owner, zone, version, objects }
  if (kind !== 'feed' || everyMs === null) return shown
  const state = world.store.feed(place)
  const key = objectKey(place.tenant, 'calendar', place.calendar)
  return {
    ...shown,
    ...{ origin, everyMs },
    feed: {
      lastFetchAt: isoOf(state?.lastFetchAt),
      lastOkAt: isoOf(state?.lastOkAt),
      lastError: state?.lastError ?? null,
      failures: state?.failures ?? 0,
      skipped: state?.skipped ?? 0,
      nextFetchAt: isoOf(Math.round(nextFetchAt({ key, version, everyMs }, state))),
    },
  }
}

interface Window {
  from: number | undefined
  to: number | undefined
  limit: number
}

function instancesIn(objects: ReadonlyMap<string, CalendarObject>, { from, to, limit }: Window) {
  if (from === undefined || to === undefined || to <= from || to - from > WINDOW_MAX_MS) {
    throw new AmbitError('bad-request', 'Expected from and to, at most 400 days apart.', {
      ...{ expected: 'from and to, at most 400 days apart', actual: 'another window' },
    })
  }
  const found = [...objects.values()].flatMap(object => expandObject(object, from, to, limit))
  found.sort((a, b) => a.startMs - b.startMs || (a.uid < b.uid ? -1 : 1))
  return { items: found.slice(0, limit).map(instanceView), next: null }
}

function instanceView({ uid, recurrenceId, startMs, endMs, meeting }: Instance) {
  const { status, summary, allDay, start } = meeting
  const at = { start: isoOf(startMs), end: isoOf(endMs) }
  return { uid, recurrenceId, ...at, tzid: start.zone, allDay, status, summary }
}

/** A page of names in order; the cursor is the last one seen. */
function pageOf<V>(
  names: string[],
  { limit, cursor }: { limit: number; cursor?: string },
  view: (name: string) => V,
): { items: V[]; next: string | null } {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString()
  const rest = names.filter(name => name > after)
  const page = rest.slice(0, limit)
  const isMore = rest.length > page.length
  return {
    items: page.map(view),
    next: isMore ? Buffer.from(page.at(-1) ?? '').toString('base64url') : null,
  }
}
