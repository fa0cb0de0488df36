/**
 * Which texts are being judged in this process now, so that two who ask the same at the same moment
 * pay once. A follower holds no money and no place among the calls: it only waits.
 */
import type { ValidVerdict } from './validate-verdicts.ts'

/** How the one who asked fared, as far as it concerns others. */
export type SharedOutcome =
  | { kind: 'judged'; verdict: ValidVerdict; model: string }
  /** The model gave no valid verdict, however often it was asked. */
  | { kind: 'failed' }
  /** Nobody was asked: no budget had room, or the work was taken away. */
  | { kind: 'not-asked' }

export type Claim =
  | {
      kind: 'lead'
      /** Must be called whatever happens; others may be waiting. */
      end(outcome: SharedOutcome): void
    }
  | { kind: 'follow'; outcome: Promise<SharedOutcome> }

export interface CallsUnderWay {
  /** The first to claim a key leads until it ends; the others follow. */
  claim(key: string): Claim
}

export function createCallsUnderWay(): CallsUnderWay {
  const leads = new Map<string, Promise<SharedOutcome>>()
  return {
    claim(key) {
      const outcome = leads.get(key)
      if (outcome) return { kind: 'follow', outcome }
      const { promise, resolve } = Promise.withResolvers<SharedOutcome>()
      leads.set(key, promise)
      return {
        kind: 'lead',
        end(outcome) {
          leads.delete(key)
          resolve(outcome)
        },
      }
    },
  }
}
