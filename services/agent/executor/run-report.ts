import type { RunResult } from '#services/client/api.ts'
import type { StopReason } from '../loop/stop-reason.ts'
import type { TurnResult } from '../loop/turn-state.ts'
import type { Language } from '../tools/tool.ts'

/** Rows of `calls` that a result may carry. */
const CALLS_MAX = 1000

/** The turn as the mailbox takes it. */
export function runResultOf(result: TurnResult): RunResult {
  const { ok, stopReason, error, usage, iterations, toolCalls, calls, finalMessage } = result
  return {
    ...{ ok, stopReason, usage, iterations, toolCalls, calls: calls.slice(0, CALLS_MAX) },
    ...(error ? { error } : {}),
    ...(finalMessage === undefined ? {} : { output: finalMessage }),
  }
}

const STOPPED = {
  en: (reason: StopReason) => `I had to stop before I was done (${reason}).`,
  es: (reason: StopReason) => `He tenido que parar antes de terminar (${reason}).`,
} as const

/** The last words of a turn that ended otherwise than with an answer. */
export function stoppedText(reason: StopReason, language: Language): string {
  return STOPPED[language](reason)
}
