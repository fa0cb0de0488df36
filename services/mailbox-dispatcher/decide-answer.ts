import { hashId } from '#kernel/domain/ids.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { ApprovalAnswer, ApprovalDocument } from './approval-document.ts'
import { emitContinuation, sessionMessage } from './continuation.ts'
import { emitPlatformEvent } from './mailbox-outputs.ts'
import { approvalKey, SETTLED_TTL_MS } from './message-document.ts'

/** Who answers. An agent never does: it would answer itself. */
export interface Answerer {
  name: string
  /** Holds the permission to approve for anybody. */
  mayApprove: boolean
}

/**
 * Hands a person's answer to the session that asked, as one continuation. Answering twice alike
 * is one answer; another answer afterwards is a `conflict`.
 */
export function decideAnswer(
  unit: UnitOfWork,
  input: { approvalId: string; answer: ApprovalAnswer; by: Answerer },
): { messageId: string; agent: string; isRepeat: boolean } {
  const { approvalId, answer, by } = input
  const key = approvalKey(approvalId)
  const approval = unit.get<ApprovalDocument>(key)
  if (!approval) throw new AmbitError('not-found', `Nobody asked ${approvalId}.`)
  refuseStranger(approval, by)
  const { agent, session, frame, question, effect, messageId } = approval
  if (approval.answer) {
    if (approval.answer.decision !== answer.decision) {
      throw new AmbitError('conflict', `${approvalId} was answered: ${approval.answer.decision}.`)
    }
    return { messageId: approval.answer.continuation, agent, isRepeat: true }
  }
  const id = hashId('m', unit.tenant, 'answer', approvalId)
  const given = { ...answer, by: by.name, at: unit.now, continuation: id }
  unit.put(key, { ...approval, answer: given }, { ttlMs: SETTLED_TTL_MS })
  const told = { kind: 'answer' as const, approvalId, question, effect, messageId }
  const words = { ...answer, by: by.name, at: unit.now }
  emitContinuation(unit, { id, agent, session, frame, input: { ...told, ...words } })
  emitPlatformEvent(unit, askingMessage(unit, approval), {
    id: hashId('e', unit.tenant, 'approval', approvalId),
    type: 'platform.approval.resolved',
    data: { approvalId, messageId, agent, decision: answer.decision, by: by.name },
  })
  return { messageId: id, agent, isRepeat: false }
}

function refuseStranger({ owner, frame }: ApprovalDocument, by: Answerer): void {
  if (by.mayApprove || by.name === owner || by.name === frame.onBehalfOf) return
  throw new AmbitError('forbidden', 'Expected the owner or somebody who may approve.')
}

/** Enough of the message that asked to give its event the right subject and lineage. */
function askingMessage(unit: UnitOfWork, { frame, messageId, agent, session }: ApprovalDocument) {
  const kind = frame.subscription ? 'activation' : 'continuation'
  return sessionMessage(unit, { id: messageId, agent, session, frame, kind, input: null })
}
