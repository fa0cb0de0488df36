/**
 * How far behind the poller is, told from outside: what the subscriptions want to be observed, and
 * what `cursors` says of it.
 */
import { observationIdOf } from '#kernel/domain/observation.ts'
import { type ObservationState, observationKey } from '#kernel/domain/observation-state.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'

/**
 * A poll is written down at most a minute late, and is not begun at once; before this much time
 * over its interval it is not overdue, ms.
 */
export const OVERDUE_AFTER_MS = 70_000
/** Polls are spread over this part of their interval. */
const JITTER = 0.1

export interface ObservationLag {
  /** Observations that somebody wants now; each is one poll, however many share it. */
  observations: number
  /** Of them: not polled for longer than their interval and `OVERDUE_AFTER_MS`. */
  overdue: number
  /** How long the latest of those is over its interval, ms; 0 without any. */
  oldestLateMs: number
  /** Of them: the last poll failed. */
  failing: number
  /** Of them: not polled, because it may not be any more. */
  refused: number
  /** Breakers that are open: sources whose dependents are suspended and that are only probed. */
  suspended: number
}

export interface ObservationLagBook {
  setSubscription(key: string, subscription: Subscription): void
  /** `undefined` for an observation that was forgotten. */
  setCursor(key: string, cursor: { state: ObservationState; updatedAt: number } | undefined): void
  state(nowMs: number): ObservationLag
}

interface Wanted {
  observation: string
  everyMs: number
  sinceMs: number
}

/** The few facts that are kept of a cursor: its memory of identities may be large. */
interface Seen {
  atMs: number
  isFailing: boolean
  isRefused: boolean
  isSuspended: boolean
}

export function createObservationLagBook(): ObservationLagBook {
  const wanted = new Map<string, Wanted>()
  const cursors = new Map<string, Seen>()
  return {
    setSubscription(key, subscription) {
      const { tenant, observe, state, updatedAt } = subscription
      if (!observe || !isLive(state)) {
        wanted.delete(key)
        return
      }
      const observation = observationKey(tenant, observationIdOf({ ...subscription, observe }))
      wanted.set(key, { observation, everyMs: observe.everyMs, sinceMs: Date.parse(updatedAt) })
    },
    setCursor(key, cursor) {
      if (cursor) cursors.set(key, seenOf(cursor))
      else cursors.delete(key)
    },
    state(nowMs) {
      const polled = [...Map.groupBy(wanted.values(), each => each.observation)].map(
        ([key, subscribers]) => ({ cursor: cursors.get(key), subscribers }),
      )
      const active = polled.filter(({ cursor }) => !cursor?.isRefused && !cursor?.isSuspended)
      const late = active.flatMap(({ cursor, subscribers }) => {
        const lateMs = nowMs - dueMs(subscribers, cursor)
        return lateMs > OVERDUE_AFTER_MS ? [lateMs] : []
      })
      return {
        observations: polled.length,
        overdue: late.length,
        oldestLateMs: late.reduce((most, each) => Math.max(most, each), 0),
        failing: polled.filter(({ cursor }) => cursor?.isFailing).length,
        refused: polled.filter(({ cursor }) => cursor?.isRefused).length,
        suspended: cursors.values().reduce((sum, each) => sum + Number(each.isSuspended), 0),
      }
    },
  }
}

function seenOf({ state, updatedAt }: { state: ObservationState; updatedAt: number }): Seen {
  const polledMs = Date.parse(state.polledAt ?? '')
  return {
    atMs: Math.max(updatedAt, Number.isNaN(polledMs) ? 0 : polledMs),
    isFailing: state.failures > 0,
    isRefused: state.refusal !== null,
    isSuspended: state.suspended !== null && state.suspended.proposedAt === null,
  }
}

/** When it should have been polled: the shortest interval counts from the last poll or change. */
function dueMs(subscribers: readonly Wanted[], cursor: Seen | undefined): number {
  const everyMs = Math.min(...subscribers.map(each => each.everyMs))
  const sinceMs = Math.max(...subscribers.map(each => each.sinceMs))
  return Math.max(cursor?.atMs ?? 0, sinceMs) + everyMs * (1 + JITTER)
}
