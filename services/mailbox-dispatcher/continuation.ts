/** Messages that continue a session: they never pass the guard (guard stage 2). */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { Message } from '#schemas/generated/records.ts'
import type { MessageFrame } from './approval-document.ts'
import { mailboxRecordKey } from './message-document.ts'

/** What a turn without a message behind it starts from. */
export const BLANK_FRAME: MessageFrame = {
  onBehalfOf: null,
  workspace: null,
  subscription: null,
  lineage: [],
  policyVersion: 0,
  instruction: '',
}

/** `input` of a continuation as executors see it; written here only. */
export type ContinuationInput = { kind: 'turn' | 'follow-up' | 'answer' } & Record<string, unknown>

/**
 * Appends a continuation to the mailbox. It keeps the lineage of what it continues and adds no
 * hop: a session that goes on for long is no deeper chain, and cannot shorten one (I10).
 */
export function emitContinuation(
  unit: UnitOfWork,
  continuation: {
    id: string
    agent: string
    session: string
    frame: MessageFrame
    input: ContinuationInput
  },
): void {
  const { id, agent, session, frame, input } = continuation
  const value = sessionMessage(unit, { id, agent, session, frame, kind: 'continuation', input })
  const key = mailboxRecordKey(unit.tenant, agent)
  unit.emit({ topic: 'mailbox', key, id, tenant: unit.tenant, value })
}

/** A message of a session that carries no events: only the frame of what it goes back to. */
export function sessionMessage(
  unit: UnitOfWork,
  {
    frame,
    ...own
  }: Pick<Message, 'id' | 'agent' | 'session' | 'kind' | 'input'> & {
    frame: MessageFrame
  },
): Omit<Message, 'events'> & { events: [] } {
  return {
    ...frame,
    ...own,
    tenant: unit.tenant,
    events: [],
    evidence: [],
    candidateIds: [],
    groupKey: null,
    createdAt: unit.now,
    expiresAt: null,
    concurrencyMax: 0,
  }
}
