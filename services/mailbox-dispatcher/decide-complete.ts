import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { type ChargeRules, chargeRun } from './charge-run.ts'
import { claimedMessage, heldMessage } from './current-lease.ts'
import { emitOutcome, emitRunFinished } from './mailbox-outputs.ts'
import type { LastLease, MessageDocument, MessageState } from './message-document.ts'
import { settle } from './message-lifecycle.ts'
import { openMailbox } from './open-mailbox.ts'
import type { Run, RunResult } from './run-result.ts'

/** What `complete`, `fail` and `ask` answer. */
export interface Settlement {
  state: MessageState
  attempts: number
  run: Run | null
  /** When it can be claimed again, ms since the epoch; only while queued. */
  availableAt?: number
  /** The same lease had settled before; nothing was written. */
  isRepeat: boolean
}

/**
 * Settles the message with its run, ok or not. The same lease completing twice gets the stored
 * result; any other late caller gets `stale-lease` (I7).
 */
export function decideComplete(
  unit: UnitOfWork,
  input: { claim: LeaseClaim; result: RunResult; rules: ChargeRules },
): Settlement {
  const { claim, result, rules } = input
  const repeat = repeatOf(claimedMessage(unit, claim), claim, 'complete')
  if (repeat) return repeat
  return finish(unit, { claim, result, rules, op: 'complete' })
}

/** Ends the lease and the message with one run; shared by `complete` and `ask`. */
export function finish(
  unit: UnitOfWork,
  input: {
    claim: LeaseClaim
    result: RunResult & { approvalId?: string; approval?: object }
    rules: ChargeRules
    op: LastLease['op']
  },
): Settlement {
  const { claim, result, rules, op } = input
  const { doc, message, lease } = heldMessage(unit, claim)
  const mailbox = openMailbox(unit, doc.agent)
  const run: Run = { ...result, attempt: doc.attempts, at: instantOf(unit.now) }
  const ended: MessageDocument = { ...doc, run, last: { leaseId: claim.leaseId, op } }
  emitOutcome(unit, ended, { state: 'done', ok: run.ok, reason: run.stopReason })
  emitRunFinished(unit, ended, message, run)
  chargeRun(unit, ended, run, rules)
  const { leaseId, executor } = lease
  const settled = settle(unit, mailbox, ended, { state: 'done', leaseId, executor, by: executor })
  return { state: settled.state, attempts: settled.attempts, run, isRepeat: false }
}

/** The stored answer when this lease already ended with the same operation. */
export function repeatOf(
  doc: MessageDocument,
  claim: LeaseClaim,
  op: LastLease['op'],
): Settlement | undefined {
  if (doc.last?.leaseId !== claim.leaseId || doc.last.op !== op) return undefined
  const availableAt = doc.state === 'queued' ? { availableAt: doc.availableAt } : {}
  return { state: doc.state, attempts: doc.attempts, run: doc.run, ...availableAt, isRepeat: true }
}
