import { civilOf, DAY_SECONDS, modulo } from './civil-days.ts'
import { completeRrule } from './complete-rrule.ts'
import { formatLocal, type WrittenTime } from './local-time.ts'
import { type ReadRule, readRule } from './next-occurrences.ts'
import type { Rrule } from './parse-rrule.ts'
import type { RecurrenceRule } from './recurrence-rule.ts'
import { RULE_WORDS, type RuleWords } from './rule-words.ts'
import { localSecondsAt } from './zone-clock.ts'

/** More times of day than this are told by their hours and minutes. */
const TIMES_MAX = 8

/**
 * The rule in plain words, for example "every week on Monday at 09:00 (Europe/Madrid)". What the
 * rule takes from DTSTART is said too. A rule that cannot be read is given back as it was written.
 */
export function describeRule(rule: RecurrenceRule, language: 'en' | 'es'): string {
  const read = readRule(rule)
  if ('problem' in read) return rule.rrule ?? rule.dtstart
  const words = RULE_WORDS[language]
  const said = [
    ...whenOf(read, words),
    endOf(read, words),
    read.rdates.length > 0 ? words.added(read.rdates.length) : '',
    read.exdates.length > 0 ? words.excepted(read.exdates.length) : '',
    words.inZone(read.clock.id),
  ]
  return said
    .filter(each => each !== '')
    .join(' ')
    .replaceAll(' ,', ',')
}

function whenOf({ rrule, dtstart }: ReadRule, words: RuleWords): string[] {
  if (rrule === null) return [words.once(dateOf(dtstart, words), timeOf(dtstart))]
  const rule = completeRrule(rrule, dtstart)
  return [
    words.every[rule.frequency](rule.interval),
    weekNumbersOf(rule, words),
    weekdaysOf(rule, words),
    monthDaysOf(rule, words),
    rule.yearDays.length > 0 ? words.onYearDays(daysOf(rule.yearDays, words)) : '',
    monthsOf(rule, words),
    timesOf(rule, words),
    positionsOf(rule, words),
  ]
}

function list(items: readonly (string | number)[], { and }: RuleWords): string {
  const last = items.at(-1) ?? ''
  return items.length < 2 ? String(last) : `${items.slice(0, -1).join(', ')} ${and} ${last}`
}

function weekNumbersOf({ weekNumbers }: Rrule, words: RuleWords): string {
  return weekNumbers.length > 0 ? words.inWeeks(list(weekNumbers, words)) : ''
}

/** Months are said with the days of the month where there are some. */
function monthsOf({ months, monthDays }: Rrule, words: RuleWords): string {
  return months.length === 0 || monthDays.length > 0
    ? ''
    : words.inMonths(monthNames(months, words))
}

function monthNames(months: readonly number[], words: RuleWords): string {
  return list(
    months.map(month => words.months[month - 1] ?? ''),
    words,
  )
}

function weekdaysOf({ weekdays, frequency, months }: Rrule, words: RuleWords): string {
  if (weekdays.length === 0) return ''
  const ordered = weekdays.toSorted((one, other) => one.weekday - other.weekday)
  const plain = ordered.every(({ ordinal }) => ordinal === 0)
  const numbers = new Set(ordered.map(({ weekday }) => weekday))
  if (plain && numbers.size === 5 && !numbers.has(5) && !numbers.has(6)) return words.weekdaysOfWork
  const names = ordered.map(({ ordinal, weekday }) => {
    const name = words.weekdays[weekday] ?? ''
    return ordinal === 0 ? name : words.ordinalWeekday(ordinal, name)
  })
  if (plain) return words.onWeekdays(list(names, words))
  const ofYear = frequency === 'YEARLY' && months.length === 0 ? ` ${words.ofTheYear}` : ''
  return words.onOrdinalWeekdays(list(names, words)) + ofYear
}

function monthDaysOf({ monthDays, months }: Rrule, words: RuleWords): string {
  if (monthDays.length === 0) return ''
  return words.onMonthDays(daysOf(monthDays, words), monthNames(months, words))
}

function daysOf(days: readonly number[], words: RuleWords): string {
  const names = days.map(day => {
    if (day === -1) return words.lastDay
    return day < 0 ? words.dayFromEnd(day) : String(day)
  })
  return list(names, words)
}

function positionsOf({ positions }: Rrule, words: RuleWords): string {
  if (positions.length === 0) return ''
  return words.onlyPositions(
    list(
      positions.map(each => words.position(each)),
      words,
    ),
  )
}

function timesOf(rule: Rrule, words: RuleWords): string {
  const { hours, minutes, seconds, frequency } = rule
  const ofDay = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY'].includes(frequency)
  if (ofDay && hours.length * minutes.length * seconds.length <= TIMES_MAX) {
    const times = hours.flatMap(hour =>
      minutes.flatMap(minute => seconds.map(second => timeOf(hour * 3600 + minute * 60 + second))),
    )
    return words.at(list(times, words))
  }
  const trivialSeconds = seconds.length === 1 && seconds[0] === 0
  const said = [
    hours.length > 0 ? words.duringHours(list(hours, words)) : '',
    minutes.length > 0 ? words.atMinutes(list(minutes, words)) : '',
    seconds.length > 0 && !trivialSeconds ? words.atSeconds(list(seconds, words)) : '',
  ]
  return said.filter(each => each !== '').join(' ')
}

function endOf(read: ReadRule, words: RuleWords): string {
  const { rrule } = read
  if (rrule === null) return ''
  if (rrule.count !== null) return `, ${words.times(rrule.count)}`
  if (rrule.until === null) return ''
  const local = localOf(read, rrule.until)
  return `, ${words.until(dateOf(local, words), timeOf(local))}`
}

function localOf({ clock }: ReadRule, { seconds, utc }: WrittenTime): number {
  return utc ? localSecondsAt(clock, seconds * 1000) : seconds
}

function dateOf(local: number, words: RuleWords): string {
  const { year, month, day } = civilOf(Math.floor(local / DAY_SECONDS))
  return words.date(day, words.months[month - 1] ?? '', year)
}

function timeOf(local: number): string {
  const [, time = ''] = formatLocal(modulo(local, DAY_SECONDS)).split('T')
  return time.endsWith(':00') ? time.slice(0, 5) : time
}
