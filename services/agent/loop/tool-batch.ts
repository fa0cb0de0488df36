/** The tool calls of one answer: an intent before them, their results kept together with them. */
import type { ChatItem, ToolCall } from '#kernel/ports/chat-model.ts'
import { idempotencyKeyOf, type ToolOutcome } from '../tools/dispatch-tool.ts'
import { failedWith, keep, type Step, type TurnState } from './turn-state.ts'

/**
 * Runs the calls in order and appends them with all their results. Ends the turn when a person
 * was asked, when the run may not go on, or when everything was accepted for later.
 */
export async function runBatch(
  state: TurnState,
  text: string,
  toolCalls: ToolCall[],
): Promise<Step | undefined> {
  const { world, input } = state
  const hasEffect = toolCalls.some(({ name }) => !world.isRead(name))
  if (hasEffect) {
    const named = toolCalls.map(call => ({ ...call, idempotencyKey: keyOf(input.messageId, call) }))
    const { messageId, key } = input
    const entriesBefore = state.history.filter(entry => entry.messageId === messageId).length
    await world.store.openIntent(key, { messageId, entriesBefore, text, toolCalls: named })
  }
  const outcomes = await dispatchAll(state, toolCalls)
  const results: ChatItem[] = toolCalls.map(({ id }, at) => ({
    role: 'tool',
    callId: id,
    text: outcomes[at]!.text,
  }))
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  const reply = repliesOf(outcomes)
  const said: ChatItem[] = reply ? [{ role: 'assistant', text: reply, toolCalls: [] }] : []
  await keep(state, [{ role: 'assistant', text, toolCalls: calls }, ...results, ...said])
  if (hasEffect) await world.store.closeIntent(input.key, input.messageId)
  const ended = outcomes.find(({ end }) => end)?.end
  if (ended?.stopReason === 'asked') return { end: { ...ended } }
  if (ended)
    return { end: failedWith(ended.stopReason, ended.reason, `It ended: ${ended.reason}.`) }
  return reply ? { end: { stopReason: 'final-message', finalMessage: reply } } : undefined
}

/** What stands in an intent; a call that no tool can read has a key all the same. */
function keyOf(messageId: string, { name, arguments: text }: ToolCall): string {
  try {
    return idempotencyKeyOf(messageId, name, JSON.parse(text))
  } catch {
    return idempotencyKeyOf(messageId, name, text)
  }
}

/** Calls after one that ended the run are answered without running. */
async function dispatchAll(state: TurnState, toolCalls: ToolCall[]): Promise<ToolOutcome[]> {
  const { world, input } = state
  const outcomes: ToolOutcome[] = []
  let isOver = false
  for (const call of toolCalls) {
    if (input.signal.aborted) throw input.signal.reason
    const outcome: ToolOutcome = isOver
      ? { tool: call.name, outcome: 'refused', text: 'refused: the run ended before this call' }
      : await world.dispatch(call)
    isOver ||= outcome.end !== undefined
    outcomes.push(outcome)
    const { tool } = outcome
    state.calls.push({ tool: tool.slice(0, 256), outcome: outcome.outcome })
    world.record?.({ kind: 'tool-call', tool, callId: call.id, outcome: outcome.outcome })
  }
  return outcomes
}

/** All was accepted for later: the person is answered now, without another model call. */
function repliesOf(outcomes: ToolOutcome[]): string | undefined {
  const replies = outcomes.flatMap(({ reply }) => (reply === undefined ? [] : [reply]))
  return replies.length === outcomes.length ? replies.join('\n') : undefined
}
