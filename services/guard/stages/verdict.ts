/**
 * The judgement of a semantic condition, which came with the candidate. A negative one ends here;
 * a missing one ends only where the candidate would wait or be delivered, because the evaluator
 * skips the model where another stage refuses anyway, and says which.
 */
import { askFactsOf } from '#kernel/domain/ask.ts'
import { askedCriterion, criterionHash } from '#kernel/domain/criterion-hash.ts'
import type { Fate, Stage } from '#kernel/domain/fate.ts'
import type { Skipped, Verdict } from '#schemas/generated/records.ts'
import { NEXT, type Refusal, type StageContext, type StageVerdict } from '../guard-facts.ts'

export function verdictStage({ facts, verdict }: StageContext): StageVerdict {
  const { condition } = facts.subscription
  if (!verdict) return NEXT
  const { outcome, confidence, id } = verdict
  const asked = askedCriterion(verdict)
  if (condition && asked !== undefined && asked !== criterionHash(condition)) {
    // Judged for words that the subscription no longer has.
    return { fate: 'inactive', stage: 'verdict', reason: 'superseded', details: { verdictId: id } }
  }
  const { answer } = askFactsOf(verdict)
  if (answer?.decision === 'ignore') {
    const { by, at } = answer
    return rejected('ignored', { by, at, confidence, verdictId: id })
  }
  // What a person accepted is a match, however sure the model was.
  if (!condition || answer) return NEXT
  if (outcome === 'failed') return failed('no-valid-verdict', { verdictId: id, ...why(verdict) })
  if (outcome === 'not-matched') return rejected('not-matched', { confidence, verdictId: id })
  const { minConfidence } = condition
  if (outcome === 'matched' && confidence < minConfidence) {
    return rejected('low-confidence', { confidence, minConfidence, verdictId: id })
  }
  return NEXT
}

/**
 * Without a positive verdict a semantic condition never activates (I15), and neither does a
 * question that nobody answered while it could wait.
 */
export function judgedStage({ facts, verdict, skipped }: StageContext): StageVerdict {
  const { lapse } = askFactsOf(verdict)
  if (lapse) return ended(lapse)
  if (!facts.subscription.condition || verdict?.outcome === 'matched') return NEXT
  if (!verdict && skipped) return ended(skipped)
  return failed('not-judged', { outcome: verdict?.outcome ?? null })
}

/** As the evaluator said. */
function ended({ fate, stage, reason, details }: Skipped): Refusal {
  const facts = (details ?? {}) as Record<string, unknown>
  return { fate: fate as Fate, stage: stage as Stage, reason, details: facts }
}

function why({ body }: Verdict): { failure?: string } {
  const { failure } = (body ?? {}) as { failure?: unknown }
  return typeof failure === 'string' ? { failure } : {}
}

function rejected(reason: string, details: Record<string, unknown>): Refusal {
  return { fate: 'rejected', stage: 'verdict', reason, details }
}

function failed(reason: string, details: Record<string, unknown>): Refusal {
  return { fate: 'evaluation-failed', stage: 'verdict', reason, details }
}
