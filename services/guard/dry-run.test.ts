import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { NO_USAGE, type OpenTrial, type TrialItem } from '#kernel/domain/trial.ts'
import { dryTransaction } from '#kernel/host/dry-transaction.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { decideBacktest, decideTest, trialWorld } from './dry-run.ts'
import type { GuardWorld } from './guard-facts.ts'
import { createGuardHarness, START } from './guard-harness.ts'
import { BLANK_STATE, guardKey } from './guard-state.ts'

const codec = createRecordCodec()
type Options = Omit<Parameters<typeof createGuardHarness>[0], 'codec'>

function trialOf(options: Options, items: TrialItem[]): { trial: OpenTrial; world: GuardWorld } {
  const { world } = createGuardHarness({ codec, ...options })
  const trial: OpenTrial = {
    ...{ id: 't1', tenant: 'acme', kind: 'test', stage: 'decide', isSaved: false },
    ...{ subscription: world.subscription, items, usage: NO_USAGE, by: null, at: START },
  }
  const guard: GuardWorld = {
    codec,
    compile: () => ({ test: () => true }),
    directory: {
      subscription: () => undefined,
      policy: () => world.policy,
      tenant: () => undefined,
      agent: (tenant, id) => ({ id, tenant, version: 1 }) as never,
    },
  }
  return { trial, world: trialWorld(guard, trial) }
}

const eventOf = (id: string, more: Partial<CloudEvent> = {}): CloudEvent => ({
  ...{ specversion: '1.0', id, source: '/shop', type: 'order', data: { total: 1 } },
  ...more,
})
const itemAt = (id: string, minutes: number, more?: Partial<CloudEvent>): TrialItem => ({
  event: eventOf(id, more),
  at: START + minutes * 60_000,
  failed: null,
})
const fatesOf = (items: TrialItem[]) => items.map(({ fate }) => fate)

describe('a backtest decides events at their own times', () => {
  it('a cooldown counts from the delivery before', () => {
    const limits = { cooldownMs: 10 * 60_000, cooldownRule: 'drop' as const }
    const items = [itemAt('a', 0), itemAt('b', 5), itemAt('c', 11)]
    const { trial, world } = trialOf({ limits }, items)
    assert.deepEqual(fatesOf(decideBacktest(world, trial, START)), [
      ...['delivered', 'cooldown', 'delivered'],
    ])
  })
  it('groups are flushed when their time comes, and all members share the end', () => {
    const limits = { group: { by: [], waitMs: 60_000, intervalMs: 60_000, max: 10 } }
    const items = [itemAt('a', 0), itemAt('b', 0.5), itemAt('c', 30)]
    const { trial, world } = trialOf({ limits }, items)
    assert.deepEqual(fatesOf(decideBacktest(world, trial, START)), [
      ...['delivered', 'delivered', 'delivered'],
    ])
  })
  it('one dedup key is delivered once', () => {
    const items = [itemAt('a', 0, { dedupkey: 'k' }), itemAt('b', 1, { dedupkey: 'k' })]
    const { trial, world } = trialOf({}, items)
    assert.deepEqual(fatesOf(decideBacktest(world, trial, START)), ['delivered', 'duplicate'])
  })
  it('what a filter refused has no fate', () => {
    const failed = { filter: '/filters/0', expected: {}, actual: {} }
    const { trial, world } = trialOf({}, [{ ...itemAt('a', 0), failed }])
    assert.deepEqual(fatesOf(decideBacktest(world, trial, START)), [null])
  })
  it('a condition without a verdict never delivers', () => {
    const condition = { criterion: 'x', minConfidence: 0.7, scope: 'each' as const }
    const { trial, world } = trialOf({ subscription: { condition } }, [itemAt('a', 0)])
    assert.deepEqual(fatesOf(decideBacktest(world, trial, START)), ['evaluation-failed'])
  })
  it('a match that the judge is not sure of would wait for a person', () => {
    const condition = { criterion: 'x', minConfidence: 0.7, scope: 'each' as const }
    const verdict = { id: 'v', outcome: 'ask', confidence: 0.6, model: 'm', cached: false }
    const item = { ...itemAt('a', 0), verdict: { ...verdict, body: {} } }
    const { trial, world } = trialOf({ subscription: { condition } }, [item])
    const [decided] = decideBacktest(world, trial, START)
    assert.deepEqual([decided?.fate, decided?.reason], ['held', 'waits-for-answer'])
  })
})

describe('a test decides events now', () => {
  it('says what would become of a paused subscription', () => {
    const state = { approval: 'not-required', operation: 'paused', reason: 'because' }
    const at = { by: 'user:ana', at: '2026-11-30T09:00:00Z', version: 1 }
    const options: Options = { subscription: { state: { ...state, ...at } as never } }
    const { trial, world } = trialOf(options, [itemAt('a', 0)])
    const [item] = decideBacktest(world, trial, START)
    assert.deepEqual([item?.fate, item?.reason], ['inactive', 'paused'])
  })
  it('starts from what is remembered', async () => {
    const limits = { cooldownMs: 600_000, cooldownRule: 'drop' as const }
    const { trial, world } = trialOf({ limits }, [itemAt('a', 0)])
    const body = JSON.stringify({ ...BLANK_STATE, deliveredAt: START - 60_000 })
    const load: StateStore['load'] = async ({ documents }) => ({
      now: START,
      documents: new Map(
        documents.includes(guardKey('s1')) ? [[guardKey('s1'), { version: 1, body }]] : [],
      ),
      counters: new Map(),
    })
    const items = await dryTransaction({ load }, 'acme', unit => decideTest(unit, world, trial))
    assert.deepEqual(fatesOf(items), ['cooldown'])
  })
})
