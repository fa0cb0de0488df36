/** What people ask for in a seed: schedules in zones whose clocks change, and their edits. */
import type { Random } from '../random.ts'
import { DAY_MS, MINUTE_MS } from './schedule-state.ts'

/** All change their clocks in these months, at other instants, or never do. */
export const ZONES = [
  'Europe/Madrid',
  'America/New_York',
  'Australia/Lord_Howe',
  'UTC',
  'Asia/Kolkata',
]
const RULES = [
  'FREQ=DAILY',
  'FREQ=DAILY;INTERVAL=2',
  'FREQ=WEEKLY;BYDAY=MO,TH',
  'FREQ=HOURLY;INTERVAL=6',
  'FREQ=HOURLY',
  'FREQ=DAILY;BYHOUR=2,14;BYMINUTE=30',
]

export const MISSED = ['latest', 'latest', 'all', 'none']

const two = (value: number) => String(value).padStart(2, '0')

/** A schedule whose first instant is about `nowMs`; often at night, when clocks change. */
export function anySchedule(random: Random, nowMs: number): object {
  const day = new Date(nowMs + random.between(1, 20) * DAY_MS)
  // A Monday, so that every rule makes its own DTSTART or leaves it out.
  const monday = new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * DAY_MS)
  const tzid = random.pick(ZONES)
  const time = `${two(random.pick([0, 1, 2, 2, 3, 9, 17]))}:30:00`
  if (random.chance(0.2)) return { once: `${day.toISOString().slice(0, 10)}T${time}`, tzid }
  const before = new Date(monday.getTime() - 8 * 7 * DAY_MS).toISOString().slice(0, 10)
  return {
    dtstart: `${before}T${time}`,
    tzid,
    rrule: random.pick(RULES),
    missed: random.pick(MISSED),
    jitterMs: random.chance(0.2) ? 600_000 : 0,
  }
}

const OFFSETS_MS = [-DAY_MS, -30 * MINUTE_MS, -10 * MINUTE_MS, 0, 0, 15 * MINUTE_MS, 7_200_000]
const QUERIES = [
  { category: 'review' },
  { attendee: 'ana@example.org' },
  { summaryPrefix: 'weekly' },
  { category: 'team', attendee: 'bo@example.org' },
]
/** Names of meetings in each calendar; those that nobody has put yet are refused. */
export const UIDS = ['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6']
/** One that people write to, one that is fetched. */
export const CALENDARS = ['team', 'feed'] as const

/** An anchor to one meeting, or to all that a query finds. */
export function anyAnchor(random: Random): object {
  const which = random.chance(0.5) ? { uid: random.pick(UIDS) } : { query: random.pick(QUERIES) }
  const edge = random.pick(['start', 'start', 'end'])
  const offsetMs = random.pick(OFFSETS_MS)
  const anchor = { calendar: random.pick(CALENDARS), ...which, edge, offsetMs }
  return { anchor, missed: random.pick(MISSED) }
}
