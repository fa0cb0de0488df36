/** When each observation is asked next: a poll at its beat, a probe now and then. */
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import type { Observation, Subscriber } from './rules/observation-book.ts'
import { type Beat, firstBeat, intervalOf, nextBeat, probeDelay } from './rules/poll-schedule.ts'

export interface Standing {
  observation: Observation
  live: readonly Subscriber[]
  state: ObservationState | undefined
  now: number
}

export interface PollAgenda {
  /** What is to be done now, and nothing while it is early. */
  due(standing: Standing): 'poll' | 'probe' | undefined
  /** A poll begins; answers how late it is, in ms. */
  begin(key: string, now: number): number
  /** It ended; `waitMs` is what the server asked for, `soonMs` when it must be made again. */
  end(key: string, done: { now: number; waitMs?: number; soonMs?: number }): void
}

interface Entry {
  kind: 'poll' | 'probe'
  interval: number
  beat: Beat
  startedAt: number
}

export function createPollAgenda({ random }: { random(): number }): PollAgenda {
  const entries = new Map<string, Entry>()
  const wantPoll = ({ observation, live, state, now }: Standing): Entry => {
    const interval = intervalOf(live)
    const known = entries.get(observation.key)
    if (known?.kind === 'poll' && known.interval === interval) return known
    // Somebody joined or left, or it was suspended until now: the interval counts anew.
    const last = known?.kind === 'poll' ? known.startedAt : Date.parse(state?.polledAt ?? '')
    const polledAt = Number.isNaN(last) || last === 0 ? null : last
    const beat = firstBeat({ interval, polledAt }, { now, random: random() })
    return { kind: 'poll', interval, beat, startedAt: known?.startedAt ?? 0 }
  }
  const wantProbe = ({ observation, state }: Standing): Entry | undefined => {
    const { suspended } = state ?? {}
    if (!suspended || suspended.proposedAt) return undefined
    const isWaited = [...observation.subscribers.values()].some(each => each.isSuspendedHere)
    if (!isWaited) return undefined
    const known = entries.get(observation.key)
    if (known?.kind === 'probe') return known
    const at = Date.parse(suspended.at) + probeDelay(suspended.probes, random())
    return { kind: 'probe', interval: 0, beat: { base: at, at }, startedAt: 0 }
  }
  return {
    due(standing) {
      const { key } = standing.observation
      const entry = standing.live.length > 0 ? wantPoll(standing) : wantProbe(standing)
      if (!entry) {
        entries.delete(key)
        return undefined
      }
      entries.set(key, entry)
      return entry.beat.at <= standing.now ? entry.kind : undefined
    },
    begin(key, now) {
      const entry = entries.get(key)
      if (!entry) return 0
      const lateMs = Math.max(0, now - entry.beat.at)
      entry.startedAt = now
      if (entry.kind === 'poll') {
        entry.beat = nextBeat(entry.beat, entry.interval, { now, random: random() })
      }
      return lateMs
    },
    end(key, { now, waitMs, soonMs }) {
      const entry = entries.get(key)
      if (!entry) return
      if (entry.kind === 'probe') {
        entries.delete(key)
      } else if (soonMs !== undefined) {
        const at = now + soonMs
        entry.beat = { base: at, at }
      } else if (waitMs !== undefined && entry.beat.at < now + waitMs) {
        entry.beat = { base: now + waitMs, at: now + waitMs }
      }
    },
  }
}
