/** The faults of one seed: which are on, and how often each happened. */
import type { Random } from './random.ts'

/** Name and short meaning of every fault that the simulator plants. */
export const FAULTS = {
  F1: 'crash between two awaits',
  F2: 'crash after output, before offset commit',
  F3: 'crash after produce, before the answer',
  F4: 'produce times out, was written',
  F5: 'produce times out, was not or not wholly written',
  F6: 'duplicated by the network',
  F7: 'rebalance in the middle of a batch',
  F8: 'owner paused beyond lease and session',
  F9: 'group offsets lost',
  F10: 'store call times out',
  F11: 'store flushed',
  F12: 'store fails over, last second lost',
  F13: 'keys expire early or late',
  F14: 'store read-only',
  F15: 'clocks apart and jumping',
  F16: 'embedded file busy, full, or power lost',
  F17: 'outside service fails, is slow, or accepts and drops',
  F18: 'model fails, lies or rambles',
  F19: 'MCP server fails, forgets or changes',
  F20: 'compaction gaps',
  F21: 'record delayed past its window',
  F22: 'same event into two replicas',
  F23: 'undecodable record',
  F24: 'change at the moment of the event',
  F25: 'timers late',
  F26: 'run emits events that match',
  F27: 'limit reached inside a batch',
  F28: 'late append of an old owner',
  F29: 'event sent the moment a change was answered',
  F30: 'control plane away longer than the continuity',
  'lost-answer': 'request or answer of the API is lost',
  drain: 'process is told to stop',
} as const
export type Fault = keyof typeof FAULTS

/** Faults that need a store beside the log, or several processes. */
const SPLIT_ONLY: readonly Fault[] = ['F9', 'F10', 'F11', 'F12', 'F14', 'F28']
const JOINED_ONLY: readonly Fault[] = ['F16']
/** Met only where there is a model, an MCP server, or an agent with tools of its own. */
const OUTSIDE: readonly Fault[] = ['F17', 'F18', 'F19', 'lost-answer', 'drain']

/** What the pipeline alone can meet. */
export const PIPELINE_FAULTS = (Object.keys(FAULTS) as Fault[]).filter(
  fault => !OUTSIDE.includes(fault),
)

export interface Faults {
  readonly on: ReadonlySet<Fault>
  /** True while faults happen; the quiet phase ends them all. */
  isActive(): boolean
  end(): void
  /** Draws whether the fault happens now, and notes it. */
  strikes(fault: Fault, probability: number): boolean
  /** Notes one that was planned. */
  note(fault: Fault): void
  /** How often each happened. */
  readonly counts: ReadonlyMap<Fault, number>
}

/** At least five of the given faults, chosen by the seed; `isNone` for a world without any. */
export function chooseFaults(
  random: Random,
  { isJoined, isNone, among }: { isJoined: boolean; isNone: boolean; among: readonly Fault[] },
): Faults {
  const excluded = isJoined ? SPLIT_ONLY : JOINED_ONLY
  const possible = among.filter(fault => !excluded.includes(fault))
  const share = random.pick([0.25, 0.4, 0.6, 0.9])
  const on = new Set(possible.filter(() => random.chance(share)))
  while (on.size < 5) on.add(random.pick(possible))
  if (isNone) on.clear()
  const draws = random.fork('draws')
  const counts = new Map<Fault, number>()
  let isActive = true
  const note = (fault: Fault) => void counts.set(fault, (counts.get(fault) ?? 0) + 1)
  return {
    on,
    counts,
    isActive: () => isActive,
    end: () => {
      isActive = false
    },
    note,
    strikes(fault, probability) {
      if (!isActive || !on.has(fault) || !draws.chance(probability)) return false
      note(fault)
      return true
    },
  }
}
