/**
 * Writes what became of a batch, in the order of its candidates and in one commit: candidates for
 * the guard, verdicts for audits, questions for people, and a suspension where nothing works.
 */

import type { AskAnswer } from '#kernel/domain/ask.ts'
import { moneyText } from '#kernel/domain/model-price.ts'
import type { Condition, Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, EventRecord, Verdict } from '#schemas/generated/records.ts'
import type { Skip } from './admission.ts'
import { type AskName, answerAsk, meetAsk, openAsk, readAsk } from './asks.ts'
import { outcomeOf } from './confidence-band.ts'
import type { FailureReason } from './judge-items.ts'
import { type JudgeState, judgeKey } from './judge-memory.ts'
import { emitCandidate, emitSuspension, emitVerdict, type VerdictBody } from './judge-outputs.ts'
import { PROMPT_VERSION } from './prompt.ts'
import type { Share } from './share-usage.ts'
import type { ValidVerdict } from './validate-verdicts.ts'
import { verdictIdOf } from './verdict-cache.ts'

export type Result =
  | {
      kind: 'judged'
      verdict: ValidVerdict
      model: string
      condition: Condition
      criterion: string
      isCached: boolean
    }
  | { kind: 'failed'; reason: FailureReason; model: string; criterion: string }
  /** Nobody was asked. */
  | { kind: 'skipped'; skip: Skip }
  /** A person was asked about it before. */
  | { kind: 'asked' }
  /** The record is the question itself. */
  | { kind: 'question' }
  | { kind: 'no-condition' }

export interface Finished {
  candidate: Candidate & { event: EventRecord }
  result: Result
  /** Calls that were made for it now. */
  spent: readonly { attempt: number; share: Share; latencyMs: number }[]
  isCut: boolean
}

/** A person's answer in its place among the candidates. */
export type Answered = AskName & { answer: AskAnswer }

export interface FinishedBatch {
  /** Id of the lane's subscription. */
  id: string
  subscription: Subscription | undefined
  finished: readonly (Finished | Answered)[]
  codec: RecordCodec
  suspendAfter: number
}

/** One commit for all of them. */
export function finishBatch(unit: UnitOfWork, batch: FinishedBatch): void {
  const { id, subscription, finished } = batch
  const key = judgeKey(id)
  const before = unit.get<JudgeState>(key)?.failed ?? []
  let failed = before
  for (const each of finished) {
    if ('answer' in each) {
      answerAsk(unit, batch, each)
      continue
    }
    const { result, candidate } = each
    if (result.kind !== 'judged' && result.kind !== 'failed') {
      passOn(unit, batch, each)
      continue
    }
    writeVerdict(unit, batch, each, result)
    failed = failedAfter(failed, candidate.candidateId, result.kind === 'failed')
    if (failed.length >= batch.suspendAfter && subscription && result.kind === 'failed') {
      emitSuspension(unit, subscription, { failures: failed.length, failure: result.reason })
      failed = []
    }
  }
  if (failed !== before) unit.put(key, { failed } satisfies JudgeState)
}

/** Candidates that failed in a row, after one more evaluation. */
export function failedAfter(failed: string[], candidateId: string, isFailure: boolean): string[] {
  if (!isFailure) return failed.length === 0 ? failed : []
  return failed.includes(candidateId) ? failed : [...failed, candidateId]
}

/** What nobody had to be asked about now. */
function passOn(unit: UnitOfWork, batch: FinishedBatch, { candidate, result }: Finished): void {
  if (result.kind === 'question') readAsk(unit, batch, candidate)
  else if (result.kind !== 'asked' || !meetAsk(unit, candidate)) {
    const skipped = result.kind === 'skipped' ? result.skip : null
    emitCandidate(unit, { ...candidate, skipped })
  }
}

function writeVerdict(
  unit: UnitOfWork,
  batch: FinishedBatch,
  finished: Finished,
  result: Extract<Result, { kind: 'judged' | 'failed' }>,
): void {
  const { candidate } = finished
  const verdict = verdictOf(unit.tenant, finished, result)
  const version = batch.subscription?.version ?? candidate.version
  emitVerdict(unit, candidate, { verdict, version })
  const judged = { ...candidate, verdict }
  if (verdict.outcome === 'ask') openAsk(unit, batch, judged)
  else emitCandidate(unit, judged)
}

/** The verdict as candidates and audits carry it. */
export function verdictOf(
  tenant: string,
  { candidate, spent, isCut }: Finished,
  result: Extract<Result, { kind: 'judged' | 'failed' }>,
): Verdict {
  const { candidateId } = candidate
  const { model, criterion } = result
  const id = verdictIdOf(tenant, { candidateId, criterion, model })
  const sum = (of: (share: Share) => number) => spent.reduce((all, { share }) => all + of(share), 0)
  const isJudged = result.kind === 'judged'
  const body: VerdictBody = {
    evidence: isJudged ? result.verdict.evidence : [],
    reason: isJudged ? result.verdict.reason : '',
    criterionHash: criterion,
    promptVersion: PROMPT_VERSION,
    attempts: Math.max(0, ...spent.map(({ attempt }) => attempt)),
    usage: {
      inputTokens: sum(({ inputTokens }) => inputTokens),
      outputTokens: sum(({ outputTokens }) => outputTokens),
      calls: sum(({ calls }) => calls),
      cost: moneyText(sum(({ micros }) => micros)),
    },
    latencyMs: spent.reduce((all, { latencyMs }) => all + latencyMs, 0),
    ...(isJudged ? {} : { failure: result.reason }),
    ...(isCut ? { isCut: true as const } : {}),
  }
  return {
    ...{ id, model, cached: isJudged && result.isCached, body },
    outcome: isJudged ? outcomeOf(result.verdict, result.condition) : 'failed',
    confidence: isJudged ? result.verdict.confidence : 0,
  }
}
