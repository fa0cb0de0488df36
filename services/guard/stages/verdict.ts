/**
 * The judgement of a semantic condition, which came with the candidate. A negative one ends here;
 * a missing one ends only where the candidate would wait or be delivered, because the evaluator
 * skips the model where another stage refuses anyway, and says which.
 */
import { criterionHash } from '#kernel/domain/criterion-hash.ts'
import type { Fate, Stage } from '#kernel/domain/fate.ts'
import type { Verdict } from '#schemas/generated/records.ts'
import { NEXT, type Refusal, type StageContext, type StageVerdict } from '../guard-facts.ts'

export function verdictStage({ facts, verdict }: StageContext): StageVerdict {
  const { condition } = facts.subscription
  if (!condition || !verdict) return NEXT
  const { outcome, confidence, id } = verdict
  const asked = askedCriterion(verdict)
  if (asked !== undefined && asked !== criterionHash(condition)) {
    // Judged for words that the subscription no longer has.
    return { fate: 'inactive', stage: 'verdict', reason: 'superseded', details: { verdictId: id } }
  }
  if (outcome === 'failed') return failed('no-valid-verdict', { verdictId: id, ...why(verdict) })
  if (outcome === 'not-matched') return rejected('not-matched', { confidence, verdictId: id })
  const { minConfidence } = condition
  if (outcome === 'matched' && confidence < minConfidence) {
    return rejected('low-confidence', { confidence, minConfidence, verdictId: id })
  }
  return NEXT
}

/** Without a positive verdict a semantic condition never activates (I15). */
export function judgedStage({ facts, verdict, skipped }: StageContext): StageVerdict {
  if (!facts.subscription.condition || verdict?.outcome === 'matched') return NEXT
  if (!verdict && skipped) {
    const details = (skipped.details ?? {}) as Record<string, unknown>
    const { fate, stage, reason } = skipped
    return { fate: fate as Fate, stage: stage as Stage, reason, details }
  }
  return failed('not-judged', { outcome: verdict?.outcome ?? null })
}

function askedCriterion({ body }: Verdict): string | undefined {
  const hash = memberOf(body, 'criterionHash')
  return typeof hash === 'string' ? hash : undefined
}

function why({ body }: Verdict): { failure?: string } {
  const failure = memberOf(body, 'failure')
  return typeof failure === 'string' ? { failure } : {}
}

function memberOf(body: unknown, name: string): unknown {
  if (typeof body !== 'object' || body === null) return undefined
  return (body as Record<string, unknown>)[name]
}

function rejected(reason: string, details: Record<string, unknown>): Refusal {
  return { fate: 'rejected', stage: 'verdict', reason, details }
}

function failed(reason: string, details: Record<string, unknown>): Refusal {
  return { fate: 'evaluation-failed', stage: 'verdict', reason, details }
}
