/** From the end of a turn to what the mailbox is told. */
import type { RunResult } from '#services/client/api.ts'
import { RunFailure } from '#services/client/client-error.ts'
import type { HistoryEntry } from '../loop/session-store.ts'
import type { StopReason } from '../loop/stop-reason.ts'
import type { TurnResult } from '../loop/turn-state.ts'
import { runResultOf } from './run-report.ts'
import type { Work } from './work.ts'

/** Ends after which the message is not done: it is tried again, or is somebody else's. */
const UNSETTLED: StopReason[] = ['model-error', 'request-timeout', 'lease-lost', 'cancelled']

/** May another attempt end better? */
export function mayPass({ stopReason }: Pick<TurnResult, 'stopReason'>): boolean {
  return UNSETTLED.includes(stopReason)
}

/**
 * Answers what completes the message; undefined after a question. Throws for what fails it for
 * another attempt: under a lost lease the mailbox refuses that too, so nothing is settled.
 */
export async function settleTurn(work: Work, result: TurnResult): Promise<RunResult | undefined> {
  const { stopReason, error, question } = result
  const run = runResultOf(result)
  if (result.ok) return run
  if (stopReason === 'asked' && question) {
    await work.context.ask({ ...question, result: run })
    return undefined
  }
  if (mayPass(result)) {
    throw new RunFailure(error?.code ?? stopReason, error?.message ?? stopReason, run)
  }
  return run
}

/** Words of our own in the conversation, with what they mean. */
export async function say(
  work: Work,
  text: string,
  about: Pick<HistoryEntry, 'stopReason' | 'tells' | 'isAside'>,
): Promise<void> {
  const { world, key, sessions, message } = work
  const item = { role: 'assistant' as const, text, toolCalls: [] }
  await sessions.append(key, [{ messageId: message.id, item, at: world.clock.date(), ...about }])
}
