/**
 * When a schedule is due: one question, whatever kind of schedule it is. Pure; the zone database
 * is the running process's.
 */
import { occurrencesOf, type ReadRule, readRule } from '../recurrence/next-occurrences.ts'
import { parseRrule, type Rrule } from '../recurrence/parse-rrule.ts'
import type { RecurrenceRule } from '../recurrence/recurrence-rule.ts'
import type { Anchor, Schedule } from '../trigger.ts'
import { quickInstants } from './quick-instants.ts'

type ClockSchedule = Exclude<Schedule, Anchor>

export type ScheduleKind = 'once' | 'recurrence' | 'anchor'

/** Event type by kind of schedule. */
export const SCHEDULE_EVENT_TYPE = {
  once: 'time.once',
  recurrence: 'time.recurrence',
  anchor: 'calendar.anchor',
} as const satisfies Record<ScheduleKind, string>

/** A meeting's edge that somebody wants to be told about. */
export interface AnchorPoint {
  calendar: string
  uid: string
  /** Names the instance of a series; null for a single meeting. */
  recurrenceId: string | null
  /** The edge itself, ms since the epoch. */
  edgeMs: number
  /** When the calendar was told of it, ms since the epoch. */
  toldMs: number
  summary: string
}

/** The next edges whose due instant (edge and offset together) lies after an instant, in order. */
export type FindAnchors = (
  anchor: Anchor['anchor'],
  afterMs: number,
  limit: number,
) => AnchorPoint[]

/** One due instant. */
export interface DueInstant {
  atMs: number
  /**
   * What makes it this one: local time for recurrences, which a new zone database keeps; the
   * instant for one-shots; the meeting, its edge and the offset for anchors.
   */
  nominal: string
  anchor?: AnchorPoint
}

export function scheduleKind(schedule: Schedule): ScheduleKind {
  if ('once' in schedule) return 'once'
  return 'anchor' in schedule ? 'anchor' : 'recurrence'
}

/**
 * The next instants after `afterMs`, earliest first, no two nominal times of a recurrence on one
 * instant. An anchor needs `findAnchors`; without it nothing comes.
 */
export function comingInstants(
  schedule: Schedule,
  afterMs: number,
  limit: number,
  findAnchors?: FindAnchors,
): DueInstant[] {
  if ('anchor' in schedule) return comingAnchors(schedule, afterMs, limit, findAnchors)
  const isSame =
    answered?.schedule === schedule && answered.afterMs === afterMs && answered.limit === limit
  if (!answered || !isSame) {
    answered = { schedule, afterMs, limit, found: comingOnClock(schedule, afterMs, limit) }
  }
  return [...answered.found]
}

/** Subscriptions that share a schedule are due together, and ask the same in a row. */
let answered:
  | { schedule: Schedule; afterMs: number; limit: number; found: DueInstant[] }
  | undefined

function comingOnClock(schedule: ClockSchedule, afterMs: number, limit: number): DueInstant[] {
  const read = readSchedule(schedule)
  const found = quickInstants(read, afterMs, limit) ?? occurrencesOf(read, afterMs, limit)
  if (!('once' in schedule)) return found
  return found.map(({ atMs }) => ({ atMs, nominal: new Date(atMs).toISOString() }))
}

function comingAnchors(
  { anchor }: Anchor,
  afterMs: number,
  limit: number,
  findAnchors: FindAnchors | undefined,
): DueInstant[] {
  const { edge, offsetMs } = anchor
  const points = findAnchors?.(anchor, afterMs, limit) ?? []
  return points.map(point => ({
    atMs: point.edgeMs + offsetMs,
    nominal: JSON.stringify([point.uid, point.recurrenceId, edge, offsetMs, point.edgeMs]),
    anchor: point,
  }))
}

/** Rules are the same few texts in a million schedules; only they are worth keeping parsed. */
const RULES_KEPT = 10_000
const rules = new Map<string, Rrule>()

/** One schedule is asked several times in a row. */
let last: { schedule: Schedule; read: ReadRule } | undefined

/** @throws RangeError for a schedule that the registry would refuse. */
function readSchedule(schedule: ClockSchedule): ReadRule {
  if (last?.schedule === schedule) return last.read
  const { rrule, ...rest } = ruleOf(schedule)
  const found = readRule(rest)
  if ('problem' in found) throw new RangeError(`${found.pointer}: ${found.problem}`)
  const read = rrule ? { ...found, rrule: parsed(rrule) } : found
  last = { schedule, read }
  return read
}

function parsed(text: string): Rrule {
  const known = rules.get(text)
  if (known) return known
  const rrule = parseRrule(text)
  if ('problem' in rrule) throw new RangeError(`/rrule: ${rrule.problem}`)
  if (rules.size >= RULES_KEPT) rules.delete(rules.keys().next().value ?? '')
  rules.set(text, rrule)
  return rrule
}

/** A schedule of the clock as a recurrence; a one-shot is one that happens once. */
export function ruleOf(schedule: ClockSchedule): RecurrenceRule {
  if ('once' in schedule) return { dtstart: withSeconds(schedule.once), tzid: schedule.tzid }
  const { dtstart, tzid, rrule, rdates, exdates } = schedule
  return {
    dtstart: withSeconds(dtstart),
    tzid,
    rrule,
    rdates: rdates?.map(withSeconds),
    exdates: exdates?.map(withSeconds),
  }
}

/** People may leave the seconds out. */
function withSeconds(text: string): string {
  return text.replace(/(T\d{2}:\d{2})(Z?)$/, '$1:00$2')
}
