/**
 * How far behind the scheduler is, told from outside: what is due by the subscriptions and is not
 * decided by the marks. So it is right although the scheduler is another process, or is away.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  comingInstants,
  type DueInstant,
  type FindAnchors,
} from '#kernel/domain/schedule/coming-instants.ts'
import { jitterOfInstant } from '#kernel/domain/schedule/schedule-identity.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'
import type { Schedule } from '#kernel/domain/trigger.ts'
import type { ScheduleMark } from '#schemas/generated/records.ts'

/** Marks follow their events within half a second; a due instant is not owed before this, ms. */
export const OWED_AFTER_MS = 5000
/** Schedules looked at before others of the process have their turn: some tens of ms at most. */
const LOOKED_AT_MAX = 2000

export interface ScheduleLag {
  /** Live schedules. */
  schedules: number
  /** Schedules of which an instant is due and neither fired nor missed. */
  overdue: number
  /** Lateness of the oldest of those instants, ms; 0 without any. */
  oldestLateMs: number
  /** When the scheduler last wrote down how far it is, RFC 3339; null before the first time. */
  markedAt: string | null
  /** Zone database of that mark. */
  zoneDatabase: string | null
}

export interface ScheduleLagBook {
  setSubscription(key: string, subscription: Subscription): void
  setMark(key: string, mark: Pick<ScheduleMark, 'revision' | 'decidedMs' | 'tz' | 'at'>): void
  /** Schedules that change meanwhile are told as they were or as they are. */
  state(nowMs: number): Promise<ScheduleLag>
}

interface Planned {
  tenant: string
  id: string
  revision: string
  schedule: Schedule
  sinceMs: number
  /** The first instant that is not decided; undefined until somebody asks. */
  dueMs: number | undefined
}

export interface ScheduleLagWorld {
  findAnchors(tenant: string): FindAnchors
  /** Was the subscription of this key deleted? Marks of such are not kept. */
  isDeleted(key: string): boolean
}

/** A book over the tables; it computes only what changed since the last question. */
export function createScheduleLagBook({
  findAnchors,
  isDeleted,
}: ScheduleLagWorld): ScheduleLagBook {
  const planned = new Map<string, Planned>()
  const marks = new Map<string, { revision: string; decidedMs: number }>()
  let newest: { at: number; tz: string } | undefined
  const dueOf = (key: string, plan: Planned): number => {
    // A calendar may have changed, so anchors are asked every time.
    if (plan.dueMs !== undefined && !('anchor' in plan.schedule)) return plan.dueMs
    const mark = marks.get(key)
    const decidedMs = mark?.revision === plan.revision ? mark.decidedMs : 0
    const afterMs = Math.max(plan.sinceMs, decidedMs)
    const [next] = comingInstants(plan.schedule, afterMs, 1, findAnchors(plan.tenant))
    plan.dueMs = next ? actOnMs(plan, next) : Number.POSITIVE_INFINITY
    return plan.dueMs
  }
  return {
    setSubscription(key, { tenant, id, schedule, scheduled, state }) {
      if (!schedule || !scheduled || !isLive(state)) {
        planned.delete(key)
        if (state.operation === 'deleted') marks.delete(key)
        return
      }
      const { revision, since } = scheduled
      const sinceMs = Date.parse(since)
      planned.set(key, { tenant, id, revision, schedule, sinceMs, dueMs: undefined })
    },
    setMark(key, { revision, decidedMs, tz, at }) {
      if (at >= (newest?.at ?? 0)) newest = { at, tz }
      const plan = planned.get(key)
      if (!plan && isDeleted(key)) return
      const known = marks.get(key)
      if (known?.revision === revision && known.decidedMs >= decidedMs) return
      marks.set(key, { revision, decidedMs })
      if (plan) plan.dueMs = undefined
    },
    async state(nowMs) {
      let [lookedAt, overdue, oldestLateMs] = [0, 0, 0]
      for (const [key, plan] of planned) {
        if (lookedAt > 0 && lookedAt % LOOKED_AT_MAX === 0) await nextTurn()
        lookedAt += 1
        const lateMs = nowMs - dueOf(key, plan)
        if (lateMs <= OWED_AFTER_MS) continue
        overdue += 1
        oldestLateMs = Math.max(oldestLateMs, lateMs)
      }
      return {
        schedules: planned.size,
        ...{ overdue, oldestLateMs },
        markedAt: newest ? new Date(newest.at).toISOString() : null,
        zoneDatabase: newest?.tz ?? null,
      }
    },
  }
}

/** With its jitter, and never before the calendar told of it. */
function actOnMs(plan: Planned, instant: DueInstant): number {
  const { atMs, anchor } = instant
  return Math.max(atMs + jitterOfInstant(plan, instant), anchor?.toldMs ?? 0)
}
