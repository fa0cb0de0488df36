/**
 * What judging remembers, as documents of the store.
 *
 * - `judge/<subscription>`: candidates whose evaluations failed in a row.
 * - `judged/<subscription>/<candidate>`: calls begun for a candidate, so that each is charged once.
 * - `reservation/<id>`: what a call in flight holds of the budgets; it expires by itself.
 * - `ask/<subscription>/<candidate>`: a match that waits for a person; after its end, the mark that
 *   it is over.
 * - `verdict/<hash>`: the cache, see `verdict-cache.ts`.
 */

import type { BudgetWhat } from '#kernel/domain/budget-counters.ts'
import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'
import type { Verdict } from '#schemas/generated/records.ts'

export interface JudgeState {
  /** Candidates, each once: one that is read again has failed no more often for it. */
  failed: string[]
}

export interface JudgedDocument {
  attempts: number
}

export interface Reservation {
  amounts: { counter: string; what: BudgetWhat; amount: number; ttlMs: number }[]
  /** Nothing is held any more: nobody settled it in time, or it was settled. */
  isReleased: boolean
  /** The mark of a settlement, by which its repetition is known. */
  isSettled?: true
}

/** A question that waits. */
export interface OpenAsk {
  /** Encoded candidate with its verdict, base64. */
  candidate: string
  /** When it was last appended, store time. */
  appendedAt: number
}

/** The mark of a question that is over: its verdict says how. */
export interface EndedAsk {
  ended: Verdict
  /** When it ended, store time. */
  at: number
}

export type AskDocument = OpenAsk | EndedAsk

const DAY_MS = 86_400_000

/** Longer than events may come again. */
export const JUDGED_TTL_MS = 9 * DAY_MS
/** A held `ask` is appended again well before `evaluations` forgets it (8 days). */
export const ASK_AGAIN_MS = 6 * DAY_MS
/** How often a held `ask` is looked at: it may have lapsed since. */
export const ASK_LOOK_MS = DAY_MS
/** The mark of an ended one outlives its records in `evaluations` (8 days, in segments of one). */
export const ENDED_ASK_TTL_MS = 10 * DAY_MS
/** How long a released reservation can still be settled. */
export const RESERVATION_TTL_MS = DAY_MS
/** How long a settlement is remembered: much longer than one is repeated. */
export const SETTLED_TTL_MS = 3_600_000

export const judgeKey = (subscription: string) => `judge/${subscription}`
export const judgedKey = (subscription: string, candidate: string) =>
  `judged/${subscription}/${candidate}`
export const reservationKey = (id: string) => `reservation/${id}`
export const askKey = (subscription: string, candidate: string) =>
  `ask/${subscription}/${candidate}`

export type DueName =
  | { kind: 'reservation'; id: string }
  | { kind: 'ask'; subscription: string; candidateId: string }

/** Id of a due entry. */
export function dueId(name: DueName): string {
  if (name.kind === 'reservation') return tenantKey('reservation', name.id)
  return tenantKey('ask', name.subscription, name.candidateId)
}

/** Reads what `dueId` wrote. */
export function parseDueId(text: string): DueName {
  const [kind, first = '', second = ''] = splitTenantKey(text)
  if (kind === 'reservation') return { kind, id: first }
  return { kind: 'ask', subscription: first, candidateId: second }
}
