/**
 * The judgement of a semantic condition, which came with the candidate. A negative one ends here;
 * a missing one ends only where the candidate would wait or be delivered, because the evaluator
 * skips the model where another stage refuses anyway.
 */
import { NEXT, type Refusal, type StageContext, type StageVerdict } from '../guard-facts.ts'

export function verdictStage({ facts, verdict }: StageContext): StageVerdict {
  const { condition } = facts.subscription
  if (!condition || !verdict) return NEXT
  const { outcome, confidence, id } = verdict
  if (outcome === 'failed') return failed('no-valid-verdict', { verdictId: id })
  if (outcome === 'not-matched') return rejected('not-matched', { confidence, verdictId: id })
  const { minConfidence } = condition
  if (outcome === 'matched' && confidence < minConfidence) {
    return rejected('low-confidence', { confidence, minConfidence, verdictId: id })
  }
  return NEXT
}

/** Without a positive verdict a semantic condition never activates (I15). */
export function judgedStage({ facts, verdict }: StageContext): StageVerdict {
  if (!facts.subscription.condition || verdict?.outcome === 'matched') return NEXT
  return failed('not-judged', { outcome: verdict?.outcome ?? null })
}

function rejected(reason: string, details: Record<string, unknown>): Refusal {
  return { fate: 'rejected', stage: 'verdict', reason, details }
}

function failed(reason: string, details: Record<string, unknown>): Refusal {
  return { fate: 'evaluation-failed', stage: 'verdict', reason, details }
}
