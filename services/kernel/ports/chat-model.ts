/**
 * A model that talks and asks for tools. An adapter owns transport and its retries; what an answer
 * is good for belongs to the agent loop above it.
 *
 * - M1 One call makes at most three attempts; 4xx other than 408, 409 and 429 is not tried again.
 * - M2 An aborted signal ends the call at once: the request is aborted and not only abandoned.
 * - M3 What the model said is handed on as it came: arguments are unparsed text.
 * - M4 `onText` hears the text of the answer as it grows. It is no answer: another attempt begins
 *   from nothing, and what was heard may end as cut off or refused.
 */

/** Attempts of one model call over HTTP, the first included (M1). */
export const MODEL_ATTEMPTS_MAX = 3

/** A tool call as the model wrote it. */
export interface ToolCall {
  id: string
  name: string
  /** JSON as text, unchecked. */
  arguments: string
}

/** One entry of a conversation. */
export type ChatItem =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; toolCalls: ToolCall[] }
  | { role: 'tool'; callId: string; text: string }

/** What the model is told about a tool. */
export interface ToolDescription {
  name: string
  description: string
  /** JSON Schema of its arguments, an object. */
  parameters: Record<string, unknown>
}

export interface ChatRequest {
  /** Who the model is and what binds it; never event data. */
  instructions: string
  items: ChatItem[]
  tools: ToolDescription[]
  outputTokensMax: number
}

export interface ModelUsage {
  inputTokens: number
  outputTokens: number
}

export interface ChatAnswer {
  /** False when the answer was cut off, whatever it contains. */
  isComplete: boolean
  text: string
  /** Why the model would not answer, in its words. */
  refusal: string | null
  toolCalls: ToolCall[]
  usage: ModelUsage
}

/** What a call rejects with when there is no answer. The message holds no payload. */
export class ModelFailure extends Error {
  /** `context-overflow` when the request was too long, else `model-error`. */
  readonly reason: 'context-overflow' | 'model-error'
  /** HTTP status, where one came. */
  readonly status: number | undefined
  constructor(
    message: string,
    facts: { reason?: 'context-overflow' | 'model-error'; status?: number; cause?: unknown } = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.name = 'ModelFailure'
    this.reason = facts.reason ?? 'model-error'
    this.status = facts.status
  }
}

export interface ChatModel {
  /** Shown to people and recorded with usage. */
  readonly name: string
  /** Tokens of request and answer together. */
  readonly contextTokensMax: number
  /** Rejects `ModelFailure`, or with the signal's reason once that is aborted. */
  complete(
    request: ChatRequest,
    signal: AbortSignal,
    /** Given the whole text so far, each time. */
    onText?: (textSoFar: string) => void,
  ): Promise<ChatAnswer>
}
