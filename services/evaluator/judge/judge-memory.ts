/**
 * What judging remembers, as documents of the store.
 *
 * - `judge/<subscription>`: failed evaluations in a row.
 * - `judged/<subscription>/<candidate>`: calls begun for a candidate, so that each is charged once.
 * - `reservation/<id>`: what a call in flight holds of the budgets; it expires by itself.
 * - `ask/<subscription>/<candidate>`: a match that waits for a person.
 * - `verdict/<hash>`: the cache, see `verdict-cache.ts`.
 */

import type { BudgetWhat } from '#kernel/domain/budget-counters.ts'
import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'

export interface JudgeState {
  failures: number
}

export interface JudgedDocument {
  attempts: number
}

export interface Reservation {
  amounts: { counter: string; what: BudgetWhat; amount: number; ttlMs: number }[]
  /** Given back because nobody settled it in time. */
  isReleased: boolean
}

export interface AskDocument {
  /** Encoded candidate with its verdict, base64. */
  candidate: string
}

const DAY_MS = 86_400_000

/** Longer than events may come again. */
export const JUDGED_TTL_MS = 9 * DAY_MS
/** A held `ask` is appended again well before `evaluations` forgets it (8 days). */
export const ASK_AGAIN_MS = 6 * DAY_MS
/** How long a settled or released reservation is remembered. */
export const RESERVATION_TTL_MS = DAY_MS

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
