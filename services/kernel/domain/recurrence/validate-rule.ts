import { formatLocal } from './local-time.ts'
import { localTimes } from './local-times.ts'
import {
  type Occurrence,
  occurrencesOf,
  type ReadRule,
  type RuleProblem,
  readRule,
} from './next-occurrences.ts'
import type { RecurrenceRule } from './recurrence-rule.ts'
import { rruleMisuse } from './rrule-misuse.ts'
import { tooClose } from './shortest-interval.ts'

/** What the policy allows. */
export interface RuleBounds {
  /** Least distance between two occurrences. */
  shortestIntervalMs: number
  /** Only what comes after this instant counts as coming; default: everything since DTSTART. */
  afterMs?: number
}

/** A rule with the instants it gives, or where and why it is refused. */
export type RuleCheck =
  | { ok: true; next: Occurrence[] }
  | { ok: false; pointer: string; message: string }

const RRULE_BYTES_MAX = 1024
const DATES_MAX = 500
const SHOWN_MAX = 10

/**
 * Accepts a rule that can be read, keeps RFC 5545 and the bounds, holds its own DTSTART, and gives
 * at least one instant after `bounds.afterMs`. `next` holds the first ten of those.
 *
 * Never takes longer than the search through one cycle of the calendar, also for rules that match
 * nothing. `pointer` is a JSON Pointer into the rule.
 */
export function checkRule(rule: RecurrenceRule, bounds: RuleBounds): RuleCheck {
  const size = tooLarge(rule)
  if (size !== null) return refused(size)
  const read = readRule(rule)
  if ('problem' in read) return refused(read)
  const problem = misused(read) ?? outsideItself(read) ?? tooClose(read, bounds.shortestIntervalMs)
  if (problem !== null) return refused(problem)
  const next = occurrencesOf(read, bounds.afterMs ?? null, SHOWN_MAX)
  return next.length > 0 ? { ok: true, next } : refused(nothingLeft(read))
}

function refused({ pointer, problem }: RuleProblem): RuleCheck {
  return { ok: false, pointer, message: problem }
}

function tooLarge({ rrule, rdates, exdates }: RecurrenceRule): RuleProblem | null {
  // A rule is ASCII, or will be refused when it is read.
  if ((rrule ?? '').length > RRULE_BYTES_MAX) {
    return { pointer: '/rrule', problem: `expected at most ${RRULE_BYTES_MAX} bytes` }
  }
  for (const [pointer, dates] of Object.entries({ '/rdates': rdates, '/exdates': exdates })) {
    const count = dates?.length ?? 0
    if (count > DATES_MAX) {
      return { pointer, problem: `expected at most ${DATES_MAX} dates, got ${count}` }
    }
  }
  return null
}

function misused({ rrule }: ReadRule): RuleProblem | null {
  const problem = rrule === null ? null : rruleMisuse(rrule)
  return problem === null ? null : { pointer: '/rrule', problem }
}

/** RFC 5545 leaves open what a DTSTART means that the rule does not make, so there is none here. */
function outsideItself({ rrule, dtstart }: ReadRule): RuleProblem | null {
  if (rrule === null) return null
  const [first] = localTimes(rrule, { dtstart, from: dtstart })
  if (first === dtstart) return null
  if (first === undefined) {
    return {
      pointer: '/rrule',
      problem: 'expected a rule that matches some day, got one that never does',
    }
  }
  const shown = `${formatLocal(first)}, the first time of the rule, got ${formatLocal(dtstart)}`
  return { pointer: '/dtstart', problem: `expected ${shown}` }
}

function nothingLeft({ rrule, exdates }: ReadRule): RuleProblem {
  const pointer = exdates.length > 0 ? '/exdates' : rrule === null ? '/dtstart' : '/rrule'
  return { pointer, problem: 'expected a coming occurrence, got none: all are past or excluded' }
}
