/**
 * I13 for what is tied to meetings.
 *
 * When does a change of a calendar count? From the moment that its record lies in the log, which is
 * before anybody gets an answer. Matching and guard compare the schedule's revision and start, and
 * never ask the calendar again; so a firing is judged by the moment at which the scheduler decided
 * it (`recordedtime`, the store's clock): what lay in the log before then holds. A decision that
 * was made before a change and appended after it tells of a meeting as it was, and is let pass.
 */
import { anchorsOf } from '#kernel/domain/calendar/anchors-of.ts'
import type { Anchor } from '#kernel/domain/trigger.ts'
import {
  type CalendarTimeline,
  type Instance,
  type ObjectPeriod,
  stands,
} from './calendar-timeline.ts'
import { anchorIn, named, type Period, SETTLED_MS, type Tell } from './checked-period.ts'
import type { Fired, Gap, ReadEvents } from './fired-events.ts'
import type { ScheduleRun } from './schedule-state.ts'

export interface Finished {
  run: ScheduleRun
  events: ReadEvents
  timeline: CalendarTimeline
}

const INSTANTS_MAX = 500

const shown = (id: string, { uid, recurrenceId, atMs }: Instance) =>
  `${id} ${new Date(atMs).toISOString()} of ${uid} ${recurrenceId}`

/** Each event tells of a meeting that stood when it was decided, and no two share an identity. */
export function checkTold({ run, events, timeline }: Finished, tell: Tell): void {
  const instances = new Map<string, string>()
  for (const event of events.fired) {
    const { id, subscription, revision, meeting, atMs } = event
    const anchor = anchorOf(run, subscription, revision)
    if (!meeting || !anchor) continue
    const instance: Instance = { ...meeting, atMs }
    const name = shown(subscription, instance)
    const other = instances.get(`${subscription} ${event.occurrence}`)
    if (other !== undefined && other !== name) tell(`${name} is taken for ${other}`, id)
    instances.set(`${subscription} ${event.occurrence}`, name)
    const periods = timeline.periods(meeting.calendar, meeting.uid)
    const since = standsSince(anchor, periods, instance, event)
    if (since === null) tell(`${name} is told of as it no longer was`, id)
    else if (since > atMs) tell(`${name} is told of, although it was put into the past`, id)
    const edgeMs = atMs - anchor.offsetMs
    if (anchor.offsetMs < 0 && event.decidedMs >= edgeMs) tell(`${name} is told of too late`, id)
  }
}

/** A subscription's anchor while its schedule had a revision. */
function anchorOf({ written }: ScheduleRun, subscription: string, revision: string) {
  const version = written.get(subscription)?.find(({ doc }) => doc.scheduled?.revision === revision)
  return version && anchorIn(version.doc)
}

/** Since when the instance stood without a break when the event was decided; `null`: it did not. */
function standsSince(
  anchor: Anchor['anchor'],
  periods: ObjectPeriod[],
  instance: Instance,
  { decidedMs, appendedMs }: Fired,
): number | null {
  const first = periods.findIndex(
    period =>
      period.fromMs <= appendedMs && period.toMs >= decidedMs && stands(anchor, period, instance),
  )
  if (first < 0) return null
  const broken = periods.slice(0, first).findLastIndex(period => !stands(anchor, period, instance))
  return periods[broken + 1]?.fromMs ?? null
}

/**
 * Every instant that was known before it was due, and stood until everybody could have decided it,
 * is fired or missed; and it is not taken for one that was put into the past.
 */
export function checkAnchorPeriod(period: Period, finished: Finished, tell: Tell): void {
  const { run, events, timeline } = finished
  const { id, start } = period
  const { scheduled } = start.doc
  const anchor = anchorIn(start.doc)
  if (!anchor || !scheduled) return
  const { revision } = scheduled
  const isOwn = (each: Fired | Gap) => each.subscription === id && each.revision === revision
  const fired = new Set(
    events.fired
      .filter(each => isOwn(each) && each.since === scheduled.since)
      .map(({ meeting, atMs }) => `${meeting?.uid} ${meeting?.recurrenceId} ${atMs}`),
  )
  const sinceMs = Date.parse(scheduled.since)
  const gaps = events.gaps.filter(gap => isOwn(gap) && gap.toMs > sinceMs)
  const mustMs = (period.endMs ?? run.endMs) - SETTLED_MS
  for (const uid of anchor.uid === undefined ? timeline.uids(anchor.calendar) : [anchor.uid]) {
    const periods = timeline.periods(anchor.calendar, uid)
    for (const instance of instancesOf(anchor, periods, { sinceMs, mustMs })) {
      const { recurrenceId, atMs } = instance
      if (fired.has(`${uid} ${recurrenceId} ${atMs}`)) continue
      const reasons = gaps
        .filter(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs)
        .map(({ reason }) => reason)
      const name = shown(id, instance)
      if (reasons.length === 0) tell(`${name} is neither`, named(id), named(uid))
      else if (reasons.every(reason => reason === 'set-in-the-past')) {
        tell(`${name} was known, and is told as put into the past`, named(id), named(uid))
      }
    }
  }
}

/** Instances that were due while they stood, and for long enough after. */
function instancesOf(
  anchor: Anchor['anchor'],
  periods: ObjectPeriod[],
  { sinceMs, mustMs }: { sinceMs: number; mustMs: number },
): Instance[] {
  return periods.flatMap(({ object, fromMs, toMs }, n) => {
    if (!object) return []
    const from = Math.max(fromMs, sinceMs)
    const until = Math.min(toMs, mustMs)
    if (from >= until) return []
    return anchorsOf(anchor, [object], from, INSTANTS_MAX).filter(instance => {
      const { atMs } = instance
      if (atMs > until) return false
      const after = periods.slice(n + 1).filter(later => later.fromMs <= atMs + SETTLED_MS)
      return after.every(later => stands(anchor, later, instance))
    })
  })
}
