/** `/v1/calendars`: uploads, feeds, and single objects. */
import { feedSchema, zoneSchema } from '#kernel/domain/calendar/calendar.ts'
import { objectFrom, objectSchema } from '#kernel/domain/calendar/object-input.ts'
import { ICS_OBJECTS_MAX, type ParsedIcs, parseIcs } from '#kernel/domain/calendar/parse-ics.ts'
import { decodeUtf8, parseStrictJson } from '#kernel/domain/lossless-json.ts'
import { isJsonType, parseMediaType } from '#kernel/domain/media-type.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import { decodeBody } from '../decode-body.ts'
import type { RawApp, RawRequest } from '../raw-bodies.ts'
import { type CalendarRoutesWorld, type Caller, callerOf } from './calendar-caller.ts'
import { calendarReadRoutes } from './calendar-read-routes.ts'
import type { CalendarPlace } from './calendar-store.ts'
import { type ImportResult, importObjects, objectWrite } from './import-objects.ts'
import { zoneOf } from './poll-feed.ts'
import { changeCalendar, putCalendar } from './put-calendar.ts'
import { putFeed } from './put-feed.ts'

/** Registers the routes on an application whose bodies arrive as bytes. */
export function calendarRoutes(app: RawApp, world: CalendarRoutesWorld): void {
  calendarReadRoutes(app, world)
  app.put('/v1/calendars/:name', async request => {
    const caller = await callerOf(world, request, 'calendars:write')
    const body = await decodeBody(request.body, request.headers['content-encoding'])
    if (kindOf(request) === 'json') {
      const feed = parseWith(feedSchema, parseStrictJson(decodeUtf8(body)))
      return putFeed(world, caller, feed)
    }
    return upload(world, caller, { body, zone: queryZone(request) })
  })
  app.delete('/v1/calendars/:name', async request => {
    const caller = await callerOf(world, request, 'calendars:write')
    return removeCalendar(world, caller)
  })
  objectRoutes(app, world)
}

function objectRoutes(app: RawApp, world: CalendarRoutesWorld): void {
  app.put('/v1/calendars/:name/objects/:uid', async request => {
    const caller = await callerOf(world, request, 'calendars:write')
    const body = await decodeBody(request.body, request.headers['content-encoding'])
    const uid = uidOf(request)
    const isJson = kindOf(request) === 'json'
    return isJson ? putObject(world, caller, { uid, body }) : putIcs(world, caller, { uid, body })
  })
  app.delete('/v1/calendars/:name/objects/:uid', async request => {
    const { place } = await callerOf(world, request, 'calendars:write')
    const uid = uidOf(request)
    refuseFeed(world, place)
    return world.store.exclusively(place, async () => {
      await world.store.barrier()
      if (!world.store.object(place, uid)) {
        throw new AmbitError('not-found', 'The calendar has no object of this UID.')
      }
      await world.store.write(place, [objectWrite(uid, null)])
      return { objects: world.store.objects(place).size, changed: 0, removed: 1 }
    })
  })
}

function uidOf(request: RawRequest): string {
  const uid = request.params.uid ?? ''
  if (uid.length > 0 && uid.length <= 512) return uid
  throw new AmbitError('bad-request', 'A UID has 1 to 512 characters.')
}

function queryZone(request: RawRequest): string | undefined {
  const { zone } = request.query as { zone?: unknown }
  return zone === undefined ? undefined : parseWith(zoneSchema, zone, 'bad-request')
}

/** `text/calendar`, or JSON. */
function kindOf(request: RawRequest): 'ics' | 'json' {
  const type = parseMediaType(request.headers['content-type'] ?? '')
  if (type && isJsonType(type.essence)) return 'json'
  if (type?.essence === 'text/calendar') return 'ics'
  throw new AmbitError(
    'unsupported-media-type',
    'Expected content-type text/calendar or application/json, got another.',
    { expected: 'text/calendar or application/json', actual: 'another content-type' },
  )
}

async function upload(
  world: CalendarRoutesWorld,
  caller: Caller,
  { body, zone }: { body: Buffer; zone: string | undefined },
): Promise<ImportResult> {
  const { place } = caller
  const own = zone ?? zoneOf(world, place)
  const parsed = parseIcs(body, { calendar: place.calendar, zone: own })
  return world.store.exclusively(place, async () => {
    await ensureLocal(world, caller, zone)
    return importObjects(world.store, place, parsed)
  })
}

/** Makes the calendar one of uploads and the object API; writes nothing where it is one. */
async function ensureLocal(
  world: CalendarRoutesWorld,
  { by, place }: Caller,
  zone?: string,
): Promise<void> {
  const current = world.directory.calendar(place.tenant, place.calendar)
  const isSameZone = zone === undefined || current?.zone === zone
  if (current?.kind === 'local' && isSameZone) return
  await putCalendar(
    world,
    { by, place },
    {
      ...{ kind: 'local', owner: current?.owner ?? principalName(by) },
      ...{ zone: zone ?? current?.zone ?? null, url: null, origin: null, everyMs: null },
    },
  )
}

async function removeCalendar(world: CalendarRoutesWorld, caller: Caller): Promise<ImportResult> {
  const { by, place } = caller
  const { store } = world
  return store.exclusively(place, async () => {
    await changeCalendar(world, by, { id: place.calendar, action: 'delete' })
    const uids = [...store.objects(place).keys()]
    const feed = store.feed(place) ? [{ kind: 'calendar-feed' as const, doc: null }] : []
    await store.write(place, [...uids.map(uid => objectWrite(uid, null)), ...feed])
    return { objects: 0, changed: 0, removed: uids.length, skipped: [] }
  })
}

function refuseFeed(world: CalendarRoutesWorld, { tenant, calendar }: CalendarPlace): void {
  if (world.directory.calendar(tenant, calendar)?.kind !== 'feed') return
  throw new AmbitError(
    'conflict',
    'This calendar is a feed, which the next poll would restore; change it at its source.',
  )
}

async function putObject(
  world: CalendarRoutesWorld,
  caller: Caller,
  { uid, body }: { uid: string; body: Buffer },
) {
  const { place } = caller
  const input = parseWith(objectSchema, parseStrictJson(decodeUtf8(body)))
  if (input.uid !== undefined && input.uid !== uid) {
    throw new AmbitError('invalid', '/uid: expected the UID of the path, got another.', {
      ...{ pointer: '/uid', expected: 'the UID of the path', actual: 'another' },
    })
  }
  const zone = zoneOf(world, place)
  const object = objectFrom(input, { calendar: place.calendar, uid, zone })
  return addObjects(world, caller, { objects: [object], skipped: [] })
}

/** The object in iCalendar; the file must hold this UID and no other. */
async function putIcs(
  world: CalendarRoutesWorld,
  caller: Caller,
  { uid, body }: { uid: string; body: Buffer },
) {
  const { place } = caller
  const zone = zoneOf(world, place)
  const parsed = parseIcs(body, { calendar: place.calendar, zone })
  const [object] = parsed.objects
  if (parsed.objects.length !== 1 || object?.uid !== uid) {
    throw new AmbitError('invalid', 'Expected one object with the UID of the path, got others.')
  }
  return addObjects(world, caller, parsed)
}

/** Writes what differs and leaves all others as they are. */
async function addObjects(
  world: CalendarRoutesWorld,
  caller: Caller,
  parsed: ParsedIcs,
): Promise<ImportResult> {
  const { place } = caller
  const { store } = world
  refuseFeed(world, place)
  return store.exclusively(place, async () => {
    await ensureLocal(world, caller)
    await store.barrier()
    const all = store.objects(place)
    for (const object of parsed.objects) all.set(object.uid, object)
    if (all.size > ICS_OBJECTS_MAX) {
      const expected = `at most ${ICS_OBJECTS_MAX} objects`
      throw new AmbitError('out-of-bounds', `Expected ${expected} in a calendar, got more.`)
    }
    return importObjects(store, place, { objects: [...all.values()], skipped: parsed.skipped })
  })
}
