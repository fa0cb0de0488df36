/**
 * Backtests: the past events of a subscription, judged in parts and decided as a whole. Every
 * change of state is a record of `trials.results`, so each replica can tell how far one is.
 *
 * - B1 Nothing is judged before a person has confirmed the estimate.
 * - B2 A cancelled backtest asks for no further part, whichever replica was asked to cancel it.
 */
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { NO_USAGE, type OpenTrial, type TrialItem, type TrialUsage } from '#kernel/domain/trial.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { TrialResult } from '#schemas/generated/records.ts'
import type { ReadModel, ReadView } from '../read-model/read-model.ts'
import { addUsage, scaleUsage } from './add-usage.ts'
import { type PastEvents, pastEvents } from './past-events.ts'
import type { TrialClient } from './trial-client.ts'
import { itemView } from './trial-view.ts'

/** Matched events that an estimate looks at; the rest is taken to be like them. */
const SAMPLE = 20
/** Matched events of one part. */
const PART = 20
const PART_WITHIN_MS = 300_000
/** An estimate asks no model; callers wait 30 s for an answer. */
const ESTIMATE_WITHIN_MS = 20_000
const NO_ANSWER = 'no answer in time; is the evaluator running?'
/** A running backtest that has not moved for this long lost its process. */
const LOST_AFTER_MS = 2 * PART_WITHIN_MS

export interface Progress {
  subscription: Subscription
  hours: number
  fromMs: number
  untilMs: number
  estimate: { events: number; matched: number; isCut: boolean } & TrialUsage
  done: number
  total: number
}

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

export interface BacktestWorld {
  model: ReadView & Pick<ReadModel, 'fresh'>
  trials: TrialClient
  clock: Clock
  logger: Logger
}

/** Runs backtests that are confirmed on this replica. */
export function createBacktests(world: BacktestWorld): Backtests {
  const { trials, clock } = world
  const running = new Map<string, AbortController>()
  const find = (tenant: string, id: string) => {
    const found = trials.resultOf(tenant, id)
    if (found?.kind !== 'backtest') throw new AmbitError('not-found', `There is no backtest ${id}.`)
    const isLost = found.state === 'running' && clock.now() - found.at > LOST_AFTER_MS
    return isLost
      ? { ...found, state: 'failed', reason: 'its process has gone; start again' }
      : found
  }
  return {
    find,
    estimate: (by, asked) => estimate(world, by, asked),
    async confirm(by, id) {
      const found = find(by.tenant, id)
      if (found.state !== 'estimated') return found
      const started = { ...found, state: 'running', at: clock.now() }
      // Asked twice at once, it runs once.
      if (running.has(id)) return started
      const cancelling = new AbortController()
      running.set(id, cancelling)
      try {
        await trials.publish(started)
      } catch (error) {
        running.delete(id)
        throw error
      }
      void run(world, { by, result: started, signal: cancelling.signal }).finally(() =>
        running.delete(id),
      )
      return started
    },
    async cancel(tenant, id) {
      const found = find(tenant, id)
      if (found.state !== 'estimated' && found.state !== 'running') return found
      await trials.publish({ ...found, state: 'cancelled', at: clock.now() })
      running.get(id)?.abort()
      return find(tenant, id)
    },
    async stop() {
      for (const cancelling of running.values()) cancelling.abort()
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
  await trials.start({
    ...partOf(by, { id, subscription }, clock.now(), sample),
    stage: 'estimate',
  })
  const result = await trials.wait(id, ESTIMATE_WITHIN_MS)
  if (result?.state !== 'done') {
    const reason = result?.reason ?? NO_ANSWER
    throw new AmbitError(
      'conflict',
      `There is no estimate of what judging costs, and nothing was started: ${reason}`,
    )
  }
  return scaleUsage(result.usage as TrialUsage, matched.length / sample.length)
}

function partOf(
  by: Principal,
  { id, subscription }: { id: string; subscription: Subscription },
  at: number,
  items: TrialItem[],
): OpenTrial {
  return {
    ...{ id, tenant: by.tenant, kind: 'backtest', stage: 'judge', isSaved: false },
    ...{ subscription, items, usage: NO_USAGE, by, at },
  }
}

interface Run {
  by: Principal
  result: TrialResult
  signal: AbortSignal
}

async function run(world: BacktestWorld, { by, result, signal }: Run): Promise<void> {
  const { trials, clock, logger } = world
  const progress = result.progress as Progress
  // Another replica may have been asked to cancel it.
  const isOver = () =>
    signal.aborted || (trials.resultOf(by.tenant, result.id)?.state ?? 'running') !== 'running'
  let usage = NO_USAGE
  try {
    const { matched } = await pastEvents(world.model, progress.subscription, progress)
    const judged: TrialItem[] = []
    for (let at = 0; at < matched.length && !isOver(); at += PART) {
      const part = await judgePart(world, { by, result, signal }, at, matched.slice(at, at + PART))
      judged.push(...(part.items as TrialItem[]))
      usage = addUsage(usage, part.usage as TrialUsage)
      const moved = { ...progress, done: judged.length, total: matched.length }
      if (!isOver()) await trials.publish({ ...result, usage, progress: moved, at: clock.now() })
    }
    if (isOver()) return
    const decided = await decideAll(world, { by, result, signal }, judged)
    const done = { ...progress, done: judged.length, total: judged.length }
    const items = decided.items
    await trials.publish({
      ...result,
      state: 'done',
      items,
      usage,
      progress: done,
      at: clock.now(),
    })
  } catch (error) {
    // Whoever ended it has told so.
    if (isOver()) return
    logger.warn({ backtest: result.id, err: error }, 'a backtest failed')
    const reason = error instanceof Error ? error.message : 'unknown'
    await trials
      .publish({ ...result, state: 'failed', reason, usage, at: clock.now() })
      .catch(lost => logger.warn({ backtest: result.id, err: lost }, 'its end was not stored'))
  }
}

async function judgePart(
  { trials, clock }: BacktestWorld,
  { by, result, signal }: Run,
  at: number,
  items: TrialItem[],
): Promise<Pick<TrialResult, 'items' | 'usage'>> {
  const { subscription } = result.progress as Progress
  if (!subscription.condition) return { items: items.map(asMatched), usage: NO_USAGE }
  const id = `${result.id}-${at}`
  await trials.start(partOf(by, { id, subscription }, clock.now(), items))
  return finished(await trials.wait(id, PART_WITHIN_MS, signal))
}

const asMatched = (item: TrialItem): TrialItem => ({ ...item, failed: null })

async function decideAll(
  { trials, clock }: BacktestWorld,
  { by, result, signal }: Run,
  items: TrialItem[],
): Promise<Pick<TrialResult, 'items'>> {
  const { subscription } = result.progress as Progress
  const id = `${result.id}-decide`
  await trials.start({
    ...partOf(by, { id, subscription }, clock.now(), items),
    stage: 'decide',
  })
  return finished(await trials.wait(id, PART_WITHIN_MS, signal))
}

function finished(result: TrialResult | undefined): TrialResult {
  if (result?.state === 'done') return result
  const reason = result?.reason ?? NO_ANSWER
  throw new AmbitError('conflict', `A part of the backtest failed: ${reason}`)
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
