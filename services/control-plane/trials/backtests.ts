/**
 * Backtests: the past events of a subscription, judged in parts and decided as a whole. Every
 * change of state is a record of `trials.results`, so each replica can tell how far one is.
 *
 * - B1 Nothing is judged before a person has confirmed the estimate.
 * - B2 A cancelled backtest asks for no further part, whichever replica was asked to cancel it.
 * - B3 One that nobody works on any more has failed, with the reason.
 */
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { NO_USAGE, type TrialItem, type TrialUsage } from '#kernel/domain/trial.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { TrialResult } from '#schemas/generated/records.ts'
import { scaleUsage } from './add-usage.ts'
import { type PastEvents, pastEvents } from './past-events.ts'
import { type Progress, type RunWorld, runBacktest } from './run-backtest.ts'
import { finishedOr, trialPart } from './trial-part.ts'
import { itemView } from './trial-view.ts'

/** Matched events that an estimate looks at; the rest is taken to be like them. */
const SAMPLE = 20
/** An estimate asks no model; callers wait 30 s for an answer. */
const ESTIMATE_WITHIN_MS = 20_000
/** A backtest that nobody has said to work on for this long lost its process: four beats. */
const LOST_AFTER_MS = 60_000
const LOST = 'its process has gone; start it again'
const STOPPED = 'the process that ran it was stopped; start it again'

export interface Backtests {
  /** Counts and estimates; starts nothing. Rejects `conflict` when nobody can estimate. */
  estimate(
    by: Principal,
    asked: { id: string; subscription: Subscription; hours: number },
  ): Promise<TrialResult>
  /** Starts an estimated one; anything else is answered as it is. */
  confirm(by: Principal, id: string): Promise<TrialResult>
  cancel(tenant: string, id: string): Promise<TrialResult>
  find(tenant: string, id: string): TrialResult
  stop(): Promise<void>
}

export interface BacktestWorld extends RunWorld {
  /** No other process can run a backtest of this log: what is not run here, nobody runs. */
  isAlone: boolean
}

/** Runs backtests that are confirmed on this replica. */
export function createBacktests(world: BacktestWorld): Backtests {
  const { trials, clock, logger, isAlone } = world
  const running = new Map<string, { tenant: string; aborting: AbortController }>()
  const find = (tenant: string, id: string) => {
    const found = trials.resultOf(tenant, id)
    if (found?.kind !== 'backtest') throw new AmbitError('not-found', `There is no backtest ${id}.`)
    if (found.state !== 'running' || running.has(id)) return found
    const isLost = isAlone || clock.now() - found.at > LOST_AFTER_MS
    return isLost ? { ...found, state: 'failed', reason: LOST } : found
  }
  const end = (found: TrialResult, state: 'cancelled' | 'failed', reason: string | null = null) =>
    trials.publish({ ...found, state, reason, at: clock.now() })
  return {
    find,
    estimate: (by, asked) => estimate(world, by, asked),
    async confirm(by, id) {
      const found = find(by.tenant, id)
      if (found.state !== 'estimated') return found
      const started = { ...found, state: 'running', at: clock.now() }
      // Asked twice at once, it runs once.
      if (running.has(id)) return started
      const aborting = new AbortController()
      running.set(id, { tenant: by.tenant, aborting })
      const ended = () => running.delete(id)
      await trials.publish(started).catch(error => {
        ended()
        throw error
      })
      void runBacktest(world, { by, started, signal: aborting.signal }).finally(ended)
      return started
    },
    async cancel(tenant, id) {
      const found = find(tenant, id)
      if (found.state !== 'estimated' && found.state !== 'running') return found
      await end(found, 'cancelled')
      running.get(id)?.aborting.abort()
      return find(tenant, id)
    },
    async stop() {
      const stopped = [...running].map(async ([id, { tenant, aborting }]) => {
        aborting.abort()
        await end(find(tenant, id), 'failed', STOPPED).catch(error =>
          logger.warn({ backtest: id, err: error }, 'that it was stopped was not stored'),
        )
      })
      await Promise.all(stopped)
    },
  }
}

async function estimate(
  { model, trials, clock }: BacktestWorld,
  by: Principal,
  { id, subscription, hours }: { id: string; subscription: Subscription; hours: number },
): Promise<TrialResult> {
  await model.fresh()
  const untilMs = clock.now()
  const fromMs = untilMs - hours * 3_600_000
  const past = await pastEvents(model, subscription, { fromMs, untilMs })
  const { scanned, isCut, matched } = past
  const usage = await estimateUsage({ trials, clock }, by, { id, subscription, matched })
  const progress: Progress = {
    ...{ subscription, hours, fromMs, untilMs, done: 0, total: matched.length },
    estimate: { events: scanned, matched: matched.length, isCut, ...usage },
  }
  const result: TrialResult = {
    ...{ id, tenant: by.tenant, kind: 'backtest', state: 'estimated', reason: null },
    ...{ items: [], usage: NO_USAGE, progress, at: untilMs },
  }
  await trials.publish(result)
  return result
}

async function estimateUsage(
  { trials, clock }: Pick<BacktestWorld, 'trials' | 'clock'>,
  by: Principal,
  asked: { id: string; subscription: Subscription; matched: PastEvents['matched'] },
): Promise<TrialUsage> {
  const { subscription, matched } = asked
  if (!subscription.condition || matched.length === 0) return NO_USAGE
  const sample = matched.slice(0, SAMPLE)
  const id = `${asked.id}-estimate`
  const part = { id, kind: 'backtest', subscription, stage: 'estimate' as const, items: sample }
  await trials.start(trialPart(by, part, clock.now()))
  const result = finishedOr(
    await trials.wait(id, ESTIMATE_WITHIN_MS),
    'There is no estimate of what judging costs, and nothing was started',
  )
  return scaleUsage(result.usage as TrialUsage, matched.length / sample.length)
}

/** How people see a backtest. */
export function backtestView({ id, state, reason, items, usage, progress, at }: TrialResult) {
  const { estimate: estimated, done, total, hours, subscription } = progress as Progress
  const shown = (items as TrialItem[]).map(item => ({
    ...itemView(item),
    at: item.at === null ? null : new Date(item.at).toISOString(),
  }))
  const fired = shown.filter(({ fate }) => fate === 'delivered').length
  return {
    ...{ id, state, hours, subscription: subscription.id, estimate: estimated },
    ...(reason === null ? {} : { reason }),
    progress: { done, total },
    ...{ fired, items: shown, usage, updatedAt: new Date(at).toISOString() },
  }
}
