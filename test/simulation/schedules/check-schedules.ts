/** I13 over a finished seed of schedules. */

import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { compileFilters } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { nextOccurrences } from '#kernel/domain/recurrence/next-occurrences.ts'
import { ruleOf } from '#kernel/domain/schedule/coming-instants.ts'
import { isLive } from '#kernel/domain/subscription.ts'
import type { Violation } from '../violation.ts'
import type { ScheduleRun, Written } from './schedule-world.ts'

interface Fired {
  id: string
  subscription: string
  revision: string
  since: string
  atMs: number
  appendedMs: number
  isDelivered: boolean
  /** What the guard recognises the same occurrence by. */
  occurrence: string
}

interface Gap {
  subscription: string
  revision: string
  fromMs: number
  toMs: number
}

/** Undecided instants are void when an edit comes within this time. */
const SETTLED_MS = 3 * 86_400_000
const INSTANTS_MAX = 5000

export function checkSchedules(run: ScheduleRun): { violations: Violation[]; fired: number } {
  const { fired, gaps } = readEvents(run)
  const violations: Violation[] = []
  const tell = (text: string, ...ids: string[]) =>
    void violations.push({ invariant: 'I13', text, ids })
  checkDelivered(run, fired, tell)
  for (const [id, versions] of run.written) {
    for (const [n, start] of versions.entries()) {
      const before = versions[n - 1]
      if (!isLive(start.doc.state) || (before && isSamePeriod(before, start))) continue
      const end = versions.slice(n).find(later => !isSamePeriod(start, later))
      checkPeriod({ id, start, endMs: end?.atMs ?? null }, { run, fired, gaps }, tell)
    }
  }
  return { violations, fired: fired.length }
}

/** Do two versions have one unbroken schedule? */
function isSamePeriod(one: Written, other: Written): boolean {
  const nameOf = ({ doc: { scheduled, state } }: Written) =>
    [scheduled?.revision, scheduled?.since, isLive(state)].join()
  return nameOf(one) === nameOf(other)
}

type Tell = (text: string, ...ids: string[]) => void

/** Nothing early, one message per instant, nothing of what an edit has ended. */
function checkDelivered(run: ScheduleRun, fired: Fired[], tell: Tell): void {
  const messages = new Map<string, string>()
  for (const event of fired) {
    const { subscription, atMs, appendedMs, id } = event
    if (appendedMs < atMs) tell(`${subscription} fired ${atMs - appendedMs} ms early`, id)
    if (run.isFaultless && appendedMs > atMs + 601_000) tell(`${subscription} fired late`, id)
    if (!event.isDelivered) continue
    const doc = docAt(run.written.get(subscription) ?? [], appendedMs)?.doc
    if (doc?.scheduled?.revision !== event.revision || atMs <= Date.parse(doc.scheduled.since)) {
      tell(`${subscription} delivered what an edit had ended`, id)
    }
    const key = `${subscription} ${atMs}`
    const other = messages.get(key)
    if (other !== undefined && other !== event.occurrence) tell(`two messages for ${key}`, id)
    messages.set(key, event.occurrence)
  }
}

/** Every instant of one unbroken period of a schedule is fired or missed, and not both. */
function checkPeriod(
  { id, start, endMs }: { id: string; start: Written; endMs: number | null },
  { run, fired, gaps }: { run: ScheduleRun; fired: Fired[]; gaps: Gap[] },
  tell: Tell,
): void {
  const { schedule, scheduled } = start.doc
  if (!schedule || 'anchor' in schedule || !scheduled) return
  const sinceMs = Date.parse(scheduled.since)
  const mustMs = endMs === null ? run.endMs - SETTLED_MS : endMs - SETTLED_MS
  const own = fired.filter(each => each.subscription === id && each.revision === scheduled.revision)
  const times = new Set(own.filter(each => each.since === scheduled.since).map(each => each.atMs))
  const missed = gaps.filter(gap => gap.subscription === id && gap.revision === scheduled.revision)
  for (const { atMs } of nextOccurrences(ruleOf(schedule), sinceMs, INSTANTS_MAX)) {
    if (atMs > (endMs ?? run.endMs)) return
    const isMissed = missed.some(
      gap => gap.fromMs <= atMs && atMs <= gap.toMs && gap.toMs > sinceMs,
    )
    const shown = `${id} ${new Date(atMs).toISOString()}`
    if (times.has(atMs) && isMissed) tell(`${shown} is fired and missed`)
    if (atMs <= mustMs && !times.has(atMs) && !isMissed) tell(`${shown} is neither`)
  }
}

/** The version whose append was answered by then. */
function docAt(versions: Written[], ms: number): Written | undefined {
  return versions.findLast(({ atMs }) => atMs <= ms)
}

function readEvents({ log, codec, written, bug }: ScheduleRun) {
  const fired: Fired[] = []
  const gaps: Gap[] = []
  for (const { value, timestamp } of log.records('ingress.time')) {
    const record = codec.decode('event', value ?? new Uint8Array())
    const event = toCloudEvent(record)
    const { subject, schedulerevision, schedulesince, time, id, dedupkey } = record.attributes
    const subscription = String(subject)
    const revision = String(schedulerevision)
    if (event.type === 'time.missed') {
      const { from, to } = event.data as { from: string; to: string }
      gaps.push({ subscription, revision, fromMs: Date.parse(from), toMs: Date.parse(to) })
      continue
    }
    const doc = docAt(written.get(subscription) ?? [], timestamp)?.doc
    const compared = doc && bug?.ignoresRevision ? { ...doc, scheduled: null } : doc
    const isDelivered =
      compared !== undefined &&
      isLive(compared.state) &&
      compileFilters(matchSpecOf(compared)).test(event)
    const atMs = Date.parse(String(time))
    const since = String(schedulesince)
    const occurrence = String(dedupkey ?? id)
    const facts = { id: String(id), subscription, revision, since, atMs, occurrence }
    fired.push({ ...facts, appendedMs: timestamp, isDelivered })
  }
  return { fired, gaps }
}
