import { parseBasicDate, parseBasicTime, type WrittenTime } from './local-time.ts'

export const FREQUENCIES = [
  'YEARLY',
  'MONTHLY',
  'WEEKLY',
  'DAILY',
  'HOURLY',
  'MINUTELY',
  'SECONDLY',
] as const
export type Frequency = (typeof FREQUENCIES)[number]

/** Most occurrences that COUNT may ask for: it must be counted from DTSTART every time. */
export const COUNT_MAX = 100_000
const INTERVAL_MAX = 1_000_000_000

/** A BYDAY entry: 0 for Monday to 6 for Sunday; `ordinal` 0 means every one. */
export interface WeekdayEntry {
  ordinal: number
  weekday: number
}

/** An RRULE as values; an absent part is an empty list or `null`. */
export interface Rrule {
  frequency: Frequency
  interval: number
  count: number | null
  until: WrittenTime | null
  months: number[]
  weekNumbers: number[]
  yearDays: number[]
  monthDays: number[]
  weekdays: WeekdayEntry[]
  hours: number[]
  minutes: number[]
  seconds: number[]
  positions: number[]
  weekStart: number
}

/** What was wrong with a text. */
export interface Problem {
  problem: string
}

const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']

type Setter = (rule: Rrule, value: string) => Problem | null

/** How each part is read. RSCALE and SKIP (RFC 7529) are not among them. */
const PARTS: Readonly<Record<string, Setter>> = {
  FREQ: setFrequency,
  INTERVAL: (rule, value) =>
    setNumber(value, { name: 'INTERVAL', max: INTERVAL_MAX }, n => {
      rule.interval = n
    }),
  COUNT: (rule, value) =>
    setNumber(value, { name: 'COUNT', max: COUNT_MAX }, n => {
      rule.count = n
    }),
  UNTIL: setUntil,
  WKST: setWeekStart,
  BYDAY: setWeekdays,
  BYMONTH: list('BYMONTH', 1, 12, rule => rule.months),
  BYMONTHDAY: list('BYMONTHDAY', -31, 31, rule => rule.monthDays),
  BYYEARDAY: list('BYYEARDAY', -366, 366, rule => rule.yearDays),
  BYWEEKNO: list('BYWEEKNO', -53, 53, rule => rule.weekNumbers),
  BYHOUR: list('BYHOUR', 0, 23, rule => rule.hours),
  BYMINUTE: list('BYMINUTE', 0, 59, rule => rule.minutes),
  BYSECOND: list('BYSECOND', 0, 60, rule => rule.seconds),
  BYSETPOS: list('BYSETPOS', -366, 366, rule => rule.positions),
}

/**
 * Reads the value of an RRULE (RFC 5545 3.3.10), with or without the leading `RRULE:`.
 *
 * Numbers are checked against their ranges here, what may stand together by `rrule-misuse.ts`:
 * calendars of others hold many rules that break only the latter.
 */
export function parseRrule(text: string): Rrule | Problem {
  const rule = emptyRrule()
  const seen = new Set<string>()
  for (const part of text
    .replace(/^RRULE:/i, '')
    .toUpperCase()
    .split(';')) {
    const [name = '', value = ''] = part.split('=', 2)
    const setter = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined
    if (setter === undefined) return { problem: unknownPart(name) }
    if (seen.has(name)) return { problem: `expected ${name} once, got it twice` }
    seen.add(name)
    const problem = setter(rule, value)
    if (problem !== null) return problem
  }
  if (!seen.has('FREQ')) return { problem: `expected FREQ, one of ${FREQUENCIES.join(', ')}` }
  return rule
}

function unknownPart(name: string): string {
  const shown = name.slice(0, 20)
  return `expected parts like FREQ=DAILY separated by ";", got "${shown}"`
}

function emptyRrule(): Rrule {
  return {
    frequency: 'DAILY',
    interval: 1,
    count: null,
    until: null,
    months: [],
    weekNumbers: [],
    yearDays: [],
    monthDays: [],
    weekdays: [],
    hours: [],
    minutes: [],
    seconds: [],
    positions: [],
    weekStart: 0,
  }
}

function setFrequency(rule: Rrule, value: string): Problem | null {
  const found = FREQUENCIES.find(each => each === value)
  if (found === undefined) {
    return { problem: `expected FREQ to be one of ${FREQUENCIES.join(', ')}` }
  }
  rule.frequency = found
  return null
}

function setNumber(
  value: string,
  { name, max }: { name: string; max: number },
  set: (value: number) => void,
): Problem | null {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0
  if (number < 1 || number > max) {
    return { problem: `expected ${name} to be a whole number from 1 to ${max}` }
  }
  set(number)
  return null
}

function setUntil(rule: Rrule, value: string): Problem | null {
  const until = parseBasicTime(value) ?? parseBasicDate(value)
  if (until === null) {
    return { problem: 'expected UNTIL as YYYYMMDDTHHMMSSZ, YYYYMMDDTHHMMSS or YYYYMMDD' }
  }
  rule.until = until
  return null
}

function setWeekStart(rule: Rrule, value: string): Problem | null {
  rule.weekStart = WEEKDAYS.indexOf(value)
  return rule.weekStart < 0 ? { problem: 'expected WKST to be one of MO to SU' } : null
}

function setWeekdays(rule: Rrule, value: string): Problem | null {
  for (const entry of value.split(',')) {
    const match = /^([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)$/.exec(entry)
    const ordinal = match?.[1] === undefined ? 0 : Number(match[1])
    if (match === null || Math.abs(ordinal) > 53 || (match[1] !== undefined && ordinal === 0)) {
      return {
        problem: 'expected BYDAY to list MO to SU, each with an ordinal like 1 or -1 or none',
      }
    }
    rule.weekdays.push({ ordinal, weekday: WEEKDAYS.indexOf(match[2] ?? '') })
  }
  return null
}

/** A list of whole numbers; 0 is out of range where the range has negative numbers. */
function list(name: string, min: number, max: number, of: (rule: Rrule) => number[]): Setter {
  return (rule, value) => {
    const into = of(rule)
    for (const entry of value.split(',')) {
      const number = /^[+-]?\d{1,3}$/.test(entry) ? Number(entry) : Number.NaN
      if (!(number >= min && number <= max) || (number === 0 && min < 0)) {
        const zero = min < 0 ? ' without 0' : ''
        return { problem: `expected ${name} to list whole numbers from ${min} to ${max}${zero}` }
      }
      into.push(number)
    }
    return null
  }
}
