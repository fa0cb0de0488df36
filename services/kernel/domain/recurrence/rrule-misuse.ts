import type { Frequency, Rrule } from './parse-rrule.ts'

const BY_PARTS = [
  'months',
  'weekNumbers',
  'yearDays',
  'monthDays',
  'weekdays',
  'hours',
  'minutes',
  'seconds',
] as const satisfies readonly (keyof Rrule)[]

/**
 * What RFC 5545 3.3.10 says a rule must not combine, or `null`. `nextOccurrences` reads such rules
 * all the same, with every part as a condition, because calendars of others contain them; a person
 * who writes one most likely means something else.
 */
export function rruleMisuse(rule: Rrule): string | null {
  const { frequency, weekNumbers, yearDays, monthDays, weekdays, positions } = rule
  const ordinals = weekdays.some(({ ordinal }) => ordinal !== 0)
  const by = (...allowed: Frequency[]) => allowed.includes(frequency)
  if (rule.count !== null && rule.until !== null) return 'expected COUNT or UNTIL, got both'
  if (ordinals && !by('MONTHLY', 'YEARLY')) {
    return 'expected BYDAY with ordinals in MONTHLY and YEARLY rules only'
  }
  if (ordinals && weekNumbers.length > 0) {
    return 'expected BYDAY without ordinals beside BYWEEKNO'
  }
  if (monthDays.length > 0 && by('WEEKLY')) {
    return 'expected no BYMONTHDAY in a WEEKLY rule; use FREQ=DAILY or FREQ=MONTHLY with it'
  }
  if (yearDays.length > 0 && by('DAILY', 'WEEKLY', 'MONTHLY')) {
    return 'expected no BYYEARDAY in a DAILY, WEEKLY or MONTHLY rule; use FREQ=YEARLY'
  }
  if (weekNumbers.length > 0 && !by('YEARLY')) {
    return 'expected BYWEEKNO in YEARLY rules only'
  }
  if (positions.length > 0 && BY_PARTS.every(part => rule[part].length === 0)) {
    return 'expected another BY part beside BYSETPOS, which chooses among what that part gives'
  }
  return null
}
