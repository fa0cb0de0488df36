/** A follow-up: the one message that closes a batch, if nobody has told its results yet. */
import type { RunResult } from '#services/client/api.ts'
import { closingContext, closingText } from '../operations/closing-text.ts'
import type { Operation } from '../operations/operation.ts'
import { runResultOf } from './run-report.ts'
import { runTurn } from './run-turn.ts'
import { mayPass, say, settleTurn } from './settle-turn.ts'
import { takeUpdates } from './take-updates.ts'
import type { Work } from './work.ts'

/** Attempts at a recovery by the model; afterwards the results are told as they are. */
const RECOVERY_ATTEMPTS_MAX = 3

const NOTHING_USED = {
  usage: { inputTokens: 0, outputTokens: 0, calls: 0 },
  ...{ iterations: 0, toolCalls: 0, calls: [] },
}

/**
 * Successes are told without a model; it is asked only to recover from failures. A follow-up that
 * finds nothing left, or a person's turn waiting behind it, is void.
 */
export async function closeOperations(work: Work): Promise<RunResult | undefined> {
  const { world, key, sessions, message, context } = work
  const own = (await sessions.history(key)).findLast(({ messageId }) => messageId === message.id)
  if (own) return closedWith(own.item.text)
  const all = await world.operations.ofSession(key)
  const isResumed = all.some(({ deliveredBy }) => deliveredBy === message.id)
  if (!isResumed && (await world.isTurnWaiting(key.session))) return closedWith(undefined)
  const taken = await takeUpdates(work, 'proactive')
  if (taken.length === 0) return closedWith(undefined)
  const hasFailed = taken.some(({ outcome }) => !outcome?.ok)
  if (hasFailed && context.attempt <= RECOVERY_ATTEMPTS_MAX) return recover(work, taken)
  return tell(work, taken)
}

async function tell(work: Work, taken: Operation[]): Promise<RunResult> {
  const text = closingText(taken, name => work.world.registry.find(name))
  await say(work, text)
  return closedWith(text)
}

async function recover(work: Work, taken: Operation[]): Promise<RunResult | undefined> {
  const ephemeral = closingContext(taken, name => work.world.registry.find(name))
  const result = await runTurn(work, { ephemeral, language: taken[0]?.language })
  const isTold = result.ok || result.stopReason === 'asked' || mayPass(result)
  if (isTold) return settleTurn(work, result)
  await tell(work, taken)
  return runResultOf(result)
}

function closedWith(output: string | undefined): RunResult {
  const said = output === undefined ? {} : { output }
  return { ok: true, stopReason: 'final-message', ...NOTHING_USED, ...said }
}
