/** What people ask for in a seed: schedules in zones whose clocks change, and their edits. */
import type { Random } from '../random.ts'

const ZONES = ['Europe/Madrid', 'America/New_York', 'Australia/Lord_Howe', 'UTC', 'Asia/Kolkata']
const RULES = [
  'FREQ=DAILY',
  'FREQ=DAILY;INTERVAL=2',
  'FREQ=WEEKLY;BYDAY=MO,TH',
  'FREQ=HOURLY;INTERVAL=6',
  'FREQ=HOURLY',
  'FREQ=DAILY;BYHOUR=2,14;BYMINUTE=30',
]

const two = (value: number) => String(value).padStart(2, '0')

/** A schedule whose first instant is about `nowMs`; often at night, when clocks change. */
export function anySchedule(random: Random, nowMs: number): object {
  const day = new Date(nowMs + random.between(1, 20) * 86_400_000)
  // A Monday, so that every rule makes its own DTSTART or leaves it out.
  const monday = new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * 86_400_000)
  const tzid = random.pick(ZONES)
  const time = `${two(random.pick([0, 1, 2, 2, 3, 9, 17]))}:30:00`
  if (random.chance(0.2)) return { once: `${day.toISOString().slice(0, 10)}T${time}`, tzid }
  const before = new Date(monday.getTime() - 8 * 7 * 86_400_000).toISOString().slice(0, 10)
  return {
    dtstart: `${before}T${time}`,
    tzid,
    rrule: random.pick(RULES),
    missed: random.pick(['latest', 'latest', 'all', 'none']),
    jitterMs: random.chance(0.2) ? 600_000 : 0,
  }
}
