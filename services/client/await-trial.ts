/** Dry runs are answered at once or, after a minute, with a status link; callers see the result. */
import type { TestResult } from './api-subscription.ts'
import { ClientError, NO_ANSWER } from './client-error.ts'
import type { Call, Transport } from './transport.ts'

/** How long the server holds a dry run before it gives the link. */
const HELD_MS = 60_000
/** How long the status of a dry run is asked for. */
const PATIENCE_MS = 300_000

type Answer = TestResult | { id: string; state: 'running' }

/**
 * Sends a dry run and resolves with its result, following the status link of a slow one. Rejects
 * `trial-pending` after five more minutes. It is sent once: the server would begin another dry
 * run, and judge and pay for it again.
 */
export async function awaitTrial(transport: Transport, call: Call): Promise<TestResult> {
  const { clock, backoffMs } = transport
  let answer = await transport.json<Answer>({ ...call, waitMs: HELD_MS, attemptsMax: 1 })
  const deadline = clock.now() + PATIENCE_MS
  for (let asked = 1; 'state' in answer; asked += 1) {
    const path = `/v1/trials/${encodeURIComponent(answer.id)}`
    if (clock.now() > deadline) throw pending(path)
    await clock.sleep(backoffMs(asked))
    answer = await transport.json<Answer>({ method: 'GET', path })
  }
  return answer
}

function pending(path: string): ClientError {
  return new ClientError(
    `Expected the dry run to end within ${PATIENCE_MS / 1000} s, and it goes on. Ask GET ${path} ` +
      'later; `ambit doctor` looks for what is slow.',
    { status: 202, code: NO_ANSWER.trialPending },
  )
}
