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
