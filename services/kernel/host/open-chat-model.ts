/** The agent's model: a server that speaks the Responses API, or the mock. */
import { createMockChat } from '#kernel/adapters/mock-model/mock-chat.ts'
import { createResponsesChat } from '#kernel/adapters/openai/responses-chat.ts'
import { systemClock } from '#kernel/adapters/system/system-clock.ts'
import type { ChatModel } from '#kernel/ports/chat-model.ts'
import type { ModelChoice } from './choose-model.ts'

/** Calls nobody; the first call of the model does. */
export function openChatModel(choice: ModelChoice): ChatModel {
  if (choice.mode === 'mock') return createMockChat(systemClock)
  return createResponsesChat({ ...choice, clock: systemClock })
}
