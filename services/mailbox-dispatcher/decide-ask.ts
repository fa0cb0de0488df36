import { hashId } from '#kernel/domain/ids.ts'
import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { type ApprovalDocument, frameOf } from './approval-document.ts'
import type { ChargeRules } from './charge-run.ts'
import { claimedMessage, heldMessage } from './current-lease.ts'
import { finish, repeatOf } from './decide-complete.ts'
import { emitNotice } from './mailbox-outputs.ts'
import { approvalKey, SETTLED_TTL_MS } from './message-document.ts'
import type { RunResult } from './run-result.ts'

export interface AskInput {
  claim: LeaseClaim
  question: string
  options?: string[]
  /** The effect that a yes shall allow. */
  effect?: { tool: string; target?: string }
  /** What the run had done until it asked. */
  result?: RunResult
  rules: ChargeRules
}

/**
 * Ends the run with a question: the lease is over, the message is done, and a person's answer
 * will come as a continuation of the session. The same lease asking twice asks once.
 */
export function decideAsk(
  unit: UnitOfWork,
  input: AskInput,
): { approvalId: string; isRepeat: boolean } {
  const { claim, question, rules } = input
  const repeat = repeatOf(claimedMessage(unit, claim), claim, 'ask')
  if (repeat?.run?.approvalId) return { approvalId: repeat.run.approvalId, isRepeat: true }
  const { doc, message } = heldMessage(unit, claim)
  const id = hashId('a', unit.tenant, doc.id, doc.attempts)
  const approval: ApprovalDocument = {
    id,
    messageId: doc.id,
    agent: doc.agent,
    session: doc.session ?? doc.id,
    question,
    options: input.options ?? null,
    effect: input.effect ?? null,
    owner: message.subscription?.owner ?? message.onBehalfOf,
    frame: frameOf(message),
    askedAt: unit.now,
    answer: null,
  }
  unit.put(approvalKey(id), approval, { ttlMs: SETTLED_TTL_MS })
  emitNotice(unit, {
    kind: 'approval',
    severity: 'info',
    cause: `approval ${id}`,
    owner: approval.owner,
    subscription: doc.subscription,
    agent: doc.agent,
    messageId: doc.id,
    text: `The agent ${doc.agent} asks: ${question}`,
    details: { approvalId: id, question, options: approval.options, effect: approval.effect },
  })
  const soFar = input.result
  const result = { ...soFar, ok: false, stopReason: 'asked', approvalId: id, approval }
  finish(unit, { claim, result, rules, op: 'ask' })
  return { approvalId: id, isRepeat: false }
}
