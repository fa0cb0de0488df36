/** The evaluator's part of a dry run: filters, then verdicts where the condition wants them. */

import { dedupKeyOf } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { compileFilters, type MatchSpec } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { hashId, occurrenceIdOf, tenantKey } from '#kernel/domain/ids.ts'
import { judgeIdentity } from '#kernel/domain/judge-identity.ts'
import { costMicros, moneyText } from '#kernel/domain/model-price.ts'
import {
  NO_USAGE,
  type OpenTrial,
  reasonOf,
  type TrialItem,
  type TrialUsage,
  trialResult,
} from '#kernel/domain/trial.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { LaneBatch } from '#kernel/host/step.ts'
import { type Finished, verdictOf } from './judge/finish-batch.ts'
import { judgeItemOf } from './judge/judge-item.ts'
import type { JudgeCandidate } from './judge/judge-step.ts'
import { tokensBound } from './judge/plan-call.ts'
import { PROMPT_VERSION } from './judge/prompt.ts'
import type { TrialInput } from './judge/trial-judge-step.ts'
import { type TrialMemory, trialUnit } from './judge/trial-unit.ts'
import { type BatchWorld, judgeDry } from './judge-batch-worker.ts'

/** Takes dry runs one step on; what fails is answered with its reason. */
export async function judgeTrials(world: BatchWorld, batch: LaneBatch<TrialInput>): Promise<void> {
  for (const { value } of batch.items) {
    const { trial } = value
    const done = await takeOn(world, batch, trial).catch((error: unknown) => {
      if (batch.signal.aborted || !batch.isOwned()) throw error
      return reasonOf(error)
    })
    await batch.commit({ documents: [], counters: [] }, unit =>
      unit.emit(nextOf(world, trial, done, unit.now)),
    )
  }
}

/**
 * A backtest is judged in parts and decided as a whole by who gathers them. An estimate says who
 * would judge.
 */
function nextOf(
  { settings }: BatchWorld,
  trial: OpenTrial,
  done: OpenTrial | string,
  now: number,
): Output {
  const { id, tenant, kind, stage } = trial
  const place = { key: tenantKey(tenant, id), tenant }
  if (typeof done === 'string') {
    return { ...place, topic: 'trials.results', id, value: trialResult(trial, now, done) }
  }
  if (stage === 'estimate') {
    const judge = judgeIdentity(settings.names, settings.prices, PROMPT_VERSION)
    const value = { ...trialResult(done, now), progress: { judge } }
    return { ...place, topic: 'trials.results', id, value }
  }
  if (kind === 'backtest') {
    return { ...place, topic: 'trials.results', id, value: trialResult(done, now) }
  }
  return { ...place, topic: 'trials', id: `${id}-decide`, value: done }
}

async function takeOn(
  world: BatchWorld,
  batch: LaneBatch<TrialInput>,
  trial: OpenTrial,
): Promise<OpenTrial> {
  const { subscription } = trial
  const { condition } = subscription
  const filters = compileFilters(specOf(trial))
  const items: TrialItem[] = trial.items.map(item => {
    const result = filters.matches(item.event)
    return { ...item, failed: result.matched ? null : result.failed }
  })
  const filtered: OpenTrial = { ...trial, stage: 'decide', items }
  const matched = items.filter(({ failed }) => !failed)
  if (!condition || matched.length === 0) return filtered
  if (trial.stage === 'estimate')
    return { ...filtered, items: [], usage: estimate(world, filtered) }
  const candidates = matched.map((item, at) => candidateOf(trial, item, at))
  const finished = await judgeDry(world, forgetful(batch), { subscription, condition, candidates })
  for (const [at, item] of matched.entries())
    Object.assign(item, judged(trial.tenant, finished[at]))
  return { ...filtered, usage: sumOf(finished) }
}

/** Events that are tried on a schedule or an observation need not name it, nor its revision. */
function specOf({ subscription }: OpenTrial): MatchSpec {
  const { ownId, ...spec } = matchSpecOf({ ...subscription, scheduled: null })
  return ownId === undefined ? spec : { filters: spec.filters, anyTrigger: true }
}

function candidateOf({ id, tenant, subscription, at }: OpenTrial, item: TrialItem, index: number) {
  const { event } = item
  const candidate: JudgeCandidate['candidate'] = {
    ...{ kind: 'candidate', tenant, subscription: subscription.id, version: subscription.version },
    candidateId: hashId('c', tenant, subscription.id, id, index),
    occurrenceId: occurrenceIdOf(tenant, subscription.id, dedupKeyOf(event)),
    event: toEventRecord(event),
    ...{ position: null, recordedAt: at, verdict: null, skipped: null, marker: null, at },
  }
  return candidate
}

/** The same fenced commits, without what only real candidates leave behind. */
function forgetful(batch: LaneBatch<TrialInput>): LaneBatch<unknown> {
  const memory: TrialMemory = new Map()
  return {
    ...batch,
    async commit(hints, decide) {
      let next: TrialMemory = new Map()
      await batch.commit(hints, unit => {
        next = new Map()
        decide(trialUnit(unit, memory, next))
      })
      for (const [key, value] of next) memory.set(key, value)
    },
  }
}

/** A call that a budget had no room for leaves the reason in the place of a verdict. */
function judged(tenant: string, finished: Finished | undefined): Partial<TrialItem> {
  if (!finished) return {}
  const { result } = finished
  if (result.kind === 'judged' || result.kind === 'failed') {
    return { verdict: verdictOf(tenant, finished, result) }
  }
  if (result.kind !== 'skipped') return {}
  return { verdict: null, skipped: result.skip }
}

function sumOf(finished: readonly Finished[]): TrialUsage {
  const shares = finished.flatMap(({ spent }) => spent.map(({ share }) => share))
  const sum = (of: (share: (typeof shares)[number]) => number) =>
    shares.reduce((all, share) => all + of(share), 0)
  const [inputTokens, outputTokens] = [sum(s => s.inputTokens), sum(s => s.outputTokens)]
  return {
    ...{ calls: sum(s => s.calls), inputTokens, outputTokens },
    totalTokens: inputTokens + outputTokens,
    cost: moneyText(sum(s => s.micros)),
  }
}

/** What judging costs at most, in calls of the configured size. */
function estimate({ settings, caller }: BatchWorld, trial: OpenTrial): TrialUsage {
  const { condition } = trial.subscription
  const [model] = settings.names
  if (!caller || !condition || !model) return NO_USAGE
  const texts = trial.items.filter(({ failed }) => !failed).map(({ event }) => judgeItemOf(event))
  const size = condition.scope === 'set' ? texts.length : settings.batchMax
  let usage = { calls: 0, inputTokens: 0, outputTokens: 0 }
  for (let at = 0; at < texts.length; at += size) {
    const part = texts.slice(at, at + size)
    const bound = tokensBound(condition.criterion, part, settings.outputTokens)
    usage = {
      calls: usage.calls + 1,
      inputTokens: usage.inputTokens + bound.inputTokens,
      outputTokens: usage.outputTokens + bound.outputTokens,
    }
  }
  const cost = moneyText(costMicros(settings.prices, model, usage))
  return { ...usage, totalTokens: usage.inputTokens + usage.outputTokens, cost }
}
