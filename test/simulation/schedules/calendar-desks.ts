/**
 * The replicas that write calendars, with the code that the routes and the poller of feeds use.
 * They crash between two appends, and their clocks are hours off (F15).
 */
import type { Calendar } from '#kernel/domain/calendar/calendar.ts'
import type { CalendarObject } from '#kernel/domain/calendar/calendar-object.ts'
import { type ParsedIcs, parseIcs } from '#kernel/domain/calendar/parse-ics.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { openLiveTables } from '#kernel/host/live-tables.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { type AnchorNeeds, followAnchorNeeds } from '#services/ingest/calendars/anchor-needs.ts'
import {
  type CalendarStore,
  createCalendarStore,
  OBJECTS_TOPIC,
} from '#services/ingest/calendars/calendar-store.ts'
import { clearCalendars } from '#services/ingest/calendars/feed-poller.ts'
import { importObjects, objectWrite } from '#services/ingest/calendars/import-objects.ts'
import { type FeedWorld, pollFeed } from '#services/ingest/calendars/poll-feed.ts'
import type { Random } from '../random.ts'
import { createLiveness } from '../sim-process.ts'
import { createNodeClock } from '../virtual-clock.ts'
import { type Draft, objectOf } from './meeting-drafts.ts'
import { lateLog } from './schedule-log.ts'
import { DAY_MS, happens, isFaulty, type ScheduleState, TENANT } from './schedule-state.ts'
import { icsOf } from './write-ics.ts'

/** What a desk is asked to do. */
export interface CalendarDesk {
  /** Puts one object of the calendar `team`, or takes it away. */
  put(draft: Draft): Promise<void>
  remove(uid: string): Promise<void>
  /** Makes `team` hold these and no others. */
  upload(drafts: Draft[]): Promise<void>
  /** Fetches the calendar `feed` from where these stand. */
  poll(drafts: Draft[]): Promise<void>
  /** Takes away what was over long ago. */
  clear(): Promise<void>
}

const team = { tenant: TENANT, calendar: 'team' }
const feed = { tenant: TENANT, calendar: 'feed' }
const FEED: Calendar = {
  ...{ id: 'feed', tenant: TENANT, version: 1, kind: 'feed', owner: 'user:ana', zone: 'UTC' },
  ...{ url: 'https://feeds.example.com/a.ics', origin: null, everyMs: 3_600_000 },
}
const SKEWS_MS = [0, 0, 5000, -5000, DAY_MS, -DAY_MS, 3_600_000]

/** Two desks, each with one life after the other; a desk that is down does nothing. */
export async function openDesks(state: ScheduleState): Promise<(random: Random) => CalendarDesk> {
  const desks = new Map<string, CalendarDesk>()
  const open = async (name: string, life: number): Promise<void> => {
    const random = state.random.fork(`${name}.${life}`)
    const { opening, die } = openDesk(state, `${name}.${life}`, random)
    const end = (downMs: number) => {
      desks.delete(name)
      die()
      state.clock.after(downMs, () => void open(name, life + 1))
    }
    const desk = await opening.catch(() => undefined)
    // A process that cannot start exits, and is started again.
    if (!desk) return end(1000)
    desks.set(name, desk)
    if (state.isFaultless) return
    state.clock.after(random.between(5, 200) * 3_600_000, () => {
      if (state.isCalm) return
      happens(state, 'F1', `${name}.${life} dies`)
      end(random.pick([100, 60_000]))
    })
  }
  await Promise.all([open('desk-one', 1), open('desk-two', 1)])
  return random => desks.get(random.pick(['desk-one', 'desk-two'])) ?? CLOSED
}

const nothing = async () => {}
const CLOSED: CalendarDesk = {
  put: nothing,
  remove: nothing,
  upload: nothing,
  poll: nothing,
  clear: nothing,
}

function openDesk(state: ScheduleState, name: string, random: Random) {
  const { codec, clock: world } = state
  const instance = state.log.open(name)
  const life = createLiveness(() => instance.crash())
  state.lives.set(name, life)
  const skewMs = state.isFaultless ? 0 : random.pick(SKEWS_MS)
  const { whenAwake } = life
  const clock = createNodeClock({ world, skewMs: () => skewMs, ring: act => act(), whenAwake })
  const log = lateLog(state, instance, { life, random: random.fork('late') })
  const writer = createRecordWriter(codec, 'ingest')
  const ids = { random: () => random.hex() }
  const opening = openLiveTables({
    log,
    codec,
    clock,
    topics: [OBJECTS_TOPIC, 'subscriptions'],
  }).then(tables => {
    const store = createCalendarStore({ log, writer, tables, clock, ids })
    const needs = followAnchorNeeds(tables)
    return deskOver(state, { log, writer, store, clock, needs }, random)
  })
  const die = () => {
    life.die()
    state.lives.delete(name)
  }
  return { opening, die }
}

type Ports = Pick<FeedWorld, 'log' | 'writer' | 'store' | 'clock'> & { needs: AnchorNeeds }

function deskOver(state: ScheduleState, ports: Ports, random: Random): CalendarDesk {
  const { store } = ports
  const ics = (drafts: Draft[]) => Buffer.from(icsOf(drafts, state.clock.now()))
  const isFailing = () => isFaulty(state) && random.chance(0.05)
  const feedWorld = (drafts: Draft[]): FeedWorld => ({
    ...ports,
    directory: { calendar: () => FEED } as never,
    secrets: { resolve: async reference => reference, seal: text => text },
    httpSender: {
      check: async () => {},
      send: async () => ({ status: isFailing() ? 500 : 200, headers: {}, body: ics(drafts) }),
    },
  })
  return {
    put: draft => answered(() => addObject(store, objectOf(draft, 'team'))),
    remove: uid => answered(() => removeObject(store, uid)),
    upload: drafts =>
      answered(() => {
        const parsed = parseIcs(ics(drafts), { calendar: 'team', zone: 'UTC' })
        return store.exclusively(team, () => importAll(store, parsed))
      }),
    poll: drafts => answered(() => pollFeed(feedWorld(drafts), feed)),
    clear: () => answered(() => clearCalendars(ports, () => true)),
  }
}

/** A refusal or a failing log is an answer too: the caller may come again, or never. */
async function answered(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isAmbitError(error)) throw error
  }
}

async function importAll(store: CalendarStore, parsed: ParsedIcs): Promise<void> {
  if (parsed.skipped.length > 0) throw new Error(`unreadable: ${JSON.stringify(parsed.skipped)}`)
  await importObjects(store, team, parsed)
}

/** As `PUT …/objects/{uid}` does it. */
function addObject(store: CalendarStore, object: CalendarObject): Promise<void> {
  return store.exclusively(team, async () => {
    await store.barrier()
    const all = store.objects(team).set(object.uid, object)
    await importAll(store, { objects: [...all.values()], skipped: [] })
  })
}

/** As `DELETE …/objects/{uid}` does it. */
function removeObject(store: CalendarStore, uid: string): Promise<void> {
  return store.exclusively(team, async () => {
    await store.barrier()
    if (store.object(team, uid)) await store.write(team, [objectWrite(uid, null)])
  })
}
