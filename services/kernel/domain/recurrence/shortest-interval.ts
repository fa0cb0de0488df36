import { DAY_SECONDS } from './civil-days.ts'
import { completeRrule } from './complete-rrule.ts'
import { formatLocal } from './local-time.ts'
import { localTimes } from './local-times.ts'
import { occurrencesOf, type ReadRule, type RuleProblem } from './next-occurrences.ts'
import type { Rrule } from './parse-rrule.ts'

/** Distances looked at when the parts of a rule alone do not prove that it is slow enough. */
const DISTANCES_MAX = 2000
const EVERYTHING = Number.NEGATIVE_INFINITY

/**
 * Two occurrences closer to each other than `shortestMs`, as a problem, or `null`.
 *
 * Distances within the rule are measured on the local clock: two times that a change of the clocks
 * brings together, or onto one instant, are no offence. Distances to RDATEs are between instants.
 */
export function tooClose(read: ReadRule, shortestMs: number): RuleProblem | null {
  return tooCloseInRule(read, shortestMs) ?? tooCloseToRdate(read, shortestMs)
}

function tooCloseInRule({ rrule, dtstart }: ReadRule, shortestMs: number): RuleProblem | null {
  if (rrule === null || leastDistance(rrule, dtstart) * 1000 >= shortestMs) return null
  let looked = 0
  let before = EVERYTHING
  for (const local of localTimes(rrule, { dtstart, from: dtstart })) {
    if ((local - before) * 1000 < shortestMs) {
      const pair = `${formatLocal(before)} and ${formatLocal(local)}`
      return { pointer: '/rrule', problem: apart(shortestMs, pair) }
    }
    before = local
    looked += 1
    if (looked > DISTANCES_MAX) break
  }
  return null
}

function apart(shortestMs: number, pair: string): string {
  return `expected occurrences at least ${shortestMs} ms apart, got ${pair}`
}

/**
 * A lower bound, in seconds, from the parts alone: the least step between two times it can name.
 */
function leastDistance(rule: Rrule, dtstart: number): number {
  const { hours, minutes, seconds, frequency, interval } = completeRrule(rule, dtstart)
  switch (frequency) {
    case 'SECONDLY':
      return interval
    case 'MINUTELY':
      return leastStep([seconds], interval * 60)
    case 'HOURLY':
      return leastStep([minutes, seconds], interval * 3600)
    default:
      return leastStep([hours, minutes, seconds], DAY_SECONDS)
  }
}

/** Combines units, the last of which is seconds, and goes round once. */
function leastStep(units: readonly (readonly number[])[], period: number): number {
  const times = units.reduce<number[]>(
    (made, unit) => made.flatMap(each => unit.map(value => each * 60 + value)),
    [0],
  )
  const round = [...times, (times[0] ?? 0) + period]
  return times.reduce((least, time, index) => {
    return Math.min(least, (round[index + 1] ?? Number.POSITIVE_INFINITY) - time)
  }, period)
}

function tooCloseToRdate(read: ReadRule, shortestMs: number): RuleProblem | null {
  if (read.rdates.length === 0) return null
  const endless = withoutCount(read)
  for (const [index, { seconds, utc }] of read.rdates.entries()) {
    const atMs = utc ? seconds * 1000 : read.clock.place(seconds).atMs
    const near = occurrencesOf(endless, atMs - shortestMs, 3).filter(
      each => Math.abs(each.atMs - atMs) < shortestMs,
    )
    const other = near.find(each => each.atMs !== atMs)
    if (other !== undefined && near.some(each => each.atMs === atMs)) {
      const pair = near.map(each => each.nominal).join(' and ')
      return { pointer: `/rdates/${index}`, problem: apart(shortestMs, pair) }
    }
  }
  return null
}

/** The same rule with COUNT as the UNTIL it amounts to, so that a search may begin anywhere. */
function withoutCount(read: ReadRule): ReadRule {
  const { rrule, dtstart } = read
  if (rrule === null || rrule.count === null) return read
  let seconds = dtstart
  for (const local of localTimes(rrule, { dtstart, from: dtstart })) seconds = local
  return { ...read, rrule: { ...rrule, count: null, until: { seconds, utc: false } } }
}
