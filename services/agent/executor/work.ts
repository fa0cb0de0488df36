/** What working on a message needs, and the message in hand. */
import type { Price } from '#kernel/domain/model-price.ts'
import type { ChatModel } from '#kernel/ports/chat-model.ts'
import type { Message } from '#services/client/api.ts'
import type { WorkContext } from '#services/client/handle-message.ts'
import type { SessionKey, SessionStore } from '../loop/session-store.ts'
import type { TurnLimits } from '../loop/turn-limits.ts'
import type { LoopClock, TurnRecord } from '../loop/turn-state.ts'
import type { Operation } from '../operations/operation.ts'
import type { OperationStore } from '../operations/operation-store.ts'
import type { Tool } from '../tools/tool.ts'
import type { ToolRegistry } from '../tools/tool-registry.ts'
import type { AgentMessage } from './agent-message.ts'
import type { ToolRules } from './tool-rules.ts'
import type { WaitingMessage } from './waiting-messages.ts'

export interface ExecutorWorld {
  agent: string
  model: ChatModel
  /** The history as the holder of that fencing token may write it. */
  sessionsUnder(token: () => number): SessionStore
  operations: OperationStore
  registry: ToolRegistry
  /** Operations of connectors that may be used for this message, as they are offered now. */
  connectorTools(message: Message): Promise<Tool[]>
  limits: TurnLimits
  /** What tokens of the model cost; of a model without a price nothing is known. */
  prices: readonly Price[]
  clock: LoopClock
  rules: ToolRules
  /** Messages of that session that wait in the mailbox, the one in hand perhaps among them. */
  waitingMessages(session: string): Promise<WaitingMessage[]>
  /** Asks for the closing of the operation's batch; another name asks for another. */
  askClosing(operation: Operation, name: string): Promise<void>
  record(messageId: string, entry: TurnRecord): void
  /** Shows the text of an answer while it comes; undefined ends it. */
  onDraft?(key: SessionKey, messageId: string, text: string | undefined): void
}

/** One message in hand. */
export interface Work {
  world: ExecutorWorld
  message: Message
  context: WorkContext
  key: SessionKey
  sessions: SessionStore
  asked: AgentMessage
}
