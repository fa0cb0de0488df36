import type { Verdict } from '#schemas/generated/records.ts'
import { hashId } from './ids.ts'
import type { Condition } from './subscription.ts'

/**
 * Names a criterion by its words and what they are asked of; verdicts say which one they answer.
 */
export function criterionHash({
  criterion,
  scope,
}: Pick<Condition, 'criterion' | 'scope'>): string {
  return hashId('k', scope, criterion.normalize('NFKC').trim())
}

/** The criterion that a verdict answers; undefined where it says none. */
export function askedCriterion(
  verdict: Pick<Verdict, 'body'> | null | undefined,
): string | undefined {
  const hash = (verdict?.body as { criterionHash?: unknown } | null | undefined)?.criterionHash
  return typeof hash === 'string' ? hash : undefined
}
