/** The evaluator's part of a dry run: filters, then verdicts where the condition wants them. */
import type { CloudEvent } from '#kernel/domain/event.ts'
import { compileFilters, type MatchSpec } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import {
  type OpenTrial,
  openTrial,
  reasonOf,
  type TrialItem,
  type TrialUsage,
  trialResult,
} from '#kernel/domain/trial.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { StatelessStep } from '#kernel/host/stateless-runner.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Verdict } from '#schemas/generated/records.ts'

/** Judges the events of a dry run under the subscription's condition; metered, never remembered. */
export type TrialJudge = (trial: {
  id: string
  subscription: Subscription
  events: CloudEvent[]
}) => Promise<{ verdicts: Verdict[]; usage: TrialUsage; outputs: Output[] }>

export interface TrialStepWorld {
  codec: RecordCodec
  clock: Pick<Clock, 'now'>
  judge: TrialJudge
}

/** Takes every trial that waits for filters and verdicts one step on. */
export function createTrialStep({ codec, clock, judge }: TrialStepWorld): StatelessStep {
  return {
    name: 'trial-judge',
    topics: ['trials'],
    async map({ key, value }): Promise<Output[]> {
      if (!value) return []
      const trial = openTrial(codec.decode('trial', value))
      if (trial.stage !== 'judge') return []
      const { id, tenant, kind } = trial
      const place = { key: Buffer.from(key ?? []).toString(), tenant }
      const done = await judgeTrial(trial, judge).catch(reasonOf)
      if (typeof done === 'string') {
        const value = trialResult(trial, clock.now(), done)
        return [{ ...place, topic: 'trials.results', id, value }]
      }
      const { trial: judged, outputs } = done
      // A backtest is judged in parts and decided as a whole by who gathers them.
      const next: Output =
        kind === 'backtest'
          ? { ...place, topic: 'trials.results', id, value: trialResult(judged, clock.now()) }
          : { ...place, topic: 'trials', id: `${id}-decide`, value: judged }
      return [...outputs, next]
    },
  }
}

async function judgeTrial(
  trial: OpenTrial,
  judge: TrialJudge,
): Promise<{ trial: OpenTrial; outputs: Output[] }> {
  const { subscription } = trial
  const filters = compileFilters(specOf(trial))
  const items: TrialItem[] = trial.items.map(item => {
    const result = filters.matches(item.event)
    return { ...item, failed: result.matched ? null : result.failed }
  })
  const matched = items.filter(({ failed }) => !failed)
  if (!subscription.condition || matched.length === 0) {
    return { trial: { ...trial, stage: 'decide', items }, outputs: [] }
  }
  const events = matched.map(({ event }) => event)
  const { verdicts, usage, outputs } = await judge({ id: trial.id, subscription, events })
  for (const [at, item] of matched.entries()) item.verdict = verdicts[at] ?? null
  return { trial: { ...trial, stage: 'decide', items, usage }, outputs }
}

/** Events that are tried on a schedule or an observation need not name it. */
function specOf({ subscription }: OpenTrial): MatchSpec {
  const { ownId, ...spec } = matchSpecOf(subscription)
  return ownId === undefined ? spec : { filters: spec.filters, anyTrigger: true }
}
