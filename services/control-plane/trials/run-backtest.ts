/**
 * One backtest at work: the past events of a subscription, judged in parts and decided as a whole.
 * Every step is told in `trials.results`, also that a part is still waited for.
 */
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { NO_USAGE, type TrialItem, type TrialUsage } from '#kernel/domain/trial.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { TrialResult } from '#schemas/generated/records.ts'
import type { ReadModel, ReadView } from '../read-model/read-model.ts'
import { addUsage } from './add-usage.ts'
import { pastEvents } from './past-events.ts'
import type { TrialClient } from './trial-client.ts'
import { finishedOr, trialPart } from './trial-part.ts'

/** Matched events of one part. */
const PART = 20
const PART_WITHIN_MS = 300_000
/** A backtest at work says so this often. */
const BEAT_EVERY_MS = 15_000

export interface Progress {
  subscription: Subscription
  hours: number
  fromMs: number
  untilMs: number
  estimate: { events: number; matched: number; isCut: boolean } & TrialUsage
  done: number
  total: number
}

export interface RunWorld {
  model: ReadView & Pick<ReadModel, 'fresh'>
  trials: TrialClient
  clock: Clock
  logger: Logger
}

interface Run {
  world: RunWorld
  by: Principal
  id: string
  subscription: Subscription
  signal: AbortSignal
  /** What was told last. */
  told: TrialResult
}

/** Works until the end, which it tells; never rejects. When aborted it tells nothing more. */
export async function runBacktest(
  world: RunWorld,
  { by, started, signal }: { by: Principal; started: TrialResult; signal: AbortSignal },
): Promise<void> {
  const { id } = started
  const progress = started.progress as Progress
  const { subscription } = progress
  const run: Run = { world, by, id, subscription, signal, told: started }
  try {
    const { matched } = await pastEvents(world.model, subscription, progress)
    const judged = await judgeAll(run, matched)
    if (isOver(run)) return
    const { items } = await partOfRun(run, 'decide', judged)
    const { length: done } = judged
    await tell(run, { state: 'done', items, progress: { ...progress, done, total: done } })
  } catch (error) {
    // Whoever ended it has told so.
    if (isOver(run)) return
    world.logger.warn({ backtest: id, err: error }, 'a backtest failed')
    const reason = error instanceof Error ? error.message : 'unknown'
    await tell(run, { state: 'failed', reason }).catch(lost =>
      world.logger.warn({ backtest: id, err: lost }, 'its end was not stored'),
    )
  }
}

async function judgeAll(run: Run, matched: TrialItem[]): Promise<TrialItem[]> {
  const judged: TrialItem[] = []
  for (let at = 0; at < matched.length && !isOver(run); at += PART) {
    const items = matched.slice(at, at + PART)
    const part = run.subscription.condition
      ? await partOfRun(run, 'judge', items, at)
      : { items: items.map(asMatched), usage: NO_USAGE }
    judged.push(...(part.items as TrialItem[]))
    const usage = addUsage(run.told.usage as TrialUsage, part.usage as TrialUsage)
    const progress = { ...(run.told.progress as Progress), done: judged.length }
    if (!isOver(run)) await tell(run, { usage, progress: { ...progress, total: matched.length } })
  }
  return judged
}

const asMatched = (item: TrialItem): TrialItem => ({ ...item, failed: null })

/** Another replica may have been asked to cancel it. */
function isOver({ world, by, id, signal }: Run): boolean {
  return signal.aborted || (world.trials.resultOf(by.tenant, id)?.state ?? 'running') !== 'running'
}

async function tell(run: Run, more: Partial<TrialResult>): Promise<void> {
  const { trials, clock } = run.world
  run.told = { ...run.told, ...more, at: clock.now() }
  await trials.publish(run.told)
}

async function partOfRun(
  run: Run,
  stage: 'judge' | 'decide',
  items: TrialItem[],
  at = 0,
): Promise<Pick<TrialResult, 'items' | 'usage'>> {
  const { world, by, subscription } = run
  const id = stage === 'judge' ? `${run.id}-${at}` : `${run.id}-decide`
  const part = { id, kind: 'backtest', subscription, stage, items }
  await world.trials.start(trialPart(by, part, world.clock.now()))
  return finishedOr(await waitAlive(run, id), 'A part of the backtest failed')
}

/** Waits for a part, and says meanwhile that somebody does. */
async function waitAlive(run: Run, id: string): Promise<TrialResult | undefined> {
  const { trials } = run.world
  for (let waitedMs = 0; waitedMs < PART_WITHIN_MS; waitedMs += BEAT_EVERY_MS) {
    const result = await trials.wait(id, BEAT_EVERY_MS, run.signal)
    if (result || isOver(run)) return result
    // A log that is away for a moment ends no backtest; the next beat may reach it.
    await tell(run, {}).catch(() => {})
  }
  return undefined
}
