/**
 * The short way for the rules that most people write: every so many days, weeks, hours, minutes or
 * seconds from DTSTART, and nothing else. Arithmetic on the local clock, where no change of offset
 * is near; everywhere else the general search answers. Both give the same instants and names.
 */
import { DAY_SECONDS } from '../recurrence/civil-days.ts'
import { formatLocal } from '../recurrence/local-time.ts'
import type { Occurrence, ReadRule } from '../recurrence/next-occurrences.ts'
import type { Rrule } from '../recurrence/parse-rrule.ts'
import { localSecondsAt } from '../recurrence/zone-clock.ts'

/** Results longer than this are left to the general search. */
const LIMIT_MAX = 10_000
/** Local seconds of the last second of year 9998: the end of time is left to the general search. */
const FAR_SECONDS = 253_370_764_799

const PERIOD_SECONDS: Partial<Record<Rrule['frequency'], number>> = {
  WEEKLY: 7 * DAY_SECONDS,
  DAILY: DAY_SECONDS,
  HOURLY: 3600,
  MINUTELY: 60,
  SECONDLY: 1,
}

/** The next instants after `afterMs`, or undefined where the short way does not lead. */
export function quickInstants(
  read: ReadRule,
  afterMs: number,
  limit: number,
): Occurrence[] | undefined {
  const { clock, dtstart, rrule, rdates, exdates } = read
  if (!rrule && rdates.length === 0 && exdates.length === 0) return single(read, afterMs)
  const period = periodOf(read)
  if (period === undefined || limit > LIMIT_MAX) return undefined
  const offset = clock.offsetAt(afterMs)
  if (clock.offsetAt(afterMs - DAY_SECONDS * 1000) !== offset) return undefined
  const passed = Math.floor((localSecondsAt(clock, afterMs) - dtstart) / period)
  const first = dtstart + Math.max(0, passed) * period
  const untilMs = untilOf(read)
  if (untilMs === undefined) return undefined
  const found: Occurrence[] = []
  for (let local = first; found.length < limit; local += period) {
    if (local > FAR_SECONDS) return undefined
    const { atMs, shiftSeconds } = clock.place(local)
    if (shiftSeconds !== 0 || clock.offsetAt(atMs) !== offset) return undefined
    if (atMs > untilMs) return found
    if (atMs > afterMs) found.push({ atMs, nominal: `${formatLocal(local)}[${clock.id}]` })
  }
  return found
}

/** DTSTART alone. */
function single({ clock, dtstart }: ReadRule, afterMs: number): Occurrence[] | undefined {
  const { atMs, shiftSeconds } = clock.place(dtstart)
  if (shiftSeconds !== 0) return undefined
  return atMs > afterMs ? [{ atMs, nominal: `${formatLocal(dtstart)}[${clock.id}]` }] : []
}

/** Seconds between two local times, or undefined where more than an interval decides. */
function periodOf({ rrule, dtstart, rdates, exdates }: ReadRule): number | undefined {
  if (!rrule || rdates.length > 0 || exdates.length > 0) return undefined
  if (!isPlain(rrule) || !isOwnWeekday(rrule, dtstart)) return undefined
  const unit = PERIOD_SECONDS[rrule.frequency]
  return unit === undefined ? undefined : unit * rrule.interval
}

/** Nothing but FREQ, INTERVAL, UNTIL and BYDAY. */
function isPlain(rrule: Rrule): boolean {
  const { months, weekNumbers, yearDays, monthDays, hours, minutes, seconds, positions } = rrule
  const lists = [months, weekNumbers, yearDays, monthDays, hours, minutes, seconds, positions]
  return rrule.count === null && lists.every(list => list.length === 0)
}

/** No BYDAY, or in a week the one day that DTSTART is; 1970-01-01 was a Thursday. */
function isOwnWeekday({ frequency, weekdays }: Rrule, dtstart: number): boolean {
  const [only] = weekdays
  if (!only) return true
  const weekday = (((Math.floor(dtstart / DAY_SECONDS) + 3) % 7) + 7) % 7
  const isOne = weekdays.length === 1 && only.ordinal === 0 && only.weekday === weekday
  return frequency === 'WEEKLY' && isOne
}

function untilOf({ rrule, clock }: ReadRule): number | undefined {
  const until = rrule?.until
  if (!until) return Number.POSITIVE_INFINITY
  return until.utc ? until.seconds * 1000 : clock.place(until.seconds).atMs
}
