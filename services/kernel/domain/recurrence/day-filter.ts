import { civilOf, dayOf, daysInMonth, isLeapYear, weekdayOf, weekStartOf } from './civil-days.ts'
import type { Rrule } from './parse-rrule.ts'

/** Whether a rule's date parts accept a day. */
export type DayFilter = (day: number) => boolean

/** A day with what the parts ask of it. */
interface DayFacts {
  day: number
  year: number
  month: number
  dayOfMonth: number
  monthLength: number
  /** Day number of 1 January. */
  yearStart: number
  yearLength: number
}

type Part = (facts: DayFacts) => boolean

/**
 * Combines BYMONTH, BYWEEKNO, BYYEARDAY, BYMONTHDAY and BYDAY of a completed rule (see
 * `complete-rrule.ts`). A part that "expands" in the table of RFC 5545 3.3.10 and a part that
 * "limits" are the same test on the days of a period, so a day is accepted when all parts hold.
 */
export function dayFilter(rule: Rrule): DayFilter {
  const parts: Part[] = []
  if (rule.months.length > 0) parts.push(monthPart(rule.months))
  if (rule.monthDays.length > 0) parts.push(monthDayPart(rule.monthDays))
  if (rule.yearDays.length > 0) parts.push(yearDayPart(rule.yearDays))
  if (rule.weekdays.length > 0 && plainWeekdays(rule) === null) parts.push(ordinalPart(rule))
  if (rule.weekNumbers.length > 0) parts.push(weekNumberPart(rule))
  const weekdays = plainWeekdays(rule)
  return day => {
    // The cheapest test first: a search for a sparse rule passes over many thousand days.
    if (weekdays !== null && !weekdays.has(weekdayOf(day))) return false
    if (parts.length === 0) return true
    const facts = factsOf(day)
    return parts.every(part => part(facts))
  }
}

function factsOf(day: number): DayFacts {
  const { year, month, day: dayOfMonth } = civilOf(day)
  return {
    day,
    year,
    month,
    dayOfMonth,
    monthLength: daysInMonth(year, month),
    yearStart: dayOf(year, 1, 1),
    yearLength: isLeapYear(year) ? 366 : 365,
  }
}

function monthPart(months: readonly number[]): Part {
  const wanted = new Set(months)
  return ({ month }) => wanted.has(month)
}

function monthDayPart(monthDays: readonly number[]): Part {
  const wanted = new Set(monthDays)
  return ({ dayOfMonth, monthLength }) =>
    wanted.has(dayOfMonth) || wanted.has(dayOfMonth - monthLength - 1)
}

function yearDayPart(yearDays: readonly number[]): Part {
  const wanted = new Set(yearDays)
  return ({ day, yearStart, yearLength }) => {
    const ofYear = day - yearStart + 1
    return wanted.has(ofYear) || wanted.has(ofYear - yearLength - 1)
  }
}

/**
 * The weekdays of a BYDAY without ordinals, `null` for any other. Where RFC 5545 forbids ordinals
 * they are read as if they were not there.
 */
function plainWeekdays({ frequency, weekdays }: Rrule): Set<number> | null {
  const ordinals = frequency === 'YEARLY' || frequency === 'MONTHLY'
  if (weekdays.length === 0) return null
  if (ordinals && weekdays.some(({ ordinal }) => ordinal !== 0)) return null
  return new Set(weekdays.map(({ weekday }) => weekday))
}

/**
 * Ordinals count within the month for MONTHLY, and for YEARLY with BYMONTH; within the year for
 * YEARLY without.
 */
function ordinalPart({ frequency, months, weekdays }: Rrule): Part {
  const inMonth = frequency === 'MONTHLY' || months.length > 0
  const every = new Set<number>()
  const counted = new Set<number>()
  for (const { ordinal, weekday } of weekdays) {
    if (ordinal === 0) every.add(weekday)
    else counted.add(ordinal * 7 + weekday)
  }
  return facts => {
    const weekday = weekdayOf(facts.day)
    if (every.has(weekday)) return true
    const index = inMonth ? facts.dayOfMonth - 1 : facts.day - facts.yearStart
    const length = inMonth ? facts.monthLength : facts.yearLength
    const fromEnd = -Math.floor((length - index - 1) / 7) - 1
    const fromStart = Math.floor(index / 7) + 1
    return counted.has(fromStart * 7 + weekday) || counted.has(fromEnd * 7 + weekday)
  }
}

/** Week 1 is the first week, begun on WKST, with four days in the year; ISO 8601 with Monday. */
function weekNumberPart({ weekNumbers, weekStart }: Rrule): Part {
  const wanted = new Set(weekNumbers)
  return ({ day }) => {
    const start = weekStartOf(day, weekStart)
    const { year } = civilOf(start + 3)
    const first = weekStartOf(dayOf(year, 1, 4), weekStart)
    const next = weekStartOf(dayOf(year + 1, 1, 4), weekStart)
    const week = (start - first) / 7 + 1
    return wanted.has(week) || wanted.has(week - (next - first) / 7 - 1)
  }
}
