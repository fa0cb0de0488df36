/** What is asked of evaluator and guard on somebody's behalf, and what must have come of it. */
import type { Principal } from '#kernel/domain/principal.ts'
import { NO_USAGE, type OpenTrial } from '#kernel/domain/trial.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { TrialResult } from '#schemas/generated/records.ts'

const NO_ANSWER = 'no answer in time; is the evaluator running?'

/** A dry run of the caller's tenant that nothing was spent on yet; `at` is ms since the epoch. */
export function trialPart(
  by: Principal,
  part: Pick<OpenTrial, 'id' | 'kind' | 'subscription' | 'stage' | 'items'>,
  at: number,
): OpenTrial {
  return { ...part, tenant: by.tenant, isSaved: false, usage: NO_USAGE, by, at }
}

/**
 * The result, where it was done. `what` begins the error: what could not be had.
 *
 * @throws AmbitError `conflict` where there is none in time, or it failed; with the reason.
 */
export function finishedOr(result: TrialResult | undefined, what: string): TrialResult {
  if (result?.state === 'done') return result
  throw new AmbitError('conflict', `${what}: ${result?.reason ?? NO_ANSWER}`)
}
