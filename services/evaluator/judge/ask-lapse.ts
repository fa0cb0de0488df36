/**
 * When may a question no longer wait? When no answer could lead to a delivery ever again. What may
 * change back, such as a pause, lets it wait on.
 */
import { askedCriterion, criterionHash } from '#kernel/domain/criterion-hash.ts'
import { parseRfc3339 } from '#kernel/domain/rfc3339.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Candidate } from '#schemas/generated/records.ts'
import { happenedAt, type Skip, skip } from './admission.ts'

/** Operation parts that nothing leads out of. */
const ENDS = ['deleted', 'expired', 'exhausted'] as const

/** The fate of a candidate whose question lapsed; null while it may wait. */
export function lapseOf(
  subscription: Subscription | undefined,
  candidate: Candidate,
  now: number,
): Skip | null {
  // A table that has not caught up knows nothing; a deleted subscription stays known for a month.
  if (!subscription) return null
  const { condition, state } = subscription
  const { operation } = state
  if (ENDS.some(end => end === operation)) return skip('inactive', 'state', operation)
  if (now >= expiryOf(subscription)) return skip('inactive', 'state', 'expired')
  if (!condition || criterionHash(condition) !== askedCriterion(candidate.verdict)) {
    return skip('inactive', 'verdict', 'superseded')
  }
  const { maxEventAgeMs } = subscription.limits
  if (maxEventAgeMs === null || now < ageLimitOf(subscription, candidate)) return null
  const ageMs = now - (happenedAt(candidate) ?? now)
  return skip('stale', 'state', 'too-old', { ageMs, maxEventAgeMs })
}

/** The first instant at which the event is too old; infinite without a bound. */
export function ageLimitOf({ limits }: Subscription, candidate: Candidate): number {
  const at = happenedAt(candidate)
  if (limits.maxEventAgeMs === null || at === undefined) return Number.POSITIVE_INFINITY
  return at + limits.maxEventAgeMs + 1
}

/** When the subscription expires; infinite where it does not. */
export function expiryOf({ limits }: Subscription): number {
  const { expiresAt } = limits
  return expiresAt === null
    ? Number.POSITIVE_INFINITY
    : (parseRfc3339(expiresAt) ?? Number.POSITIVE_INFINITY)
}
