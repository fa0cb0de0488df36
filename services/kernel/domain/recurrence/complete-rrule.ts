import { civilOf, DAY_SECONDS, modulo, weekdayOf } from './civil-days.ts'
import type { Rrule } from './parse-rrule.ts'

/**
 * The same rule with everything written out that RFC 5545 3.3.10 takes from DTSTART, so that a
 * search may start in any period and not only at DTSTART.
 */
export function completeRrule(rule: Rrule, dtstartSeconds: number): Rrule {
  const day = Math.floor(dtstartSeconds / DAY_SECONDS)
  return {
    ...rule,
    ...datesFrom(rule, day),
    ...timesFrom(rule, modulo(dtstartSeconds, DAY_SECONDS)),
  }
}

/** A YEARLY rule of weeks inherits the weekday; one of months the day; a bare one both. */
function datesFrom(rule: Rrule, day: number): Partial<Rrule> {
  const { months, weekNumbers, yearDays, monthDays, weekdays } = rule
  const weekday = { ordinal: 0, weekday: weekdayOf(day) }
  if (weekdays.length > 0) return {}
  if (yearDays.length > 0 || monthDays.length > 0) return {}
  if (rule.frequency === 'WEEKLY') return { weekdays: [weekday] }
  if (rule.frequency !== 'YEARLY' && rule.frequency !== 'MONTHLY') return {}
  if (weekNumbers.length > 0) return { weekdays: [weekday] }
  const { month, day: dayOfMonth } = civilOf(day)
  const bare = rule.frequency === 'YEARLY' && months.length === 0
  return bare ? { months: [month], monthDays: [dayOfMonth] } : { monthDays: [dayOfMonth] }
}

/** A frequency owns its own unit and inherits the smaller ones. */
function timesFrom(rule: Rrule, clock: number): Partial<Rrule> {
  const { frequency } = rule
  const times: Partial<Rrule> = { seconds: ascending(rule.seconds.map(each => Math.min(each, 59))) }
  times.minutes = ascending(rule.minutes)
  times.hours = ascending(rule.hours)
  if (frequency === 'SECONDLY') return times
  if (rule.seconds.length === 0) times.seconds = [clock % 60]
  if (frequency === 'MINUTELY') return times
  if (rule.minutes.length === 0) times.minutes = [Math.floor(clock / 60) % 60]
  if (frequency === 'HOURLY') return times
  if (rule.hours.length === 0) times.hours = [Math.floor(clock / 3600)]
  return times
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((one, other) => one - other)
}
