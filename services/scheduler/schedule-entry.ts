/** One subscription's schedule as the index keeps it. */
import {
  comingInstants,
  type DueInstant,
  type FindAnchors,
  type ScheduleKind,
  scheduleKind,
} from '#kernel/domain/schedule/coming-instants.ts'
import { jitterOfInstant } from '#kernel/domain/schedule/schedule-identity.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'
import type { Schedule } from '#kernel/domain/trigger.ts'
import type { ScheduleMark } from '#schemas/generated/records.ts'
import { type Decision, decideDue, type Gap } from './decide-due.ts'

export interface ScheduleEntry {
  /** Key of the subscription in its table, and of all that is written here. */
  readonly key: string
  readonly tenant: string
  readonly id: string
  readonly partition: number
  version: number
  readonly revision: string
  readonly kind: ScheduleKind
  readonly schedule: Schedule
  /** From when on it counts. */
  readonly sinceMs: number
  /** Everything up to it is decided. */
  decidedMs: number
  /** When it is to be looked at next: its instant and jitter; Infinity when nothing comes. */
  nextMs: number
  /** Place in its tenant's heap; -1 while it is in none. */
  heapAt: number
  /** The newest gaps, oldest first; most schedules have none. */
  gaps?: Gap[]
}

/** Gaps kept in a mark. */
export const GAPS_KEPT = 10

/** The entry of a subscription, or undefined when nothing of it may be due now. */
export function entryOf(
  subscription: Subscription,
  place: { key: string; partition: number },
): ScheduleEntry | undefined {
  const { tenant, id, version, schedule, scheduled, state } = subscription
  if (!schedule || !scheduled || !isLive(state)) return undefined
  const sinceMs = Date.parse(scheduled.since)
  return {
    ...place,
    ...{ id, version, sinceMs },
    ...sharedSchedule(schedule, scheduled.revision),
    tenant: shared(tenant),
    kind: scheduleKind(schedule),
    decidedMs: sinceMs,
    nextMs: Number.POSITIVE_INFINITY,
    heapAt: -1,
  }
}

/** Texts that a million schedules have in common, kept once. */
const TEXTS_KEPT = 10_000
const texts = new Map<string, string>()

function shared(text: string): string {
  const known = texts.get(text)
  if (known !== undefined) return known
  if (texts.size >= TEXTS_KEPT) texts.clear()
  texts.set(text, text)
  return text
}

/** What floods the scheduler is most often one schedule of many; a revision names its fields. */
const SCHEDULES_KEPT = 10_000
const schedules = new Map<string, Pick<ScheduleEntry, 'schedule' | 'revision'>>()

function sharedSchedule(schedule: Schedule, revision: string) {
  const known = schedules.get(revision)
  if (known) return known
  if (schedules.size >= SCHEDULES_KEPT) schedules.clear()
  const kept = { schedule: compact(schedule), revision }
  schedules.set(revision, kept)
  return kept
}

/** The same schedule in less memory. */
function compact(schedule: Schedule): Schedule {
  if ('anchor' in schedule) return schedule
  if ('once' in schedule) return { once: schedule.once, tzid: shared(schedule.tzid) }
  const { tzid, rrule, missed } = schedule
  const texts = { tzid: shared(tzid), missed: shared(missed) as typeof missed }
  return { ...schedule, ...texts, ...(rrule ? { rrule: shared(rrule) } : {}) }
}

/** Takes what a mark says; one of another revision says nothing, an older one changes nothing. */
export function takeMark(entry: ScheduleEntry, mark: Pick<ScheduleMark, MarkFacts>): void {
  if (mark.revision !== entry.revision || mark.decidedMs < entry.decidedMs) return
  entry.decidedMs = mark.decidedMs
  if (mark.gaps.length > 0) entry.gaps = mark.gaps as Gap[]
}

export type MarkFacts = 'revision' | 'decidedMs' | 'gaps'

/** Plans an entry whose next instant is known; a meeting may have moved, so anchors are asked. */
export function planKnown(entry: ScheduleEntry, next: DueInstant | null): boolean {
  if (entry.kind === 'anchor') return false
  entry.nextMs = next ? next.atMs + jitterOfInstant(entry, next) : Number.POSITIVE_INFINITY
  return true
}

/** Computes when the entry is to be looked at next. */
export function planNext(entry: ScheduleEntry, findAnchors: FindAnchors): void {
  const { schedule, decidedMs } = entry
  const [next] = comingInstants(schedule, decidedMs, 1, findAnchors)
  entry.nextMs = next ? next.atMs + jitterOfInstant(entry, next) : Number.POSITIVE_INFINITY
}

/** What is due of the entry now, decided. Pure: the entry is left as it is. */
export function decideEntry(
  entry: ScheduleEntry,
  moment: { nowMs: number; watchedSinceMs: number },
  findAnchors: FindAnchors,
): Decision {
  const { kind, schedule, decidedMs } = entry
  return decideDue({
    ...moment,
    kind,
    decidedMs,
    missed: 'missed' in schedule ? schedule.missed : 'latest',
    isBefore: 'anchor' in schedule && schedule.anchor.offsetMs < 0,
    coming: (afterMs, limit) => comingInstants(schedule, afterMs, limit, findAnchors),
    jitter: instant => jitterOfInstant(entry, instant),
  })
}

/** Remembers what was decided and made durable. */
export function settleEntry(entry: ScheduleEntry, { decidedMs, gaps }: Decision): void {
  entry.decidedMs = Math.max(entry.decidedMs, decidedMs)
  if (gaps.length > 0) entry.gaps = [...(entry.gaps ?? []), ...gaps].slice(-GAPS_KEPT)
}
