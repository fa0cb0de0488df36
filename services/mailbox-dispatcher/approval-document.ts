/** A question that a run asked a person. */
import type { ANSWERS } from '#kernel/domain/approval-answer.ts'
import type { Effect } from './effect.ts'
import type { StoredMessage } from './message-document.ts'

/** What a person decided; the members beside `decision` depend on it. */
export interface ApprovalAnswer {
  decision: (typeof ANSWERS)[number]
  /** Arguments to use instead, with `edit`. */
  args?: unknown
  /** Free text, with `respond`. */
  text?: string
  reason?: string
}

/** `approval/<id>`; kept as long as settled messages are. */
export interface ApprovalDocument {
  id: string
  messageId: string
  agent: string
  /** Where the answer goes: the message's session, else one named after the message. */
  session: string
  question: string
  options: string[] | null
  /** The effect that an `accept` or `edit` allows. */
  effect: Pick<Effect, 'tool' | 'target'> | null
  owner: string | null
  /** Frame of the message that asked: the answer continues it. */
  frame: MessageFrame
  askedAt: number
  answer: (ApprovalAnswer & { by: string; at: number; continuation: string }) | null
}

/** What a continuation takes over from the message it continues. */
export type MessageFrame = Pick<
  StoredMessage,
  'onBehalfOf' | 'workspace' | 'subscription' | 'lineage' | 'policyVersion' | 'instruction'
>

/** The frame of a message. */
export function frameOf(message: StoredMessage): MessageFrame {
  const { onBehalfOf, workspace, subscription, lineage, policyVersion, instruction } = message
  return { onBehalfOf, workspace, subscription, lineage, policyVersion, instruction }
}
