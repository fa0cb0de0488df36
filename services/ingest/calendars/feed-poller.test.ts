import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import {
  createMemoryEventLog,
  type MemoryEventLog,
} from '#kernel/adapters/memory/memory-event-log.ts'
import type { Calendar, FeedState } from '#kernel/domain/calendar/calendar.ts'
import { splitTenantKey } from '#kernel/domain/ids.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { openLiveTables } from '#kernel/host/live-tables.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { type SendAnswer, SendFailure, type SendRequest } from '#kernel/ports/http-sender.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { meetingIn } from '#test/support/meeting-sample.ts'
import { scheduled } from '#test/support/schedule-sample.ts'
import { followAnchorNeeds } from './anchor-needs.ts'
import { type CalendarStore, createCalendarStore, OBJECTS_TOPIC } from './calendar-store.ts'
import { clearCalendars, startFeedPoller } from './feed-poller.ts'
import { isFetchDue, nextFetchAt } from './feed-schedule.ts'
import { importObjects, PAST_KEPT_MS } from './import-objects.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const NOON = Date.UTC(2026, 5, 1, 12)
const place = { tenant: 'acme', calendar: 'team' }
const codec = createRecordCodec()
const writer = createRecordWriter(codec, 'test')

let clock: ManualClock
let memory: MemoryEventLog
let log: ReturnType<MemoryEventLog['open']>
let running: { stop(): Promise<void> }[]
let asked: SendRequest[]
/** What the server says next. */
let answer: () => SendAnswer

const ics = (...uids: string[]) => {
  const events = uids.map(uid => `BEGIN:VEVENT|UID:${uid}|DTSTART:20260715T090000Z|END:VEVENT`)
  return ['BEGIN:VCALENDAR', ...events, 'END:VCALENDAR|'].join('|').replaceAll('|', '\r\n')
}
const ok = (text: string, etag?: string): SendAnswer => ({
  ...{ status: 200, headers: etag ? { etag, 'last-modified': 'today' } : {} },
  body: new TextEncoder().encode(text),
})

beforeEach(() => {
  clock = createManualClock(NOON)
  memory = createMemoryEventLog({ clock, partitions: () => 2 })
  log = memory.open('test')
  running = []
  asked = []
  answer = () => ok(ics('a'))
})
afterEach(async () => {
  for (const each of running.reverse()) {
    const stopping = each.stop()
    await clock.advance(2000)
    await stopping
  }
})

async function replica(name: string) {
  const log = memory.open(name)
  const tables = await openLiveTables({
    log,
    codec,
    clock,
    topics: ['sources', 'policies', 'subscriptions'],
  })
  const objects = await openLiveTables({ log, codec, clock, topics: [OBJECTS_TOPIC] })
  let made = 0
  const ids = { random: () => `${name}-${made++}` }
  const store = createCalendarStore({ log, writer, tables: objects, clock, ids })
  running.push(tables, objects)
  const httpSender = {
    check: async () => {},
    send: async (request: SendRequest) => {
      asked.push(request)
      return answer()
    },
  }
  const secrets = {
    resolve: async (sealed: string) => sealed.replace('sealed:', ''),
    seal: (text: string) => `sealed:${text}`,
  }
  const directory = createDirectory(tables)
  const world = { log, writer, store, directory, secrets, httpSender, clock }
  return { ...world, tables, logger: silentLogger }
}

async function poller(name = 'one') {
  const world = await replica(name)
  running.push(await startFeedPoller(world))
  return world
}

async function putFeed(version = 1, deleted = false): Promise<void> {
  const doc: Calendar = {
    ...{ id: 'team', tenant: 'acme', version, kind: 'feed', owner: 'user:ana', zone: null },
    ...{ url: 'sealed:https://feeds.example.com/a.ics', origin: 'https://feeds.example.com' },
    everyMs: 10 * MINUTE,
  }
  const key = objectKey('acme', 'calendar', 'team')
  const value = { tenant: 'acme', kind: 'calendar', id: 'team', version, deleted, doc }
  const output = { topic: 'sources' as const, key, id: key, tenant: 'acme' }
  await log.append([writer.encode({ ...output, value: { ...value, updatedAt: clock.now() } })])
}

const uids = (store: CalendarStore) => [...store.objects(place).keys()].sort()

const on = (uid: string, date: string) => meetingIn('team', uid, `${date}T09:00:00`)

/** UIDs of which nothing is left. */
const forgotten = () =>
  memory
    .records(OBJECTS_TOPIC)
    .flatMap(({ key, value }) =>
      value ? [] : [splitTenantKey(Buffer.from(key ?? []).toString()).at(-1)],
    )

/** A subscription anchored in the calendar. */
async function anchorTo(anchor: { uid?: string; query?: object; offsetMs: number }): Promise<void> {
  const schedule = { anchor: { calendar: 'team', edge: 'end', ...anchor } }
  const doc = scheduled({ since: NOON, schedule })
  const key = objectKey('acme', 'subscription', doc.id)
  const value = {
    tenant: 'acme',
    kind: 'subscription',
    id: doc.id,
    version: 1,
    deleted: false,
    doc,
  }
  const output = { topic: 'subscriptions' as const, key, id: key, tenant: 'acme' }
  await log.append([writer.encode({ ...output, value: { ...value, updatedAt: NOON } })])
}

const notices = () =>
  memory.records('notices').flatMap(({ value }) => (value ? [codec.decode('notice', value)] : []))

describe('the poller of feeds', () => {
  it('asks at once, then every interval, with what it knows of the last answer', async () => {
    const { store } = await poller()
    answer = () => ok(ics('a', 'b'), '"one"')
    await putFeed()
    await clock.until(() => uids(store).length === 2)
    assert.equal(asked[0]?.headers['if-none-match'], undefined)
    answer = () => ({ status: 304, headers: {}, body: new Uint8Array() })
    await clock.advance(12 * MINUTE)
    assert.equal(asked.length, 2)
    assert.equal(asked[1]?.headers['if-none-match'], '"one"')
    assert.equal(asked[1]?.headers['if-modified-since'], 'today')
    assert.deepEqual(uids(store), ['a', 'b'])
    assert.equal(store.feed(place)?.failures, 0)
  })
  it('what left the feed leaves the calendar; a failure leaves it as it was', async () => {
    const { store } = await poller()
    answer = () => ok(ics('a', 'b'))
    await putFeed()
    await clock.until(() => uids(store).length === 2)
    answer = () => ok(ics('b'))
    await clock.advance(12 * MINUTE)
    assert.deepEqual(uids(store), ['b'])
    for (const next of [
      () => ok('<html>'),
      () => ok(ics('x').slice(0, -8)),
      () => ({ status: 500, headers: {} }),
      () => {
        throw new SendFailure('timeout')
      },
    ]) {
      answer = next
      await clock.advance(40 * MINUTE)
      assert.deepEqual(uids(store), ['b'])
      assert.ok((store.feed(place)?.failures ?? 0) > 0)
    }
  })
  it('a failing feed is asked less and less, its owner is told once', async () => {
    const { store } = await poller()
    answer = () => ({ status: 503, headers: {} })
    await putFeed()
    await clock.advance(60 * MINUTE)
    const { failures = 0, lastError } = store.feed(place) ?? {}
    assert.equal(lastError, 'server-error')
    assert.ok(failures >= 5 && failures <= 7, String(failures))
    const [told, ...more] = notices()
    assert.equal(told?.kind, 'calendar-feed-failing')
    assert.equal(more.length, 0)
    answer = () => ok(ics('a'))
    await clock.advance(90 * MINUTE)
    assert.deepEqual([store.feed(place)?.failures, store.feed(place)?.lastError], [0, null])
    assert.deepEqual(uids(store), ['a'])
  })
  it('a changed calendar is asked at once, a deleted one no more', async () => {
    await poller()
    await putFeed()
    await clock.until(() => asked.length === 1)
    await putFeed(2)
    await clock.until(() => asked.length === 2)
    await putFeed(3, true)
    await clock.advance(30 * MINUTE)
    assert.equal(asked.length, 2)
  })
  it('of two replicas one asks', async () => {
    await poller('one')
    await poller('two')
    await putFeed()
    await clock.advance(35 * MINUTE)
    assert.equal(asked.length, 4)
  })
})

describe('the calendar store', () => {
  it('writers on two replicas both write, one after the other', async () => {
    const [one, two] = [await replica('one'), await replica('two')]
    const write = (store: CalendarStore, uid: string) =>
      importObjects(store, place, {
        objects: [
          {
            ...{ calendar: 'team', uid, rrules: [], exrules: [], rdates: [], exdates: [] },
            ...{ main: null, exceptions: [] },
          },
        ],
        skipped: [],
      })
    await write(one.store, 'x')
    await two.store.barrier()
    const doc = one.store.object(place, 'x')
    assert.ok(doc)
    const edit = (store: CalendarStore, rrule: string) =>
      store.write(place, [{ kind: 'calendar-object', uid: 'x', doc: { ...doc, rrules: [rrule] } }])
    await Promise.all([edit(one.store, 'A'), edit(two.store, 'B')])
    await Promise.all([one.store.barrier(), two.store.barrier()])
    assert.deepEqual(one.store.object(place, 'x'), two.store.object(place, 'x'))
  })
  it('what was over long ago is cleared, and deletions are forgotten in the end', async () => {
    const { store, tables } = await replica('one')
    const clear = (isOwn = true) =>
      clearCalendars({ store, clock, needs: followAnchorNeeds(tables) }, () => isOwn)
    const objects = [on('past', '2020-01-01'), on('coming', '2030-01-01')]
    await importObjects(store, place, { objects, skipped: [] })
    await clear()
    assert.deepEqual(uids(store), ['coming', 'past'], 'just told, so kept for a while')
    await clock.advance(PAST_KEPT_MS + MINUTE)
    await clear(false)
    assert.equal(uids(store).length, 2, 'not ours')
    await clear()
    assert.deepEqual(uids(store), ['coming'])
    await clock.advance(PAST_KEPT_MS)
    await clear()
    assert.deepEqual(forgotten(), ['past'])
  })
  it('what somebody wants to be told of later is kept until then', async () => {
    const { store, tables } = await replica('one')
    const needs = followAnchorNeeds(tables)
    await anchorTo({ query: { category: 'review' }, offsetMs: 40 * DAY })
    const tomorrow = new Date(clock.now() + DAY).toISOString().slice(0, 10)
    await importObjects(store, place, { objects: [on('a', tomorrow)], skipped: [] })
    await clock.advance(PAST_KEPT_MS + 2 * DAY)
    await clearCalendars({ store, clock, needs }, () => true)
    assert.deepEqual(uids(store), ['a'])
    await clock.advance(40 * DAY)
    await clearCalendars({ store, clock, needs }, () => true)
    assert.deepEqual(uids(store), [])
  })
  it('a deletion is remembered as long as a subscription names it', async () => {
    const { store, tables } = await replica('one')
    const needs = followAnchorNeeds(tables)
    await anchorTo({ uid: 'past', offsetMs: 0 })
    const objects = [on('past', '2020-01-01'), on('other', '2020-01-01')]
    await importObjects(store, place, { objects, skipped: [] })
    for (const _ of [1, 2, 3]) {
      await clock.advance(PAST_KEPT_MS + MINUTE)
      await clearCalendars({ store, clock, needs }, () => true)
    }
    assert.deepEqual(forgotten(), ['other'])
  })
})

describe('when a feed is fetched next', () => {
  const feed = { key: 'k', version: 1, everyMs: 10 * MINUTE }
  const state = (more: Partial<FeedState>): FeedState => ({
    ...{ calendarVersion: 1, etag: null, lastModified: null, lastFetchAt: NOON, lastOkAt: NOON },
    ...{ lastError: null, failures: 0, objects: 0, skipped: 0, ...more },
  })
  it('after the interval and up to a tenth more; after failures later and later', () => {
    const wait = (failures: number) => (nextFetchAt(feed, state({ failures })) - NOON) / MINUTE
    assert.ok(wait(0) >= 10 && wait(0) <= 11)
    assert.ok(wait(1) >= 0.8 && wait(1) <= 1.2)
    assert.ok(wait(4) >= 6.4 && wait(4) <= 9.6)
    assert.ok(wait(100) >= 288 && wait(100) <= 432)
  })
  it('at once when it is new, another version, or the clock was set back', () => {
    assert.ok(isFetchDue(feed, undefined, NOON))
    assert.ok(isFetchDue(feed, state({ calendarVersion: 2 }), NOON))
    assert.ok(isFetchDue(feed, state({}), NOON - MINUTE))
    assert.ok(!isFetchDue(feed, state({}), NOON + MINUTE))
  })
})
