/** The tool calls of one answer: an intent before them, their results kept together with them. */
import type { ChatItem, ToolCall } from '#kernel/ports/chat-model.ts'
import { idempotencyKeyOf, type ToolOutcome } from '../tools/dispatch-tool.ts'
import { entriesOf } from './last-words.ts'
import { type About, failedWith, keep, type Step, type TurnState } from './turn-state.ts'

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
    const entriesBefore = entriesOf(state.history, messageId).length
    await world.store.openIntent(key, { messageId, entriesBefore, text, toolCalls: named })
  }
  const outcomes = await dispatchAll(state, toolCalls)
  const results: ChatItem[] = toolCalls.map(({ id }, at) => ({
    role: 'tool',
    callId: id,
    text: outcomes[at]!.text,
  }))
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  const ended = outcomes.find(({ end }) => end)?.end
  const words = lastWords(input, outcomes, ended)
  const said: ChatItem[] = words ? [{ role: 'assistant', text: words.text, toolCalls: [] }] : []
  const items: ChatItem[] = [{ role: 'assistant', text, toolCalls: calls }, ...results, ...said]
  await keep(state, items, words?.about)
  if (hasEffect) await world.store.closeIntent(input.key, input.messageId)
  if (ended?.stopReason === 'asked') return { end: { ...ended } }
  if (ended)
    return { end: failedWith(ended.stopReason, ended.reason, `It ended: ${ended.reason}.`) }
  return words ? { end: { stopReason: 'final-message', finalMessage: words.text } } : undefined
}

/**
 * What the turn ends with when no model says it: a question, or that everything was accepted. News
 * is told in the same breath, since this turn has no other.
 */
function lastWords(
  { news }: TurnState['input'],
  outcomes: ToolOutcome[],
  ended: ToolOutcome['end'],
): { text: string; about: About } | undefined {
  const question = ended?.stopReason === 'asked' ? ended.question : undefined
  const reply = ended ? undefined : repliesOf(outcomes)
  const said = question?.question ?? reply
  if (said === undefined) return undefined
  const text = news ? `${said}\n\n${news.text}` : said
  const asked = question ? { question, stopReason: 'asked' as const } : {}
  return { text, about: { ...asked, ...(news ? { tells: news.tells } : {}) } }
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
