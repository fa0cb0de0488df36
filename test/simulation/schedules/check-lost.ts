/** A subscription that lost its one meeting is suspended, once and visibly; no other one is. */
import { lostAnchor } from '#kernel/domain/calendar/anchors-of.ts'
import type { CalendarObject } from '#kernel/domain/calendar/calendar-object.ts'
import { nextInstances } from '#kernel/domain/calendar/expand-object.ts'
import type { Anchor } from '#kernel/domain/trigger.ts'
import type { CalendarTimeline, ObjectPeriod } from './calendar-timeline.ts'
import { anchorIn, named, type Period, type Tell } from './checked-period.ts'
import { DAY_MS, MINUTE_MS, type ScheduleRun } from './schedule-state.ts'

/** All schedulers were away for less. */
const NOTICED_MS = 2.5 * DAY_MS

interface Ended {
  run: ScheduleRun
  timeline: CalendarTimeline
  periods: Period[]
  asked: Asked[]
}

/** What the scheduler asked of the registry, each once. */
export interface Asked {
  changeId: string
  id: string
  version: number
  fromMs: number
  toMs: number
}

export function checkLost(ended: Ended, tell: Tell): void {
  checkAsked(ended, tell)
  for (const period of ended.periods) checkUnnoticed(ended, period, tell)
}

export function askedOf({ history }: ScheduleRun): Asked[] {
  return history.values('registry.changes', 'change').flatMap(({ value, record }) => {
    if (value.action !== 'suspend') return []
    const { changeId, id, ifVersion, at } = value
    return [{ changeId, id, version: ifVersion ?? 0, fromMs: at, toMs: record.timestamp }]
  })
}

/** The meeting was gone, one change and one notice say so. */
function checkAsked({ run, timeline, asked }: Ended, tell: Tell): void {
  const noticed = new Map<string, Set<string>>()
  for (const { value } of run.history.values('notices', 'notice')) {
    if (value.kind !== 'lost-anchor') continue
    noticed.set(value.cause, (noticed.get(value.cause) ?? new Set()).add(value.id))
  }
  const changes = new Map<string, string>()
  for (const { changeId, id, version, fromMs, toMs } of asked) {
    const name = `${id} of version ${version}`
    const other = changes.get(name)
    if (other !== undefined && other !== changeId) tell(`${name} is suspended twice`, changeId)
    changes.set(name, changeId)
    if (noticed.get(`lost-anchor/${id}/${version}`)?.size !== 1) {
      tell(`${name}: not one notice`, changeId)
    }
    const doc = run.written.get(id)?.find(each => each.doc.version === version)?.doc
    const anchor = doc && anchorIn(doc)
    if (!anchor) {
      tell(`${name} is suspended without an anchor`, changeId)
      continue
    }
    const periods = timeline.periods(anchor.calendar, anchor.uid ?? '')
    // How long a meeting was over is known to the minute.
    const isGone = periods.some(
      (each, n) =>
        each.fromMs <= toMs &&
        each.toMs >= fromMs &&
        isLoss(anchor, { periods, n, slackMs: MINUTE_MS }),
    )
    if (!isGone) tell(`${name} is suspended, although its meeting stands`, changeId)
  }
}

/** Did the anchor lose anything with what the object is in one of its periods? */
function isLoss(
  anchor: Anchor['anchor'],
  { periods, n, slackMs }: { periods: ObjectPeriod[]; n: number; slackMs: number },
): boolean {
  const gone = periods[n]
  if (!gone || !isLost(anchor, gone)) return false
  if (gone.object) return true
  // Two writers may delete it one after the other.
  const went = periods.slice(0, n).findLast(({ object }) => object !== null)?.object
  return went ? isToCome(anchor, went, gone.fromMs - slackMs) : false
}

const isLost = (anchor: Anchor['anchor'], { object }: ObjectPeriod) =>
  lostAnchor(anchor, object ?? undefined) !== null

/** For days nobody noticed that a meeting had gone of which something was still to come. */
function checkUnnoticed({ run, timeline }: Ended, period: Period, tell: Tell): void {
  const { scheduled } = period.start.doc
  const anchor = anchorIn(period.start.doc)
  if (anchor?.uid === undefined || !scheduled) return
  const periods = timeline.periods(anchor.calendar, anchor.uid)
  for (const [n, gone] of periods.entries()) {
    if (!isLoss(anchor, { periods, n, slackMs: 0 })) continue
    const fromMs = Math.max(gone.fromMs, Date.parse(scheduled.since))
    const toMs = Math.min(gone.toMs, period.endMs ?? run.endMs)
    if (toMs - fromMs <= NOTICED_MS) continue
    const at = new Date(gone.fromMs).toISOString()
    tell(`${period.id} lost ${anchor.uid} at ${at}, unnoticed`, named(period.id), named(anchor.uid))
  }
}

/** What was over when it went was cleared away, and nobody lost anything. */
function isToCome({ edge, offsetMs }: Anchor['anchor'], object: CalendarObject, ms: number) {
  const query = { edge, afterMs: ms - offsetMs, limit: 1, accept: () => true }
  return nextInstances(object, query).length > 0
}
