/** How a poll ended, what is known around it, and what follows. */
import type { Connector } from '#kernel/domain/connector.ts'
import type { ObservationState, PollRefusal } from '#kernel/domain/observation-state.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Fresh, Position } from './novelty.ts'
import type { Observation, Subscriber } from './observation-book.ts'

/** How a poll ended. */
export type PollResult =
  | {
      kind: 'answered'
      position: Position
      fresh: (Fresh & { time?: string })[]
      /** The source says, or the memory cannot rule out, that something is missing. */
      hasGap?: boolean
    }
  /** `error` is one of the fixed words. */
  | { kind: 'failed'; error: string }
  /** `hash`: what a changed operation is now; `isFlagged`: the registry knows it. */
  | { kind: 'refused'; refusal: PollRefusal; hash?: string | null; isFlagged?: boolean }
  /** The operation's hash was read for the first time. */
  | { kind: 'unpinned'; hash: string }

export interface PollFacts {
  observation: Observation
  /** Those who want it now. */
  live: readonly Subscriber[]
  connector: Connector | undefined
  now: number
  writer: string
}

export interface Decided {
  state: ObservationState
  outputs: Output[]
  /** Worth writing down; `polledAt` alone is not, unless it is old. */
  isNews: boolean
}
