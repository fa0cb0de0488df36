/** Wiring of calendars: routes, the live table of their objects, and the poller of feeds. */
import type { HttpApp } from '#kernel/host/http-app.ts'
import { openLiveTables } from '#kernel/host/live-tables.ts'
import type { Platform } from '#kernel/host/platform.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { createRegistryClient } from '#kernel/host/registry-client.ts'
import type { Running } from '#kernel/host/run-process.ts'
import { calendarRoutes } from './calendars/calendar-routes.ts'
import { createCalendarStore, OBJECTS_TOPIC } from './calendars/calendar-store.ts'
import { startFeedPoller } from './calendars/feed-poller.ts'
import { withRawBodies } from './raw-bodies.ts'

/** Adds the routes of calendars and starts polling feeds. */
export async function startCalendars(app: HttpApp, platform: Platform): Promise<Running[]> {
  const { log, codec, clock, ids } = platform
  const writer = createRecordWriter(codec, 'ingest')
  const objects = await openLiveTables({ log, codec, clock, topics: [OBJECTS_TOPIC] })
  const store = createCalendarStore({ log, writer, tables: objects, clock, ids })
  const registry = await createRegistryClient({ log, codec, writer, clock, ids })
  const world = { ...platform, writer, store, registry }
  await withRawBodies(app, raw => calendarRoutes(raw, world))
  const poller = await startFeedPoller(world)
  return [objects, registry, poller]
}
