/**
 * One bounded turn: check limits, prepare a request that fits, call the model, dispatch tools,
 * and again. Model, tools, history and time are given; every exit is a `StopReason`.
 */
import {
  type ChatAnswer,
  type ChatItem,
  type ChatRequest,
  ModelFailure,
} from '#kernel/ports/chat-model.ts'
import { stopReasonOf } from '../tools/dispatch-tool.ts'
import { callModel } from './call-model.ts'
import { fitContext } from './fit-context.ts'
import { judgeAnswer } from './judge-answer.ts'
import { entriesOf, lastWordsOf } from './last-words.ts'
import { LeaseLost } from './lease-lost.ts'
import type { HistoryEntry } from './session-store.ts'
import { runBatch } from './tool-batch.ts'
import {
  failedWith,
  keep,
  type Step,
  type TurnInput,
  type TurnResult,
  type TurnState,
  type TurnWorld,
} from './turn-state.ts'

/**
 * Runs a turn to one of its ends. Never rejects for an ordinary failure; rejects when the history
 * cannot be kept, because then nobody may act.
 */
export async function runAgentTurn(world: TurnWorld, input: TurnInput): Promise<TurnResult> {
  const state: TurnState = {
    ...{ world, input, startedAt: world.clock.now(), history: [], iterations: 0, calls: [] },
    usage: { inputTokens: 0, outputTokens: 0, calls: 0 },
  }
  try {
    return resultOf(state, await untilEnd(state))
  } catch (error) {
    if (error instanceof LeaseLost) {
      return resultOf(state, failedWith('lease-lost', 'session-taken-over', error.message))
    }
    if (!input.signal.aborted) throw error
    const stopReason = input.interruption(input.signal.reason)
    return resultOf(state, failedWith(stopReason, stopReason, 'The run was interrupted.'))
  }
}

async function untilEnd(state: TurnState): Promise<Step['end']> {
  const begun = await begin(state)
  if (begun) return begun.end
  for (;;) {
    const step = limitReached(state) ?? (await iterate(state).finally(() => endDraft(state)))
    if (step) return step.end
  }
}

/** What was shown while it came is kept by now, or will never be. */
function endDraft({ world }: TurnState): void {
  world.onDraft?.(undefined)
}

/** Takes up what an earlier attempt at the message left, or begins. */
async function begin(state: TurnState): Promise<Step | undefined> {
  const { world, input } = state
  const { key, messageId, opening, shown, cause } = input
  state.history = await world.store.history(key)
  const spoken = lastWordsOf(state.history, messageId)
  if (spoken) return { end: endOf(spoken) }
  const own = entriesOf(state.history, messageId)
  if (opening !== undefined && own.length === 0) {
    const about = { ...(shown === undefined ? {} : { shown }), ...(cause ? { cause } : {}) }
    await keep(state, [{ role: 'user', text: opening }], about)
  }
  const intent = await world.store.findIntent(key, messageId)
  if (!intent) return undefined
  if (own.length > intent.entriesBefore) {
    await world.store.closeIntent(key, messageId)
    return undefined
  }
  return runBatch(state, intent.text, intent.toolCalls)
}

/** How an earlier attempt ended that did not live to say so. */
function endOf({ item, stopReason, question }: HistoryEntry): Step['end'] {
  if (question) return { stopReason: 'asked', question }
  if (stopReason) return failedWith(stopReason, stopReason, 'An earlier attempt ended so.')
  return { stopReason: 'final-message', finalMessage: item.text }
}

function limitReached({ world, input, iterations, startedAt }: TurnState): Step | undefined {
  const { iterationsMax, wallTimeMs } = world.limits
  if (input.signal.aborted) throw input.signal.reason
  if (iterations >= iterationsMax) {
    const message = `The turn used its ${iterationsMax} iterations.`
    return { end: failedWith('max-iterations', 'max-iterations', message) }
  }
  if (world.clock.now() - startedAt >= wallTimeMs) {
    return { end: failedWith('wall-time', 'wall-time', `The turn used its ${wallTimeMs} ms.`) }
  }
  return undefined
}

async function iterate(state: TurnState): Promise<Step | undefined> {
  const { world, input } = state
  const { allowed, reason } = await world.mayGoOn()
  const denied = allowed ? undefined : (stopReasonOf(reason) ?? 'policy-denied')
  if (denied) return { end: failedWith(denied, reason, `The run may not go on: ${reason}.`) }
  const { request: whole, turnAt } = requestOf(state)
  const request = fitContext(whole, world.model.contextTokensMax, turnAt)
  if (!request) {
    const message = 'The current turn does not fit the context window of the model.'
    return { end: failedWith('context-overflow', 'context-overflow', message) }
  }
  state.iterations += 1
  const answered = await answerTo(state, request)
  if ('end' in answered) return answered
  const verdict = judgeAnswer(answered, world.limits.toolCallsMax - state.calls.length)
  if ('stopReason' in verdict) return { end: { ...verdict } }
  if (verdict.toolCalls.length > 0) return runBatch(state, verdict.text, verdict.toolCalls)
  const tells = input.news?.tells
  await keep(state, [{ role: 'assistant', text: verdict.text, toolCalls: [] }], tells && { tells })
  return { end: { stopReason: 'final-message', finalMessage: verdict.text } }
}

/**
 * This turn's own items come last, whatever the session heard while it waited to be tried again.
 * News stands right before them, so that the answer is to what the person said.
 */
function requestOf({ world, input, history }: TurnState): { request: ChatRequest; turnAt: number } {
  const { news, instructions, messageId } = input
  const before = history.filter(entry => entry.messageId !== messageId).map(({ item }) => item)
  const own = history.filter(entry => entry.messageId === messageId).map(({ item }) => item)
  const told: ChatItem[] = news ? [{ role: 'user', text: news.context }] : []
  const request = {
    ...{ items: [...before, ...told, ...own], instructions },
    tools: world.tools,
    outputTokensMax: world.limits.outputTokensMax,
  }
  return { request, turnAt: before.length }
}

async function answerTo(state: TurnState, request: ChatRequest): Promise<ChatAnswer | Step> {
  const { world, input, usage } = state
  const startedAt = world.clock.now()
  const answer = await callModel(world, request, input.signal).catch((error: unknown) => {
    if (input.signal.aborted) throw input.signal.reason
    return error
  })
  usage.calls += 1
  if (answer instanceof ModelFailure) {
    return { end: failedWith(answer.reason, answer.reason, answer.message) }
  }
  if (answer === 'request-timeout') {
    const message = `No answer of the model within ${world.limits.requestTimeoutMs} ms.`
    return { end: failedWith('request-timeout', 'request-timeout', message) }
  }
  if (!isAnswer(answer)) {
    return { end: failedWith('model-error', 'model-error', 'The model adapter failed.') }
  }
  usage.inputTokens += answer.usage.inputTokens
  usage.outputTokens += answer.usage.outputTokens
  world.record?.({
    kind: 'model-call',
    ms: world.clock.now() - startedAt,
    isComplete: answer.isComplete,
    ...answer.usage,
  })
  return answer
}

function isAnswer(value: unknown): value is ChatAnswer {
  return typeof value === 'object' && value !== null && 'toolCalls' in value
}

function resultOf(state: TurnState, end: Step['end']): TurnResult {
  const { usage, iterations, calls, world } = state
  const { stopReason, error } = end
  world.record?.({ kind: 'stopped', stopReason, ...(error ? { code: error.code } : {}) })
  const ok = stopReason === 'final-message'
  return { ok, ...end, usage, iterations, toolCalls: calls.length, calls }
}
