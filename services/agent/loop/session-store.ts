/**
 * What a turn needs to remember, in its own words; where it lies is somebody else's business.
 *
 * - H1 `append` is seen whole or not at all. An assistant message with tool calls is only ever
 *   appended together with the results of all of them, so no orphan can be read back.
 * - H2 An intent is durable when `open` resolves, and stays until `close`, whatever other messages
 *   of the session do meanwhile.
 * - H3 A writer whose lease was taken over is refused with `LeaseLost`.
 */
import type { ChatItem, ToolCall } from '#kernel/ports/chat-model.ts'
import type { PendingQuestion } from '../tools/dispatch-tool.ts'
import type { StopReason } from './stop-reason.ts'

/** A session of one tenant. */
export interface SessionKey {
  tenant: string
  session: string
}

/** An item of the conversation, and the message in whose turn it came. */
export interface HistoryEntry {
  messageId: string
  item: ChatItem
  /** Ms since the epoch, for people. */
  at: number
  /** On the last words of a turn that ended otherwise than with an answer of the model. */
  stopReason?: StopReason
  /** What a person is asked, on the words that ask it: the mailbox must hear of it too. */
  question?: PendingQuestion
  /** The operations whose results these words tell. */
  tells?: Telling
  /** Said beside the turn, which goes on afterwards: not its last words. */
  isAside?: true
  /** What people see in place of the item's text. */
  shown?: string
  /** What woke the session, on the opening of a woken turn. */
  cause?: SessionCause
}

/** Results that enter the conversation, and how they came. */
export interface Telling {
  mode: 'proactive' | 'next_turn'
  /** Ids of operations. */
  operations: string[]
}

/** The subscription and the events behind a woken session; each event has a trace. */
export interface SessionCause {
  subscription: { id: string; name: string } | null
  events: { source: string; id: string; type: string }[]
}

/** Tool calls that are about to run, or ran without their results being kept yet. */
export interface BatchIntent {
  messageId: string
  /** Entries of that message's turn which the history held before. */
  entriesBefore: number
  text: string
  /** Each with the idempotency key under which it runs, also when it runs again. */
  toolCalls: (ToolCall & { idempotencyKey: string })[]
}

export interface SessionStore {
  history(key: SessionKey): Promise<HistoryEntry[]>
  append(key: SessionKey, entries: HistoryEntry[]): Promise<void>
  openIntent(key: SessionKey, intent: BatchIntent): Promise<void>
  /** The open intent of that message, if any. */
  findIntent(key: SessionKey, messageId: string): Promise<BatchIntent | undefined>
  closeIntent(key: SessionKey, messageId: string): Promise<void>
}
