import { civilOf, DAY_SECONDS, dayOf, daysInMonth, modulo } from './civil-days.ts'

const EXTENDED = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(Z?)$/
const BASIC = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(Z?)$/
const BASIC_DATE = /^(\d{4})(\d{2})(\d{2})$/

/** A written time: seconds on the clock it names, and whether that clock is UTC. */
export interface WrittenTime {
  seconds: number
  utc: boolean
}

/** Reads `YYYY-MM-DDTHH:MM:SS`, local or with `Z`; `null` when it is no such time. */
export function parseWrittenTime(text: string): WrittenTime | null {
  return fromMatch(EXTENDED.exec(text))
}

/** Reads the form of RFC 5545, `YYYYMMDDTHHMMSS` with or without `Z`; `null` when it is not. */
export function parseBasicTime(text: string): WrittenTime | null {
  return fromMatch(BASIC.exec(text))
}

/** Reads `YYYYMMDD` as the last second of that day on the local clock; `null` when it is not. */
export function parseBasicDate(text: string): WrittenTime | null {
  const match = BASIC_DATE.exec(text)
  return match === null ? null : fromMatch([...match, '23', '59', '59', ''])
}

function fromMatch(match: readonly string[] | null): WrittenTime | null {
  if (match === null) return null
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map(Number)
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null
  if (hour > 23 || minute > 59 || second > 59) return null
  const seconds = dayOf(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second
  return { seconds, utc: match[7] === 'Z' }
}

/** Writes local seconds as `YYYY-MM-DDTHH:MM:SS`. */
export function formatLocal(seconds: number): string {
  const { year, month, day } = civilOf(Math.floor(seconds / DAY_SECONDS))
  const clock = modulo(seconds, DAY_SECONDS)
  const time = [Math.floor(clock / 3600), Math.floor(clock / 60) % 60, clock % 60]
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
  return `${date}T${time.map(two).join(':')}`
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}
