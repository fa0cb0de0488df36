/** What people may do with messages, sessions and questions. */
import { isEntitled } from '#kernel/domain/policy.ts'
import { isPermitted, type Principal } from '#kernel/domain/principal.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { SubscriptionName } from '#schemas/generated/records.ts'
import type { ApprovalAnswer } from './approval-document.ts'
import { decideAnswer } from './decide-answer.ts'
import { decideCancel } from './decide-cancel.ts'
import { decideContinuation } from './decide-continuation.ts'
import { decideRedrive } from './decide-redrive.ts'
import type { LossDetector } from './loss-detector.ts'
import { isStopped, type MailboxWorld } from './mailbox-world.ts'
import {
  approvalKey,
  type MessageDocument,
  type MessageState,
  mailboxKey,
  messageKey,
} from './message-document.ts'
import type { OperationRunner } from './operation-runner.ts'
import type { Performer } from './performer.ts'

export interface ContinuationBody {
  session: string
  kind: 'turn' | 'follow-up'
  input: unknown
  /** Needed for a follow-up. */
  handle?: string
  /** Names the request; random when omitted. */
  requestId?: string
}

export interface MessageStatusAnswer {
  id: string
  state: MessageState
  attempts: number
}

export interface PersonOperations {
  cancel(by: Principal, id: string, reason: string): Promise<MessageStatusAnswer>
  redrive(by: Principal, id: string): Promise<MessageStatusAnswer>
  continueSession(by: Principal, agent: string, body: ContinuationBody): Promise<{ id: string }>
  answerApproval(by: Principal, id: string, answer: ApprovalAnswer): Promise<{ messageId: string }>
}

interface Parts {
  world: MailboxWorld
  performer: Performer
  detector: LossDetector
  runner: OperationRunner
}

export function createPersonOperations(parts: Parts): PersonOperations {
  return {
    async cancel(by, id, reason) {
      const name = principalName(by)
      return statusOf(
        await onMessage(parts, { by, id }, unit =>
          decideCancel(unit, { messageId: id, by: name, reason }),
        ),
      )
    },
    async redrive(by, id) {
      const name = principalName(by)
      return statusOf(
        await onMessage(parts, { by, id }, unit =>
          decideRedrive(unit, { messageId: id, by: name }),
        ),
      )
    },
    continueSession: (by, agent, body) => continueSession(parts, by, agent, body),
    answerApproval: (by, id, answer) => answerApproval(parts, by, id, answer),
  }
}

function statusOf({ id, state, attempts }: MessageDocument): MessageStatusAnswer {
  return { id, state, attempts }
}

/** The agent is known from the document only, so the mailbox is opened after it was found. */
function onMessage(
  { performer, detector }: Parts,
  { by, id }: { by: Principal; id: string },
  decide: (unit: Parameters<typeof decideCancel>[0]) => MessageDocument,
): Promise<MessageDocument> {
  const { tenant } = by
  const key = messageKey(id)
  return performer.perform({
    tenant,
    lane: id,
    documents: [key],
    decide: (unit, { requireReady }) => {
      const agent = unit.get<MessageDocument>(key)?.agent ?? detector.agentOf(tenant, key)
      if (agent !== undefined) {
        requireReady(agent)
        unit.get(mailboxKey(agent))
      }
      return decide(unit)
    },
  })
}

async function continueSession(
  { world, performer }: Parts,
  by: Principal,
  agent: string,
  body: ContinuationBody,
): Promise<{ id: string }> {
  const { directory, ids, signer } = world
  const { tenant } = by
  const { session, kind, input, handle } = body
  const name = principalName(by)
  if (kind === 'turn') refuseTurn(world, by, agent)
  const claim = handle === undefined ? undefined : signer.verify(handle)
  if (kind === 'follow-up' && !claim) {
    throw new AmbitError('bad-handle', 'Expected the handle of the run that opened this work.')
  }
  if (isStopped(directory, tenant, agent)) {
    throw new AmbitError('conflict', `The agent ${agent} is stopped; start it first.`)
  }
  const requestId = body.requestId ?? ids.random()
  const subscription = subscriptionName(world, tenant, claim?.subscription ?? null)
  const policy = directory.policy(tenant)
  const request = { agent, session, kind, input, requestId, by: name, claim, subscription, policy }
  return performer.perform({
    tenant,
    agent,
    isAppendOnly: true,
    lane: agent,
    documents: [],
    decide: unit => decideContinuation(unit, request),
  })
}

/** A turn is a person's; an agent that could send one would wake itself past the guard. */
function refuseTurn({ directory }: MailboxWorld, by: Principal, agent: string): void {
  const isAllowed =
    by.kind === 'person' && isEntitled(directory.policy(by.tenant), principalName(by), agent)
  if (by.kind === 'system' || by.roles.includes('admin') || isAllowed) return
  throw new AmbitError('forbidden', 'Expected a person who may have this agent woken.')
}

function subscriptionName(
  { directory }: MailboxWorld,
  tenant: string,
  id: string | null,
): SubscriptionName | null {
  const found = id === null ? undefined : directory.subscription(tenant, id)
  return found
    ? { id: found.id, version: found.version, name: found.name, owner: found.owner }
    : null
}

async function answerApproval(
  { world, performer, runner }: Parts,
  by: Principal,
  id: string,
  answer: ApprovalAnswer,
): Promise<{ messageId: string }> {
  const { tenant } = by
  if (by.kind === 'agent') {
    throw new AmbitError('forbidden', 'Expected a person: an agent does not answer agents.')
  }
  const answerer = { name: principalName(by), mayApprove: isPermitted(by, 'approve') }
  const key = approvalKey(id)
  const answered = await performer.perform({
    tenant,
    lane: id,
    documents: [key],
    decide: (unit, { requireReady }) => {
      const answered = decideAnswer(unit, { approvalId: id, answer, by: answerer })
      requireReady(answered.agent)
      return answered
    },
  })
  if (answered.isRepeat) await runner.drain(tenant)
  world.logger.info({ tenant, approval: id, decision: answer.decision }, 'approval answered')
  return { messageId: answered.messageId }
}
