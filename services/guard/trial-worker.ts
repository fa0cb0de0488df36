/** The last part of a dry run: stages without effect, then the result. */
import { openTrial, reasonOf, trialResult } from '#kernel/domain/trial.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { dryTransaction } from '#kernel/host/dry-transaction.ts'
import type { StatelessStep } from '#kernel/host/stateless-runner.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { decideBacktest, decideTest, trialWorld } from './dry-run.ts'
import type { GuardWorld } from './guard-facts.ts'

export interface TrialStepWorld {
  guard: GuardWorld
  codec: RecordCodec
  store: Pick<StateStore, 'load'>
  clock: Pick<Clock, 'now'>
}

/** Answers every trial whose events have been judged. */
export function createTrialStep({ guard, codec, store, clock }: TrialStepWorld): StatelessStep {
  return {
    name: 'trial-decide',
    topics: ['trials'],
    async map({ key, value }): Promise<Output[]> {
      if (!value) return []
      const trial = openTrial(codec.decode('trial', value))
      if (trial.stage !== 'decide') return []
      const world = trialWorld(guard, trial)
      const { tenant, id, isSaved } = trial
      const decide = async () =>
        trial.kind === 'backtest' || !isSaved
          ? decideBacktest(world, trial, clock.now())
          : dryTransaction(store, tenant, unit => decideTest(unit, world, trial))
      const result = await decide().then(
        items => trialResult({ ...trial, items }, clock.now()),
        (error: unknown) => trialResult(trial, clock.now(), reasonOf(error)),
      )
      const place = { key: Buffer.from(key ?? []).toString(), tenant }
      return [{ ...place, topic: 'trials.results', id, value: result }]
    },
  }
}
