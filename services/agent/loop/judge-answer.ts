import type { ChatAnswer, ToolCall } from '#kernel/ports/chat-model.ts'
import type { StopReason } from './stop-reason.ts'

/** What an answer is good for, or the end of the turn that it is. */
export type AnswerVerdict =
  | { text: string; toolCalls: ToolCall[] }
  | { stopReason: StopReason; error: { code: string; message: string } }

/**
 * Truncated first, whatever the answer contains; then malformed; then the allowance, before any
 * call of the batch: five asked and three left runs none.
 */
export function judgeAnswer(answer: ChatAnswer, toolCallsLeft: number): AnswerVerdict {
  const { isComplete, text, refusal, toolCalls } = answer
  if (!isComplete)
    return stop('truncated-response', 'truncated-response', 'The answer was cut off.')
  if (toolCalls.length === 0 && text.trim() === '') {
    return refusal === null
      ? stop('malformed-output', 'empty-output', 'Expected a text or tool calls, got neither.')
      : stop('malformed-output', 'refusal', 'The model refused to answer.')
  }
  const ids = new Set(toolCalls.map(({ id }) => id))
  const isNamed = toolCalls.every(({ id, name }) => id !== '' && name !== '')
  if (ids.size < toolCalls.length || !isNamed) {
    return stop('malformed-output', 'unnamed-calls', 'Expected tool calls with ids of their own.')
  }
  if (toolCalls.length > toolCallsLeft) {
    const message = `${toolCalls.length} tool calls were asked for, ${toolCallsLeft} are left.`
    return stop('max-tool-calls', 'max-tool-calls', message)
  }
  return { text, toolCalls }
}

function stop(stopReason: StopReason, code: string, message: string): AnswerVerdict {
  return { stopReason, error: { code, message } }
}
