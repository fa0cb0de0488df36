import { calendarTimes, type SearchBounds } from './calendar-times.ts'
import { clockTimes } from './clock-times.ts'
import { completeRrule } from './complete-rrule.ts'
import type { Rrule } from './parse-rrule.ts'

/**
 * The local times that a rule makes, ascending, from DTSTART or `from`, whichever is later.
 *
 * COUNT is applied and makes the search begin at DTSTART; without it the search begins at `from`.
 * UNTIL is not: it is an instant, and these are times on a clock. DTSTART is among them only when
 * the rule itself makes it.
 */
export function* localTimes(rule: Rrule, bounds: SearchBounds): Generator<number> {
  const complete = completeRrule(rule, bounds.dtstart)
  if (rule.count === null) {
    yield* expand(complete, bounds)
    return
  }
  let left = rule.count
  for (const local of expand(complete, { ...bounds, from: bounds.dtstart })) {
    if (local >= bounds.from) yield local
    left -= 1
    if (left === 0) return
  }
}

function expand(complete: Rrule, bounds: SearchBounds): Generator<number> {
  switch (complete.frequency) {
    case 'HOURLY':
    case 'MINUTELY':
    case 'SECONDLY':
      return clockTimes(complete, bounds)
    default:
      return calendarTimes(complete, bounds)
  }
}
