/**
 * The Gregorian calendar as integers: a day is the number of days since 1970-01-01, a local time
 * the number of seconds since 1970-01-01T00:00:00 on the clock of its place, as if it were UTC.
 */

export const DAY_SECONDS = 86_400

/** Days after which the Gregorian calendar repeats, weekdays included: 400 years. */
export const CYCLE_DAYS = 146_097

/** RFC 5545 writes years with four digits, so the first day of year 10000 is the end of time. */
export const END_DAY = dayOf(10_000, 1, 1)

export interface CivilDate {
  year: number
  month: number
  day: number
}

/** The day number of a date, by Howard Hinnant's `days_from_civil`. */
export function dayOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const leaps = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * CYCLE_DAYS + yearOfEra * 365 + leaps + dayOfYear - 719_468
}

/** The date of a day number, by Howard Hinnant's `civil_from_days`. */
export function civilOf(day: number): CivilDate {
  const z = day + 719_468
  const era = Math.floor(z / CYCLE_DAYS)
  const ofEra = z - era * CYCLE_DAYS
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) /
      365,
  )
  const leaps = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  const dayOfYear = ofEra - (365 * yearOfEra + leaps)
  const shifted = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shifted < 10 ? shifted + 3 : shifted - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1,
  }
}

/** Whether the year has a 29 February. */
export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Days of a month, 1 to 12. */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Day of the week, 0 for Monday to 6 for Sunday. */
export function weekdayOf(day: number): number {
  return modulo(day + 3, 7)
}

/** First day of the week that holds `day`, for weeks that begin on `weekStart` (0 for Monday). */
export function weekStartOf(day: number, weekStart: number): number {
  return day - modulo(weekdayOf(day) - weekStart, 7)
}

/** The remainder that is never negative. */
export function modulo(value: number, divisor: number): number {
  return value - Math.floor(value / divisor) * divisor
}

/** Greatest common divisor of two positive integers. */
export function gcd(one: number, other: number): number {
  return other === 0 ? one : gcd(other, one % other)
}
