/** Dry runs are answered at once or, after a minute, with a status link; callers see the result. */
import type { TestResult } from './api-subscription.ts'
import { ClientError, NO_ANSWER } from './client-error.ts'
import { followLink } from './follow-link.ts'
import type { Call, Transport } from './transport.ts'

/** How long the server holds a dry run before it gives the link. */
const HELD_MS = 60_000
/** How long the status of a dry run is asked for. */
const PATIENCE_MS = 300_000

/** `status` is where to ask for the result. */
type Answer = TestResult | { id: string; state: 'running'; status: string }

/**
 * Sends a dry run and resolves with its result, following the status link of a slow one. Rejects
 * `trial-pending` after five more minutes. It is sent once: the server would begin another dry
 * run, and judge and pay for it again.
 */
export async function awaitTrial(transport: Transport, call: Call): Promise<TestResult> {
  const answer = await transport.json<Answer>({ ...call, waitMs: HELD_MS, attemptsMax: 1 })
  if (isResult(answer)) return answer
  const path = answer.status
  const link = { path, patienceMs: PATIENCE_MS, signal: call.signal }
  const result = await followLink(transport, link, isResult)
  if (result) return result
  throw pending(path)
}

function isResult(answer: unknown): answer is TestResult {
  return typeof answer === 'object' && answer !== null && !('state' in answer)
}

function pending(path: string): ClientError {
  return new ClientError(
    `Expected the dry run to end within ${PATIENCE_MS / 1000} s, and it goes on. Ask GET ${path} ` +
      'later; `ambit doctor` looks for what is slow.',
    { status: 202, code: NO_ANSWER.trialPending },
  )
}
