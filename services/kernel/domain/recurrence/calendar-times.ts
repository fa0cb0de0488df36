import { CYCLE_DAYS, civilOf, DAY_SECONDS, dayOf, END_DAY, gcd, weekStartOf } from './civil-days.ts'
import { type DayFilter, dayFilter } from './day-filter.ts'
import type { Rrule } from './parse-rrule.ts'

/** Where a search begins, in local seconds. */
export interface SearchBounds {
  dtstart: number
  from: number
}

/** The periods of one frequency, numbered; a period is its first day and the day after its last. */
interface Calendar {
  indexOf(day: number): number
  firstDayOf(index: number): number
  /** After so many periods the calendar looks the same again. */
  cycle: number
  /** Days of the longest period. */
  daysMax: number
}

/**
 * The local times of a completed YEARLY, MONTHLY, WEEKLY or DAILY rule at or after both bounds,
 * ascending. COUNT and UNTIL are not looked at.
 *
 * The search ends at year 10000, and earlier when the rule met nothing in a whole cycle of the
 * Gregorian calendar (400 years): it will never meet anything, since the same days come again.
 */
export function* calendarTimes(rule: Rrule, bounds: SearchBounds): Generator<number> {
  const calendar = calendarOf(rule)
  const accepts = dayFilter(rule)
  const clock = timesOfDay(rule)
  if (!mayHavePosition(rule, calendar.daysMax * clock.length)) return
  const start = Math.max(bounds.dtstart, bounds.from)
  const startDay = Math.floor(start / DAY_SECONDS)
  const emptyMax = calendar.cycle / gcd(calendar.cycle, rule.interval) + 1
  let empty = 0
  for (let index = firstPeriod(rule, calendar, bounds); empty <= emptyMax; index += rule.interval) {
    const first = calendar.firstDayOf(index)
    if (first >= END_DAY) return
    // Positions are counted in the whole period; without them the days gone by need no look.
    const from = rule.positions.length > 0 ? first : Math.max(first, startDay)
    const end = Math.min(calendar.firstDayOf(index + 1), END_DAY)
    const days = acceptedDays({ from, end, months: rule.months }, accepts)
    let matched = false
    for (const local of timesIn(days, clock, rule.positions)) {
      matched = true
      if (local >= start) yield local
    }
    empty = matched ? 0 : empty + 1
  }
}

/** The last period in phase that begins at or before the search, but not before DTSTART's own. */
function firstPeriod(rule: Rrule, calendar: Calendar, bounds: SearchBounds): number {
  const origin = calendar.indexOf(Math.floor(bounds.dtstart / DAY_SECONDS))
  const sought = calendar.indexOf(Math.floor(Math.max(bounds.from, bounds.dtstart) / DAY_SECONDS))
  return origin + Math.floor((sought - origin) / rule.interval) * rule.interval
}

function calendarOf({ frequency, weekStart }: Rrule): Calendar {
  switch (frequency) {
    case 'YEARLY':
      return { indexOf: yearOf, firstDayOf: year => dayOf(year, 1, 1), cycle: 400, daysMax: 366 }
    case 'MONTHLY':
      return { indexOf: monthIndexOf, firstDayOf: firstDayOfMonth, cycle: 4800, daysMax: 31 }
    case 'WEEKLY': {
      const zero = weekStartOf(0, weekStart)
      const indexOf = (day: number) => (weekStartOf(day, weekStart) - zero) / 7
      return { indexOf, firstDayOf: week => zero + week * 7, cycle: CYCLE_DAYS / 7, daysMax: 7 }
    }
    default:
      return { indexOf: day => day, firstDayOf: day => day, cycle: CYCLE_DAYS, daysMax: 1 }
  }
}

function yearOf(day: number): number {
  return civilOf(day).year
}

function monthIndexOf(day: number): number {
  const { year, month } = civilOf(day)
  return year * 12 + month - 1
}

function firstDayOfMonth(index: number): number {
  return dayOf(Math.floor(index / 12), (index % 12) + 1, 1)
}

function acceptedDays(
  { from, end, months }: { from: number; end: number; months: readonly number[] },
  accepts: DayFilter,
): number[] {
  const days: number[] = []
  let day = from
  while (day < end) {
    if (accepts(day)) days.push(day)
    day += 1
    if (day < end) day = inMonths(day, months)
  }
  return days
}

/** The day itself, or the first of the next month when its month is not among the wanted ones. */
export function inMonths(day: number, months: readonly number[]): number {
  if (months.length === 0) return day
  const date = civilOf(day)
  return months.includes(date.month) ? day : firstDayOfMonth(date.year * 12 + date.month)
}

function timesOfDay({ hours, minutes, seconds }: Rrule): number[] {
  return hours.flatMap(hour =>
    minutes.flatMap(minute => seconds.map(second => hour * 3600 + minute * 60 + second)),
  )
}

/** Days and times of day together; BYSETPOS chooses without building the whole set. */
function* timesIn(
  days: readonly number[],
  clock: readonly number[],
  positions: readonly number[],
): Generator<number> {
  if (positions.length > 0) {
    for (const index of selectPositions(days.length * clock.length, positions)) {
      const day = days[Math.floor(index / clock.length)] ?? 0
      yield day * DAY_SECONDS + (clock[index % clock.length] ?? 0)
    }
    return
  }
  for (const day of days) for (const time of clock) yield day * DAY_SECONDS + time
}

function mayHavePosition({ positions }: Rrule, sizeMax: number): boolean {
  return positions.length === 0 || selectPositions(sizeMax, positions).length > 0
}

/** Indexes, ascending and once each, that BYSETPOS names in a set of `total` elements. */
export function selectPositions(total: number, positions: readonly number[]): number[] {
  const indexes = positions.map(position => (position > 0 ? position - 1 : total + position))
  const within = indexes.filter(index => index >= 0 && index < total)
  return [...new Set(within)].sort((one, other) => one - other)
}
