/** Everything that judging writes besides its documents: one function per noun. */
import type { AskFacts } from '#kernel/domain/ask.ts'
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import { moneyText } from '#kernel/domain/model-price.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type {
  Candidate,
  Change,
  Notice,
  Usage,
  Verdict,
  VerdictRecord,
} from '#schemas/generated/records.ts'
import type { Share } from './share-usage.ts'

/** Stage of usage records, and of the attempts they count. */
export const JUDGE_STAGE = 'judge'

/** The candidate with its verdict, or with the reason why none was asked for. */
export function emitCandidate(unit: UnitOfWork, candidate: Candidate): void {
  unit.emit(candidateOutput('candidates', { ...candidate, at: unit.now }))
}

/**
 * A candidate on its way to the guard, or one that waits for a person: that keeps the time at which
 * it was matched, however often it is appended.
 */
export function candidateOutput(topic: 'candidates' | 'evaluations', candidate: Candidate): Output {
  const { tenant, subscription, candidateId, event } = candidate
  const traceparent = event?.attributes.traceparent
  return {
    topic,
    key: tenantKey(tenant, subscription),
    id: topic === 'candidates' ? candidateId : `${candidateId}/ask`,
    tenant,
    value: candidate,
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
  }
}

/** The audit copy of a verdict; of one that was put to a person, once more with its `end`. */
export function emitVerdict(
  unit: UnitOfWork,
  candidate: Candidate,
  { verdict, version, end }: { verdict: Verdict; version: number; end?: 'answer' | 'lapse' },
): void {
  const { tenant, subscription, candidateId } = candidate
  const { id, outcome, confidence, model, cached, body } = verdict
  const { criterionHash, promptVersion, attempts } = body as VerdictBody
  const value: VerdictRecord = {
    ...{ id, tenant, subscription, version, candidateId, criterionHash, promptVersion },
    ...{ model, outcome, confidence, cached, attempts, body, at: unit.now },
  }
  const key = tenantKey(tenant, subscription)
  unit.emit({ topic: 'verdicts', key, id: `${id}/${end ?? attempts}`, tenant, value })
}

/** What a verdict says besides its outcome. Evidence and reason are untrusted text. */
export interface VerdictBody extends AskFacts {
  evidence: { quote: string; pointer: string }[]
  reason: string
  criterionHash: string
  promptVersion: string
  /** Calls begun for the candidate in all. */
  attempts: number
  usage: { inputTokens: number; outputTokens: number; calls: number; cost: string }
  latencyMs: number
  /** Why there is no verdict, where the outcome is `failed`. */
  failure?: string
  /** The item was longer than a judge reads. */
  isCut?: true
}

/** What one attempt at one candidate cost. */
export function emitUsage(
  unit: UnitOfWork,
  subscription: Subscription,
  spent: { candidateId: string; attempt: number; share: Share; zone: string },
): void {
  const { id, tenant, owner, agent } = subscription
  const { candidateId, attempt, share, zone } = spent
  const value: Usage = {
    ...{ tenant, subscription: id, owner, agent, subject: candidateId },
    ...{ stage: JUDGE_STAGE, attempt, activations: 0, calls: share.calls },
    ...{ inputTokens: share.inputTokens, outputTokens: share.outputTokens },
    ...{ cost: moneyText(share.micros), day: dayOf(unit.now, zone), at: unit.now },
  }
  const key = tenantKey(tenant, id)
  unit.emit({ topic: 'usage', key, id: `${candidateId}/${JUDGE_STAGE}/${attempt}`, tenant, value })
}

/** Suspends a subscription whose evaluations fail and fail, and tells its owner why. */
export function emitSuspension(
  unit: UnitOfWork,
  subscription: Subscription,
  { failures, failure }: { failures: number; failure: string },
): void {
  const { tenant, now } = unit
  const { id, version, name } = subscription
  const reason = `${failures} evaluations in a row failed, the last one because of: ${failure}.`
  const changeId = hashId('x', tenant, 'evaluator', 'suspend', id, version)
  const value: Change = {
    ...{ changeId, tenant, kind: 'subscription', id, action: 'suspend' },
    ...{ body: { kind: 'evaluation' }, reason, ifVersion: version, at: now },
    by: { tenant, kind: 'system', id: 'evaluator', roles: [] },
  }
  const key = objectKey(tenant, 'subscription', id)
  unit.emit({ topic: 'registry.changes', key, id: changeId, tenant, value })
  emitNotice(unit, subscription, {
    ...{ kind: 'evaluation', severity: 'critical', cause: `evaluation/${id}/${version}` },
    text: `${name}: ${reason} The subscription is suspended until a person resumes it.`,
    details: { failures, failure },
  })
}

/** Puts a match of middling confidence to the owner. */
export function emitQuestion(
  unit: UnitOfWork,
  subscription: Subscription,
  { candidateId, verdict }: { candidateId: string; verdict: Verdict },
): void {
  const confidence = Math.round(verdict.confidence * 100)
  emitNotice(unit, subscription, {
    ...{ kind: 'ask', severity: 'info', cause: `ask/${candidateId}` },
    text: `${subscription.name}: a match with ${confidence} % confidence waits for your answer.`,
    details: { candidateId, verdictId: verdict.id, confidence: verdict.confidence },
  })
}

function emitNotice(
  unit: UnitOfWork,
  { id: subscription, tenant, owner, agent }: Subscription,
  notice: Pick<Notice, 'kind' | 'severity' | 'cause' | 'text' | 'details'>,
): void {
  const id = hashId('n', tenant, notice.cause)
  const value: Notice = {
    ...{ id, tenant, ...notice, owner, subscription, agent, messageId: null, at: unit.now },
  }
  unit.emit({ topic: 'notices', key: tenantKey(tenant, owner), id, tenant, value })
}
