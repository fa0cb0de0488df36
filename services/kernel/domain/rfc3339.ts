const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60

/**
 * The instant of an RFC 3339 timestamp in milliseconds since the epoch, fractions below a
 * millisecond cut off; undefined when the text is not one or the date does not exist. A leap
 * second (section 5.7: only as 23:59:60 UTC) counts as the second before it.
 */
export function parseRfc3339(text: string): number | undefined {
  const match = TIMESTAMP.exec(text)
  if (!match) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as NumberFields
  const offset = offsetMinutes(match[8], match[9], match[10])
  if (offset === undefined || hour > 23 || minute > 59) return undefined
  if (second > 59 && !isLeapSecond(second, hour * 60 + minute - offset)) return undefined
  const date = new Date(0)
  // Not Date.UTC: it moves the years 0 to 99 into the twentieth century.
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const ms = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const seconds = Math.min(second, 59)
  return date.getTime() + (hour * 60 + minute - offset) * MINUTE_MS + seconds * 1000 + ms
}

type NumberFields = [number, number, number, number, number, number]

function offsetMinutes(sign?: string, hours?: string, minutes?: string): number | undefined {
  if (sign === undefined) return 0
  const total = Number(hours) * 60 + Number(minutes)
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  return sign === '-' ? -total : total
}

function isLeapSecond(second: number, utcMinutes: number): boolean {
  const ofDay = ((utcMinutes % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES
  return second === 60 && ofDay === DAY_MINUTES - 1
}
