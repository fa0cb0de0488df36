/**
 * A dry run: what would have become of events under a subscription, saved or only drafted. It
 * goes from service to service along `trials`; each does its own pure part of it, nothing is
 * delivered, remembered or counted, and only what judging costs is charged.
 */
import type { Skipped, Trial, TrialResult, Verdict } from '#schemas/generated/records.ts'
import { isAmbitError } from '../errors.ts'
import type { CloudEvent } from './event.ts'
import type { FilterFailure } from './filter/compile-filters.ts'
import type { Subscription } from './subscription.ts'

/**
 * What has to be done next: `observe` by the poller, `estimate` and `judge` by the evaluator,
 * `decide` by the guard.
 */
export type TrialStage = 'observe' | 'estimate' | 'judge' | 'decide'

/** One event, with what is known about it so far. */
export interface TrialItem {
  event: CloudEvent
  /** When a backtest takes it to have been accepted, ms; `null` means now. */
  at: number | null
  /** The first declarative step that it failed; `null` when it passed all. Absent before. */
  failed?: FilterFailure | null
  verdict?: Verdict | null
  /** Why no model was asked. */
  skipped?: Skipped | null
  /** The fate it would have had; `null` when it would not have become a candidate. */
  fate?: string | null
  stage?: string | null
  reason?: string
  details?: Record<string, unknown>
}

/** What judging cost. */
export interface TrialUsage {
  calls: number
  inputTokens: number
  outputTokens: number
  totalTokens: number
  /** Decimal, in the policy's currency. */
  cost: string
}

export const NO_USAGE: TrialUsage = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cost: '0',
}

/** A trial with its JSON members typed; only our own services write them. */
export interface OpenTrial extends Trial {
  stage: TrialStage
  subscription: Subscription
  items: TrialItem[]
  usage: TrialUsage
}

export function openTrial(trial: Trial): OpenTrial {
  return trial as OpenTrial
}

/** Events of one dry run, and their bytes as JSON: they travel in one record. */
export const TRIAL_EVENTS_MAX = 50
export const TRIAL_BYTES_MAX = 600_000

/** How a dry run ends. */
export function trialResult(
  { id, tenant, kind, items, usage }: OpenTrial,
  at: number,
  reason: string | null = null,
): TrialResult {
  const state = reason === null ? 'done' : 'failed'
  return { id, tenant, kind, state, reason, items, usage, progress: null, at }
}

/** Why a dry run failed, for its result; a table or schema that is not there yet is waited for. */
export function reasonOf(error: unknown): string {
  if (isAmbitError(error) && error.code === 'not-ready') throw error
  return isAmbitError(error) ? error.message : 'the dry run could not be decided'
}
