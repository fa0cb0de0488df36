import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { type ChargeRules, chargeRun } from './charge-run.ts'
import { claimedMessage, heldMessage } from './current-lease.ts'
import { repeatOf, type Settlement } from './decide-complete.ts'
import { emitOutcome, emitRunFinished } from './mailbox-outputs.ts'
import type { MessageDocument } from './message-document.ts'
import { attemptsUsed, enqueue, giveUp, recordMove } from './message-lifecycle.ts'
import { openMailbox } from './open-mailbox.ts'
import type { Run, RunError, RunResult } from './run-result.ts'

/** Longest backoff, ms. */
const BACKOFF_MS_MAX = 60_000

export interface FailInput {
  claim: LeaseClaim
  error: RunError
  /** False gives the message up at once. */
  retryable: boolean
  result?: RunResult
  agent: { maxAttempts: number; backoffMs: number }
  rules: ChargeRules
}

/** Ms before the next attempt: the agent's backoff, doubling, at most 60 000. */
export function backoffOf(backoffMs: number, attempt: number): number {
  return Math.min(BACKOFF_MS_MAX, backoffMs * 2 ** Math.min(attempt - 1, 30))
}

/**
 * Ends an attempt that did not succeed: back to the queue after a backoff, or `dead` when it may
 * not be tried again. The same lease failing twice gets the stored answer.
 */
export function decideFail(unit: UnitOfWork, input: FailInput): Settlement {
  const { claim, error, retryable, result, agent, rules } = input
  const repeat = repeatOf(claimedMessage(unit, claim), claim, 'fail')
  if (repeat) return repeat
  const { doc, message, lease } = heldMessage(unit, claim)
  const mailbox = openMailbox(unit, doc.agent)
  const reported = result ?? { ok: false, stopReason: 'failed', error }
  const run: Run = { ...reported, ok: false, attempt: doc.attempts, at: instantOf(unit.now) }
  run.error ??= error
  const { leaseId, executor } = lease
  const note = { leaseId, executor, by: executor }
  const availableAt = unit.now + backoffOf(agent.backoffMs, attemptsUsed(doc))
  const last = { leaseId: claim.leaseId, op: 'fail' as const }
  const failed: MessageDocument = { ...doc, state: 'failed', run, last, lease: null, availableAt }
  recordMove(unit, mailbox, failed, { ...note, reason: run.stopReason })
  emitRunFinished(unit, failed, message, run)
  chargeRun(unit, failed, run, rules)
  const isOver = !retryable || attemptsUsed(doc) >= agent.maxAttempts
  const { attempts } = failed
  if (isOver) {
    const reason = retryable ? 'attempts-exhausted' : 'not-retryable'
    const { state } = giveUp(unit, mailbox, failed, { ...note, reason })
    return { state, attempts, run, isRepeat: false }
  }
  emitOutcome(unit, failed, { state: 'failed', ok: false, reason: run.stopReason })
  const { state } = enqueue(unit, mailbox, failed, { ...note, reason: 'backoff' })
  return { state, attempts, run, availableAt, isRepeat: false }
}
