/** I13 over a finished seed of schedules. */
import { nextOccurrences } from '#kernel/domain/recurrence/next-occurrences.ts'
import { ruleOf } from '#kernel/domain/schedule/coming-instants.ts'
import { isLive } from '#kernel/domain/subscription.ts'
import { type Violation, violation } from '../violation.ts'
import { type CalendarTimeline, calendarTimeline } from './calendar-timeline.ts'
import { checkAnchorPeriod, checkTold } from './check-anchors.ts'
import { type Asked, askedOf, checkLost } from './check-lost.ts'
import { anchorIn, named, type Period, SETTLED_MS, type Tell } from './checked-period.ts'
import { docAt, type Fired, type ReadEvents, readEvents } from './fired-events.ts'
import type { ScheduleRun, Written } from './schedule-state.ts'

const INSTANTS_MAX = 5000

export interface Checked {
  violations: Violation[]
  events: ReadEvents
  timeline: CalendarTimeline
  /** What the scheduler asked of the registry. */
  asked: Asked[]
}

export function checkSchedules(run: ScheduleRun): Checked {
  const events = readEvents(run)
  const timeline = calendarTimeline(run)
  const asked = askedOf(run)
  const violations: Violation[] = []
  const tell = (text: string, ...ids: string[]) =>
    void violations.push(violation('I13', text, ...ids))
  checkDelivered(run, events.fired, tell)
  checkTold({ run, events, timeline }, tell)
  const periods = periodsOf(run)
  for (const period of periods) {
    if (anchorIn(period.start.doc)) {
      checkAnchorPeriod(period, { run, events, timeline }, tell)
    } else checkPeriod(period, { run, events }, tell)
  }
  checkLost({ run, timeline, periods, asked }, tell)
  return { violations, events, timeline, asked }
}

function periodsOf({ written }: ScheduleRun): Period[] {
  return [...written].flatMap(([id, versions]) =>
    versions.flatMap((start, n) => {
      const before = versions[n - 1]
      if (!isLive(start.doc.state) || (before && isSamePeriod(before, start))) return []
      const end = versions.slice(n).find(later => !isSamePeriod(start, later))
      return [{ id, start, endMs: end?.atMs ?? null }]
    }),
  )
}

/** Do two versions have one unbroken schedule? */
function isSamePeriod(one: Written, other: Written): boolean {
  const nameOf = ({ doc: { scheduled, state } }: Written) =>
    [scheduled?.revision, scheduled?.since, isLive(state)].join()
  return nameOf(one) === nameOf(other)
}

/** Nothing early, one message per instant, nothing of what an edit has ended. */
function checkDelivered(run: ScheduleRun, fired: Fired[], tell: Tell): void {
  const messages = new Map<string, string>()
  for (const event of fired) {
    const { subscription, atMs, decidedMs, appendedMs, id, meeting } = event
    if (decidedMs < atMs) tell(`${subscription} fired ${atMs - decidedMs} ms early`, id)
    if (run.isFaultless && appendedMs > atMs + 601_000) tell(`${subscription} fired late`, id)
    if (!event.isDelivered) continue
    const doc = docAt(run.written.get(subscription) ?? [], appendedMs)?.doc
    if (doc?.scheduled?.revision !== event.revision || atMs <= Date.parse(doc.scheduled.since)) {
      tell(`${subscription} delivered what an edit had ended`, id)
    }
    const of = meeting ? [meeting.calendar, meeting.uid, meeting.recurrenceId].join(' ') : 'clock'
    const key = `${subscription} ${new Date(atMs).toISOString()} of ${of}`
    const other = messages.get(key)
    if (other !== undefined && other !== event.occurrence) tell(`two messages for ${key}`, id)
    messages.set(key, event.occurrence)
  }
}

/** Every instant of one unbroken period of a schedule is fired or missed, and not both. */
function checkPeriod(
  { id, start, endMs }: Period,
  { run, events }: { run: ScheduleRun; events: ReadEvents },
  tell: Tell,
): void {
  const { schedule, scheduled } = start.doc
  if (!schedule || 'anchor' in schedule || !scheduled) return
  const sinceMs = Date.parse(scheduled.since)
  const mustMs = (endMs ?? run.endMs) - SETTLED_MS
  const { revision } = scheduled
  const own = events.fired.filter(each => each.subscription === id && each.revision === revision)
  const times = new Set(own.filter(each => each.since === scheduled.since).map(each => each.atMs))
  const missed = events.gaps.filter(gap => gap.subscription === id && gap.revision === revision)
  for (const { atMs } of nextOccurrences(ruleOf(schedule), sinceMs, INSTANTS_MAX)) {
    if (atMs > (endMs ?? run.endMs)) return
    const isMissed = missed.some(
      gap => gap.fromMs <= atMs && atMs <= gap.toMs && gap.toMs > sinceMs,
    )
    const shown = `${id} ${new Date(atMs).toISOString()}`
    if (times.has(atMs) && isMissed) tell(`${shown} is fired and missed`, named(id))
    if (atMs <= mustMs && !times.has(atMs) && !isMissed) tell(`${shown} is neither`, named(id))
  }
}
