/** A follow-up: the one message that closes a batch, if nobody has told its results yet. */
import type { RunResult } from '#services/client/api.ts'
import { lastWordsOf } from '../loop/last-words.ts'
import { runResultOf } from './run-report.ts'
import { runTurn } from './run-turn.ts'
import { mayPass, say, settleTurn } from './settle-turn.ts'
import { markTold, takeUpdates, type Updates } from './take-updates.ts'
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
  const { key, sessions, message, context } = work
  const spoken = lastWordsOf(await sessions.history(key), message.id)
  if (spoken?.question) return recover(work)
  const updates = await takeUpdates(work, 'proactive')
  if (spoken) return closedWith(spoken.item.text)
  if (!updates || updates.isAwaited) return closedWith(undefined)
  const mayRecover = updates.hasFailed && context.attempt <= RECOVERY_ATTEMPTS_MAX
  return mayRecover ? recover(work, updates) : tell(work, updates)
}

async function tell(work: Work, { text, tells }: Updates): Promise<RunResult> {
  await say(work, text, { tells })
  await markTold(work)
  return closedWith(text)
}

async function recover(work: Work, updates?: Updates): Promise<RunResult | undefined> {
  const result = await runTurn(work, { news: updates, language: updates?.language })
  const isSaid = result.ok || result.stopReason === 'asked'
  if (!isSaid && !mayPass(result) && updates) {
    await tell(work, updates)
    return runResultOf(result)
  }
  if (isSaid) await markTold(work)
  return settleTurn(work, result)
}

function closedWith(output: string | undefined): RunResult {
  const said = output === undefined ? {} : { output }
  return { ok: true, stopReason: 'final-message', ...NOTHING_USED, ...said }
}
