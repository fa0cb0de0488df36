import { inMonths, type SearchBounds, selectPositions } from './calendar-times.ts'
import { CYCLE_DAYS, DAY_SECONDS, END_DAY, gcd, modulo } from './civil-days.ts'
import { dayFilter } from './day-filter.ts'
import type { Rrule } from './parse-rrule.ts'

/** Periods of an hour, a minute or a second, every `step` seconds of the local clock. */
interface Grid {
  /** The period of DTSTART, in local seconds. */
  origin: number
  step: number
  /** Where the occurrences lie within a period, in seconds from its beginning, ascending. */
  offsets: number[]
  /** The earliest time of day, at or after the given one, that the hour, minute and second fit. */
  openFrom(timeOfDay: number): number
  /** Whether every time of day fits. */
  alwaysOpen: boolean
}

/**
 * The local times of a completed HOURLY, MINUTELY or SECONDLY rule at or after both bounds,
 * ascending. COUNT and UNTIL are not looked at.
 *
 * The days go by one at a time, and a day's periods are visited only when its date fits and its
 * phase can meet an open time. The search ends at year 10000, and earlier after 400 years without a
 * date that fits, or after a cycle without a match in which date and phase have met in every way
 * that they ever will.
 */
export function* clockTimes(rule: Rrule, bounds: SearchBounds): Generator<number> {
  const grid = gridOf(rule, bounds.dtstart)
  if (grid.offsets.length === 0 || !everOpen(grid)) return
  const start = Math.max(bounds.dtstart, bounds.from)
  const accepts = dayFilter(rule)
  const hasOpenPeriod = phaseMemo(grid)
  const cycle = cycleDays(grid.step)
  let period = grid.origin + Math.floor((start - grid.origin) / grid.step) * grid.step
  let dated = Math.floor(period / DAY_SECONDS) + 1
  let matched = dated
  for (;;) {
    const day = Math.floor(period / DAY_SECONDS)
    if (day >= END_DAY || day - dated > CYCLE_DAYS || day - matched > cycle) return
    if (accepts(day)) {
      dated = day
      if (hasOpenPeriod(day)) {
        for (const open of openPeriods(grid, period)) {
          matched = day
          for (const offset of grid.offsets) {
            if (open + offset >= start) yield open + offset
          }
        }
      }
    }
    period = alignUp(grid, inMonths(day + 1, rule.months) * DAY_SECONDS)
  }
}

function gridOf(rule: Rrule, dtstart: number): Grid {
  const unit = rule.frequency === 'HOURLY' ? 3600 : rule.frequency === 'MINUTELY' ? 60 : 1
  const hours = openUnits(rule.hours, 24)
  const minutes = unit < 3600 ? openUnits(rule.minutes, 60) : null
  const seconds = unit < 60 ? openUnits(rule.seconds, 60) : null
  return {
    origin: Math.floor(dtstart / unit) * unit,
    step: rule.interval * unit,
    offsets: offsetsIn(rule, unit),
    openFrom: timeOfDay => openFrom(timeOfDay, { hours, minutes, seconds }),
    alwaysOpen: hours === null && minutes === null && seconds === null,
  }
}

/** The parts smaller than the frequency expand a period; BYSETPOS then chooses among them. */
function offsetsIn(rule: Rrule, unit: number): number[] {
  const minutes = unit === 3600 ? rule.minutes : [0]
  const seconds = unit >= 60 ? rule.seconds : [0]
  const all = minutes.flatMap(minute => seconds.map(second => minute * 60 + second))
  if (rule.positions.length === 0) return all
  return selectPositions(all.length, rule.positions).map(index => all[index] ?? 0)
}

/**
 * For each unit the first open one at or after it (`size` when there is none); `null`: all open.
 */
function openUnits(open: readonly number[], size: number): number[] | null {
  if (open.length === 0) return null
  return Array.from({ length: size }, (_, unit) => open.find(each => each >= unit) ?? size)
}

type OpenUnits = Record<'hours' | 'minutes' | 'seconds', number[] | null>

function openFrom(timeOfDay: number, { hours, minutes, seconds }: OpenUnits): number {
  let time = timeOfDay
  // Each jump moves at least one unit on; a day has at most 24 closed hours of 60 closed minutes.
  while (time < DAY_SECONDS) {
    const hour = Math.floor(time / 3600)
    const openHour = hours?.[hour] ?? hour
    if (openHour !== hour) {
      time = openHour * 3600
      continue
    }
    const minute = Math.floor(time / 60) % 60
    const openMinute = minutes?.[minute] ?? minute
    if (openMinute !== minute) {
      time = hour * 3600 + openMinute * 60
      continue
    }
    const second = time % 60
    const openSecond = seconds?.[second] ?? second
    if (openSecond === second) return time
    time = hour * 3600 + minute * 60 + openSecond
  }
  return DAY_SECONDS
}

/** The open periods of the day of `period`, from that one on. */
function* openPeriods(grid: Grid, period: number): Generator<number> {
  const dayStart = Math.floor(period / DAY_SECONDS) * DAY_SECONDS
  let next = period
  while (next < dayStart + DAY_SECONDS) {
    const open = dayStart + grid.openFrom(next - dayStart)
    if (open === next) yield next
    next = open === next ? next + grid.step : alignUp(grid, open)
  }
}

/** The first period at or after a local time. */
function alignUp(grid: Grid, local: number): number {
  return local + modulo(grid.origin - local, grid.step)
}

/**
 * Whether a day has an open period at all. It depends on the day only through its phase, so the
 * answer is kept for each phase; there are at most as many as there are seconds in a day.
 */
function phaseMemo(grid: Grid): (day: number) => boolean {
  if (grid.alwaysOpen || grid.step > DAY_SECONDS) return () => true
  const answers = new Map<number, boolean>()
  return day => {
    const first = alignUp(grid, day * DAY_SECONDS)
    const phase = first - day * DAY_SECONDS
    let answer = answers.get(phase)
    if (answer === undefined) {
      answer = openPeriods(grid, first).next().done !== true
      answers.set(phase, answer)
    }
    return answer
  }
}

/** Over the days a grid meets all times of day that differ from its own by multiples of this. */
function everOpen(grid: Grid): boolean {
  if (grid.alwaysOpen) return true
  const allPhases = { ...grid, step: gcd(grid.step, DAY_SECONDS) }
  return openPeriods(allPhases, alignUp(allPhases, 0)).next().done !== true
}

/** Days after which date and phase repeat together. */
function cycleDays(step: number): number {
  const phases = step / gcd(step, DAY_SECONDS)
  return (phases / gcd(phases, CYCLE_DAYS)) * CYCLE_DAYS
}
