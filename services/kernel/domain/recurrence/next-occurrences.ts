/**
 * The one place that answers "when next?". Local times are made by the rule alone (`local-times`),
 * then placed on the time line by the zone (`zone-clock`), and only then UNTIL, EXDATE and RDATE
 * are applied, as instants.
 *
 * R1. A local time that does not exist is shifted by the length of the gap, and counts.
 * R2. A local time that happens twice is the first of the two.
 * R3. Two local times on one instant are one occurrence, named after the time the clocks show.
 * R4. The answer does not depend on where the search began: `after` only hides what is earlier.
 */
import { DAY_SECONDS, END_DAY } from './civil-days.ts'
import { formatLocal, parseWrittenTime, type WrittenTime } from './local-time.ts'
import { localTimes } from './local-times.ts'
import { parseRrule, type Rrule } from './parse-rrule.ts'
import type { RecurrenceRule } from './recurrence-rule.ts'
import { localSecondsAt, type ZoneClock, zoneClock } from './zone-clock.ts'

/** One coming instant and the name it has for ever. */
export interface Occurrence {
  /** The instant, in milliseconds since 1970. */
  atMs: number
  /**
   * `YYYY-MM-DDTHH:MM:SS[Zone]` for a local time, as it was meant: 02:30 on a day without 02:30
   * stays 02:30. `YYYY-MM-DDTHH:MM:SSZ` for an RDATE written in UTC.
   */
  nominal: string
}

/** What stands in the way of a rule, at a JSON Pointer. */
export interface RuleProblem {
  pointer: string
  problem: string
}

/** A rule whose texts were read. */
export interface ReadRule {
  clock: ZoneClock
  dtstart: number
  rrule: Rrule | null
  rdates: WrittenTime[]
  exdates: WrittenTime[]
}

/** An occurrence with its rank among those of the same instant: the smallest names it. */
interface Candidate {
  atMs: number
  rank: number
  local: number
}

const EXISTS = 0
const SHIFTED = 1
const IN_UTC = 2

/**
 * The next `limit` occurrences strictly after `afterMs`, ascending; `null` means from the first.
 * Fewer when the rule ends or never matches again. Years beyond 9999 do not exist (RFC 5545).
 *
 * The time taken does not grow with the distance from DTSTART, but for rules with COUNT.
 *
 * @throws RangeError for a rule that `checkRule` refuses because it cannot be read.
 */
export function nextOccurrences(
  rule: RecurrenceRule,
  afterMs: number | null,
  limit: number,
): Occurrence[] {
  const read = readRule(rule)
  if ('problem' in read) throw new RangeError(`${read.pointer}: ${read.problem}`)
  return occurrencesOf(read, afterMs, limit)
}

/** {@link nextOccurrences} for a rule that was read before. */
export function occurrencesOf(read: ReadRule, afterMs: number | null, limit: number): Occurrence[] {
  const { clock, exdates } = read
  const after = afterMs ?? Number.NEGATIVE_INFINITY
  if (!(limit > 0) || after >= END_DAY * DAY_SECONDS * 1000 + DAY_SECONDS * 2000) return []
  const excluded = new Set(exdates.map(each => instantOf(clock, each)))
  const wanted = (atMs: number) => atMs > after && !excluded.has(atMs)
  const found = fromRule(read, { after, limit, wanted })
  for (const written of read.rdates) {
    const candidate = placed(clock, written)
    if (wanted(candidate.atMs)) found.push(candidate)
  }
  found.sort((one, other) => one.atMs - other.atMs || one.rank - other.rank)
  return found
    .filter(({ atMs }, index) => atMs !== found[index - 1]?.atMs)
    .slice(0, limit)
    .map(({ atMs, rank, local }) => ({ atMs, nominal: nameOf(clock, rank, local) }))
}

interface Wish {
  after: number
  limit: number
  wanted: (atMs: number) => boolean
}

/** At least the first `limit` wanted instants of DTSTART and RRULE, in no promised order. */
function fromRule(read: ReadRule, { after, limit, wanted }: Wish): Candidate[] {
  const { clock, dtstart, rrule } = read
  if (rrule === null) {
    const only = placed(clock, { seconds: dtstart, utc: false })
    return wanted(only.atMs) ? [only] : []
  }
  const untilMs = rrule.until === null ? Number.POSITIVE_INFINITY : instantOf(clock, rrule.until)
  const lastLocal =
    untilMs === Number.POSITIVE_INFINITY ? untilMs : untilMs / 1000 + 2 * DAY_SECONDS
  const found: Candidate[] = []
  const instants = new Set<number>()
  let shownLast = Number.NEGATIVE_INFINITY
  for (const local of localTimes(rrule, { dtstart, from: searchFrom(clock, after) })) {
    // A time shifted out of a gap lands after local times that follow it, so the search goes on
    // until it has passed what the clocks show at the latest instant found.
    if (local > lastLocal || (instants.size >= limit && local > shownLast)) break
    const { atMs, shiftSeconds } = clock.place(local)
    if (atMs > untilMs || !wanted(atMs)) continue
    found.push({ atMs, rank: shiftSeconds === 0 ? EXISTS : SHIFTED, local })
    instants.add(atMs)
    shownLast = Math.max(shownLast, local + shiftSeconds)
  }
  return found
}

/**
 * The earliest local time whose instant may lie after `after`: what the clocks show then, and as
 * much earlier as they were set forward in the day before, for times in that gap come later.
 */
function searchFrom(clock: ZoneClock, after: number): number {
  const earliest = -END_DAY * DAY_SECONDS
  if (after / 1000 < earliest) return earliest
  const growth = clock.offsetAt(after) - clock.offsetAt(after - DAY_SECONDS * 1000)
  return localSecondsAt(clock, after) - Math.max(0, growth)
}

function placed(clock: ZoneClock, { seconds, utc }: WrittenTime): Candidate {
  if (utc) return { atMs: seconds * 1000, rank: IN_UTC, local: seconds }
  const { atMs, shiftSeconds } = clock.place(seconds)
  return { atMs, rank: shiftSeconds === 0 ? EXISTS : SHIFTED, local: seconds }
}

function instantOf(clock: ZoneClock, written: WrittenTime): number {
  return placed(clock, written).atMs
}

function nameOf(clock: ZoneClock, rank: number, local: number): string {
  return rank === IN_UTC ? `${formatLocal(local)}Z` : `${formatLocal(local)}[${clock.id}]`
}

/** Reads every text of a rule; the first that cannot be read is the problem. */
export function readRule(rule: RecurrenceRule): ReadRule | RuleProblem {
  const clock = zoneClock(rule.tzid)
  if (clock === null) {
    const problem = 'expected the name of an IANA time zone like "Europe/Madrid"'
    return { pointer: '/tzid', problem }
  }
  const dtstart = parseWrittenTime(rule.dtstart)
  if (dtstart === null || dtstart.utc) {
    const problem = 'expected a local date-time YYYY-MM-DDTHH:MM:SS that the calendar has'
    return { pointer: '/dtstart', problem }
  }
  const rdates = readTimes('/rdates', rule.rdates ?? [])
  if ('problem' in rdates) return rdates
  const exdates = readTimes('/exdates', rule.exdates ?? [])
  if ('problem' in exdates) return exdates
  const rrule = rule.rrule === undefined || rule.rrule === null ? null : parseRrule(rule.rrule)
  if (rrule !== null && 'problem' in rrule) return { pointer: '/rrule', problem: rrule.problem }
  return { clock, dtstart: dtstart.seconds, rrule, rdates, exdates }
}

function readTimes(pointer: string, texts: readonly string[]): WrittenTime[] | RuleProblem {
  const times: WrittenTime[] = []
  for (const [index, text] of texts.entries()) {
    const time = parseWrittenTime(text)
    if (time === null) {
      const problem = 'expected a date-time YYYY-MM-DDTHH:MM:SS, local or with Z'
      return { pointer: `${pointer}/${index}`, problem }
    }
    times.push(time)
  }
  return times
}
