/**
 * Judges labelled sets again when something outside has changed, and tells the owner once.
 *
 * - W1 A change is acted on by one replica: the owner of the subscription's partition of `labels`.
 * - W2 Every change ends in one notice, compared or waiting, and is then remembered; so it is never
 *   judged twice, but for a crash in between, whose notice is the same.
 * - W3 Money is spent only where budgets apply and the estimate fits into all of them.
 */
import { limitsOf, limitWithoutRoom, moneyMicros } from '#kernel/domain/budget-counters.ts'
import { partitionOf, tenantKey } from '#kernel/domain/ids.ts'
import type { JudgeIdentity } from '#kernel/domain/judge-identity.ts'
import type { Label } from '#kernel/domain/label.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'
import type { TrialUsage } from '#kernel/domain/trial.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import { appendMark } from '../table-records.ts'
import {
  byPlace,
  type CompareWorld,
  compareOn,
  labelledSet,
  labelsIn,
  runTrial,
  runTrials,
} from './compare-labels.ts'
import {
  changesBetween,
  outsideChangeNotice,
  type Rerun,
  type Surroundings,
  surroundingsOf,
} from './outside-change.ts'

export interface LabelWatchWorld extends CompareWorld {
  log: EventLog
  writer: RecordWriter
  store: Pick<StateStore, 'load'>
  /** Holds `policies`, where the surroundings are remembered. */
  tables: LiveTables
  directory: Pick<Directory, 'subscription' | 'connector' | 'policy'>
  clock: Clock
  logger: Logger
}

/** Ms between two looks. A judge that changed is believed at the second one that says so. */
export const LOOK_EVERY_MS = 120_000
/** The newest labels that are judged again. */
export const RERUN_LABELS_MAX = 200
/** Kind of the documents in `policies` that remember surroundings. */
const REMEMBERED_KIND = 'label-check'

interface Self {
  world: LabelWatchWorld
  owned: ReadonlySet<number>
  partitions: number
  stopping: AbortController
  /** While processes are replaced one by one, two judges answer in turn. */
  lastJudge: string
}

export interface LabelWatch {
  /** Partitions of `labels` whose sets are watched here. */
  status(): { partitions: number[] }
  stop(): Promise<void>
}

/** Joins the owners of labelled sets; resolves once subscribed. */
export async function startLabelWatch(world: LabelWatchWorld): Promise<LabelWatch> {
  const { log, clock, logger } = world
  const partitions = Math.max(1, (await log.endOffsets(['labels'])).length)
  const stopping = new AbortController()
  const self: Self = { world, owned: new Set(), partitions, stopping, lastJudge: '' }
  const consumption = await log.consume({
    group: 'label-watch',
    topics: ['labels'],
    onAssigned: async assigned => {
      self.owned = new Set(assigned.map(({ partition }) => partition))
    },
    // Only the ownership matters; the labels themselves are in the table.
    handle: batch => batch.commit((batch.records.at(-1)?.offset ?? -1) + 1),
  })
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, stopping.signal).catch(() => {})
      if (stopping.signal.aborted) return
      await look(self).catch(error => {
        logger.warn({ err: error }, 'labels were not compared; will be retried')
      })
    }
  })()
  return {
    status: () => ({ partitions: [...self.owned] }),
    async stop() {
      stopping.abort()
      await watching
      await consumption.stop()
    },
  }
}

interface Labelled {
  subscription: Subscription
  labels: Label[]
}

async function look(self: Self): Promise<void> {
  const { world, stopping } = self
  await Promise.all([world.labels.barrier(), world.tables.barrier()])
  const labelled = labelledHere(self)
  const [first] = labelled
  if (!first) return
  const judge = await judgeNow(self, first.subscription)
  if (!judge) return
  for (const each of labelled) {
    if (stopping.signal.aborted) return
    await check(self, each, judge)
  }
}

/** Live subscriptions of our partitions that have a condition and labels. */
function labelledHere({ world, owned, partitions }: Self): Labelled[] {
  const { labels, directory } = world
  const sets = Map.groupBy(labelsIn(labels), ({ tenant, subscription }) =>
    rememberedKey({ tenant, id: subscription }),
  )
  return [...sets].flatMap(([key, all]) => {
    const [label] = all
    if (!label || !owned.has(partitionOf(key, partitions))) return []
    const subscription = directory.subscription(label.tenant, label.subscription)
    if (!subscription?.condition || !isLive(subscription.state)) return []
    return [{ subscription, labels: all.sort(byPlace).slice(-RERUN_LABELS_MAX) }]
  })
}

function rememberedKey({ tenant, id }: Pick<Subscription, 'tenant' | 'id'>): string {
  return tenantKey(tenant, REMEMBERED_KIND, id)
}

const principalOf = (tenant: string): Principal => ({
  ...{ tenant, kind: 'system', id: 'label-watch', roles: [] },
})

/** Who judges now, once two looks agree. An estimate about nothing costs nothing. */
async function judgeNow(self: Self, draft: Subscription): Promise<JudgeIdentity | undefined> {
  const { world, stopping } = self
  const asked = { stage: 'estimate', draft, items: [], signal: stopping.signal } as const
  const { progress } = await runTrial(world, principalOf(draft.tenant), asked)
  const { judge } = (progress ?? {}) as { judge?: JudgeIdentity }
  const text = JSON.stringify(judge)
  const isSettled = self.lastJudge === text
  self.lastJudge = text
  return isSettled ? judge : undefined
}

async function check(self: Self, labelled: Labelled, judge: JudgeIdentity): Promise<void> {
  const { world } = self
  const { subscription } = labelled
  const { tenant, observe } = subscription
  const connector = observe ? world.directory.connector(tenant, observe.connector) : undefined
  const now = surroundingsOf(subscription, connector, judge)
  if (!now) return
  const held = world.tables.get('policies', rememberedKey(subscription))
  const version = (held?.version ?? 0) + 1
  // What is seen for the first time has changed from nothing.
  const changes = held ? changesBetween(held.doc as Surroundings, now) : []
  if (held && changes.length === 0) return
  if (changes.length > 0) {
    const rerun = await judgeAgain(self, labelled)
    if (self.stopping.signal.aborted) return
    const told = { changes, rerun, nth: version, labelled: labelled.labels.length }
    const at = world.clock.now()
    const notice = outsideChangeNotice(subscription, { ...told, now: at })
    await world.log.append([world.writer.encode(notice)])
  }
  const { id } = subscription
  await appendMark(world, { tenant, kind: REMEMBERED_KIND, id, version, doc: now })
}

/** Never rejects for what the evaluator says: it waits, and a person may start it. */
async function judgeAgain({ world, stopping }: Self, labelled: Labelled): Promise<Rerun> {
  const { subscription: draft, labels } = labelled
  const { signal } = stopping
  const by = principalOf(draft.tenant)
  let estimate: TrialUsage | null = null
  try {
    await world.model.fresh()
    const set = await labelledSet(world, draft.tenant, labels)
    const items = set.known.map(({ item }) => item)
    const asked = { stage: 'estimate', draft, items, signal } as const
    estimate = (await runTrials(world, by, asked)).usage
    const why = await noMoneyFor(world, draft, estimate)
    if (why) return { kind: 'waits', why, estimate }
    return { kind: 'compared', comparison: await compareOn(world, by, { draft, set, signal }) }
  } catch (error) {
    if (!isAmbitError(error)) throw error
    return { kind: 'waits', why: error.message, estimate }
  }
}

/** Why an estimate may not be spent; undefined where it may, or is nothing (W3). */
async function noMoneyFor(
  { store, directory, clock }: LabelWatchWorld,
  subscription: Subscription,
  { calls, totalTokens, cost }: TrialUsage,
): Promise<string | undefined> {
  if (calls === 0) return undefined
  const { tenant } = subscription
  const amounts = { tokens: totalTokens, money: moneyMicros(cost), activations: 0 }
  const limits = limitsOf(subscription, directory.policy(tenant), clock.now())
  const bounds = limits.filter(({ what }) => what !== 'activations')
  const most = `it takes up to ${totalTokens} tokens (${cost} of the currency)`
  if (bounds.length === 0) return `${most}, and no budget of tokens or money says if it may.`
  const names = bounds.map(({ counter }) => counter)
  const { counters } = await store.load({ tenant, documents: [], counters: names })
  const lacking = limitWithoutRoom(
    bounds,
    what => amounts[what],
    counter => counters.get(counter) ?? 0,
  )
  if (!lacking) return undefined
  const { what, period, scope } = lacking
  return `${most}, more than is left of the ${what} per ${period} of the ${scope}.`
}
