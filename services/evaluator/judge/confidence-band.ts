/** What a verdict means for one subscription. */
import type { Condition } from '#kernel/domain/subscription.ts'
import type { ValidVerdict } from './validate-verdicts.ts'

export type Outcome = 'matched' | 'not-matched' | 'ask' | 'failed'

/**
 * `minConfidence` is inclusive. From `askConfidence` up to it a match is put to a person; below
 * both it stays `matched`, and the guard rejects it for its confidence.
 */
export function outcomeOf(
  { matched, confidence }: Pick<ValidVerdict, 'matched' | 'confidence'>,
  { minConfidence, askConfidence }: Pick<Condition, 'minConfidence' | 'askConfidence'>,
): Outcome {
  if (!matched) return 'not-matched'
  const isAsked = askConfidence !== undefined && confidence >= askConfidence
  return isAsked && confidence < minConfidence ? 'ask' : 'matched'
}
