/**
 * Writes what became of a batch, in the order of its candidates and in one commit: candidates for
 * the guard, verdicts for audits, questions for people, and a suspension where nothing works.
 */

import { moneyText } from '#kernel/domain/model-price.ts'
import type { Condition, Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, EventRecord, Verdict } from '#schemas/generated/records.ts'
import type { Skip } from './admission.ts'
import { outcomeOf } from './confidence-band.ts'
import type { FailureReason } from './judge-items.ts'
import {
  ASK_AGAIN_MS,
  type AskDocument,
  askKey,
  dueId,
  type JudgeState,
  judgeKey,
} from './judge-memory.ts'
import {
  emitCandidate,
  emitQuestion,
  emitSuspension,
  emitVerdict,
  type VerdictBody,
} from './judge-outputs.ts'
import { PROMPT_VERSION } from './prompt.ts'
import type { Share } from './share-usage.ts'
import { DUE_QUEUE } from './spending.ts'
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
  /** The record came with a verdict: a person's answer, or a question that waits on. */
  | { kind: 'told'; verdict: Verdict }
  | { kind: 'no-condition' }

export interface Finished {
  candidate: Candidate & { event: EventRecord }
  result: Result
  /** Calls that were made for it now. */
  spent: readonly { attempt: number; share: Share; latencyMs: number }[]
  isCut: boolean
}

export interface FinishedBatch {
  subscription: Subscription | undefined
  finished: readonly Finished[]
  codec: RecordCodec
  suspendAfter: number
}

/** One commit for all of them. */
export function finishBatch(unit: UnitOfWork, batch: FinishedBatch): void {
  const { subscription, finished } = batch
  const [first] = finished
  if (!first) return
  const key = judgeKey(first.candidate.subscription)
  const before = unit.get<JudgeState>(key)?.failures ?? 0
  let failures = before
  for (const each of finished) {
    const { result, candidate } = each
    if (result.kind === 'told') passOn(unit, batch.codec, candidate, result.verdict)
    else if (result.kind === 'judged' || result.kind === 'failed') {
      writeVerdict(unit, batch, each, result)
      failures = result.kind === 'failed' ? failures + 1 : 0
      if (failures === batch.suspendAfter && subscription && result.kind === 'failed') {
        emitSuspension(unit, subscription, { failures, failure: result.reason })
        failures = 0
      }
    } else {
      const skipped = result.kind === 'skipped' ? result.skip : null
      emitCandidate(unit, 'candidates', { ...candidate, skipped })
    }
  }
  if (failures !== before) unit.put(key, { failures } satisfies JudgeState)
}

/** A person's answer goes on; a question that was appended again waits on. */
function passOn(
  unit: UnitOfWork,
  codec: RecordCodec,
  candidate: Candidate,
  verdict: Verdict,
): void {
  const { subscription, candidateId } = candidate
  const key = askKey(subscription, candidateId)
  const held = unit.get<AskDocument>(key)
  if (verdict.outcome === 'ask') {
    if (!held) hold(unit, codec, candidate)
    return
  }
  emitCandidate(unit, 'candidates', candidate)
  if (held) unit.remove(key)
  unit.due(DUE_QUEUE, dueId({ kind: 'ask', subscription, candidateId }), null)
}

function writeVerdict(
  unit: UnitOfWork,
  { subscription, codec }: FinishedBatch,
  finished: Finished,
  result: Extract<Result, { kind: 'judged' | 'failed' }>,
): void {
  const { candidate } = finished
  const verdict = verdictOf(unit.tenant, finished, result)
  emitVerdict(unit, candidate, { verdict, version: subscription?.version ?? candidate.version })
  const judged = { ...candidate, verdict }
  if (verdict.outcome !== 'ask') {
    emitCandidate(unit, 'candidates', judged)
    return
  }
  emitCandidate(unit, 'evaluations', judged)
  hold(unit, codec, judged)
  const { candidateId } = candidate
  if (subscription) emitQuestion(unit, subscription, { candidateId, verdict })
}

/** Keeps a question, and says when to append it again before its topic forgets it. */
function hold(unit: UnitOfWork, codec: RecordCodec, candidate: Candidate): void {
  const { subscription, candidateId } = candidate
  const encoded = codec.encode('candidate', candidate)
  const document: AskDocument = { candidate: encoded.toBase64() }
  unit.put(askKey(subscription, candidateId), document)
  unit.due(DUE_QUEUE, dueId({ kind: 'ask', subscription, candidateId }), unit.now + ASK_AGAIN_MS)
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

/** A held question whose record would soon be forgotten is appended again. */
export function askAgain(
  unit: UnitOfWork,
  codec: RecordCodec,
  name: { subscription: string; candidateId: string },
): void {
  const held = unit.get<AskDocument>(askKey(name.subscription, name.candidateId))
  const id = dueId({ kind: 'ask', ...name })
  if (!held) {
    unit.due(DUE_QUEUE, id, null)
    return
  }
  const bytes = Uint8Array.fromBase64(held.candidate)
  emitCandidate(unit, 'evaluations', codec.decode('candidate', bytes))
  unit.due(DUE_QUEUE, id, unit.now + ASK_AGAIN_MS)
}
