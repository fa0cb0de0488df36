/** The agent's model: a server that speaks the Responses API, or the mock. */
import { createMockChat } from '#kernel/adapters/mock-model/mock-chat.ts'
import { createResponsesChat } from '#kernel/adapters/openai/responses-chat.ts'
import { systemClock } from '#kernel/adapters/system/system-clock.ts'
import type { ChatModel } from '#kernel/ports/chat-model.ts'

/** What configuration says about a model that is reached over HTTP. */
export interface HttpModel {
  provider: 'openai' | 'azure'
  baseUrl: string
  apiKey: string
  model: string
  contextTokensMax: number
}

/** Calls nobody; the first call of the model does. */
export function openChatModel(
  choice: { mode: 'mock' } | ({ mode: 'real' } & HttpModel),
): ChatModel {
  if (choice.mode === 'mock') return createMockChat()
  return createResponsesChat({ ...choice, clock: systemClock })
}
