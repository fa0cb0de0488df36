import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { Registry } from 'prom-client'
import { systemIds } from '#kernel/adapters/system/system-clock.ts'
import { createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { calendarObjectKey } from '#kernel/domain/calendar/calendar-object.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { createHttpApp, type HttpApp } from '#kernel/host/http-app.ts'
import { type LiveTables, openLiveTables } from '#kernel/host/live-tables.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import {
  codec,
  type HappenedWorld,
  logRecord,
  openHappenedWorld,
  subscriptionRecord,
  TENANT,
} from '#test/support/happened-world.ts'
import { createManualClock } from '#test/support/manual-clock.ts'
import { meetingIn } from '#test/support/meeting-sample.ts'
import { type ScheduleRow, scheduleRoutes } from './schedule-routes.ts'

const NINE = Date.parse('2026-03-02T09:00:00Z')
const HOUR = 3_600_000
const book = createCalendarBook()

let world: HappenedWorld
let tables: LiveTables
let app: HttpApp

beforeEach(async () => {
  world = await openHappenedWorld()
  const clock = createManualClock(NINE)
  const { log, model } = world
  tables = await openLiveTables({ log, codec, clock, topics: ['subscriptions', 'policies'] })
  app = await createHttpApp({
    ...{ logger: silentLogger, ids: systemIds, metrics: new Registry(), ratePerSecond: 0 },
    notReady: () => [],
  })
  scheduleRoutes(app, {
    ...{ model, tables, clock, directory: createDirectory(tables), calendars: { book } },
    authenticate: async () => ({ tenant: TENANT, kind: 'person', id: 'ana', roles: ['admin'] }),
  })
})
afterEach(async () => {
  await app.close()
  await tables.stop()
  await world.stop()
})

function meet(uid: string, local: string): void {
  const doc = meetingIn('work', uid, local)
  const id = calendarObjectKey(TENANT, 'work', uid)
  const document = { tenant: TENANT, kind: 'calendar-object', id, version: 1, deleted: false, doc }
  book.apply({ ...document, updatedAt: 0 }, 0)
}

async function reviews(): Promise<void> {
  const query = { category: 'review' }
  const anchor = { calendar: 'work', query, edge: 'start' as const, offsetMs: 0 }
  const schedule = { anchor, missed: 'latest' as const }
  await world.append(subscriptionRecord('s1', { on: null, schedule }))
  await tables.barrier()
}

/** Every row, page after page. */
async function paged(limit: number): Promise<ScheduleRow[]> {
  const rows: ScheduleRow[] = []
  let cursor = ''
  do {
    const query = `from=2026-03-02T00:00:00Z&limit=${limit}${cursor && `&cursor=${cursor}`}`
    const { items, next } = (await app.inject(`/v1/schedule?${query}`)).json()
    assert.ok(items.length > 0 && items.length <= limit)
    rows.push(...items)
    cursor = next ?? ''
  } while (cursor !== '')
  return rows
}

it('pages lose none of the meetings of one instant, whatever their names', async () => {
  const long = 'ü'.repeat(512)
  for (const uid of ['a', 'b', 'c', long]) meet(uid, '2026-03-02T12:00:00')
  meet('later', '2026-03-02T13:00:00')
  await reviews()
  for (const limit of [1, 2, 3, 200]) {
    const rows = await paged(limit)
    const found = rows.map(({ meeting }) => meeting?.uid)
    assert.deepEqual(found.toSorted(), ['a', 'b', 'c', 'later', long], `pages of ${limit}`)
    assert.equal(found.at(-1), 'later')
  }
})

it('pages lose none of the gaps that end at one instant', async () => {
  const at = (ms: number) => new Date(NINE + ms).toISOString()
  const gap = (hours: number) => {
    const range = { from: at(-hours * HOUR), to: at(-HOUR), count: hours }
    const data = { subscription: 's1', ...range, reason: 'too-late' }
    const attributes = { specversion: '1.0', source: '/schedules/s1', type: 'time.missed' } as const
    const event = { ...attributes, id: `gap-${hours}`, time: range.to, data }
    return logRecord('ingress.time', `${TENANT}/subscription/s1`, toEventRecord(event))
  }
  await world.append(subscriptionRecord('s1'), gap(3), gap(2), gap(5))
  const counts = (await paged(1)).map(({ count }) => count)
  assert.deepEqual(counts.toSorted(), [2, 3, 5])
})
