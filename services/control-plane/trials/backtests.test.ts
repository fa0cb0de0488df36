/** Backtests on a log in memory; the evaluator and the guard answer when a test lets them. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { type OpenTrial, openTrial, trialResult } from '#kernel/domain/trial.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { scheduled } from '#test/support/schedule-sample.ts'
import { type BacktestWorld, createBacktests } from './backtests.ts'
import type { Progress } from './run-backtest.ts'
import { createTrialClient } from './trial-client.ts'

const NOON = Date.UTC(2026, 11, 1, 12)
const by: Principal = { tenant: 'local', kind: 'person', id: 'ana', roles: ['admin'] }
const codec = createRecordCodec()
const writer = createRecordWriter(codec, 'test')
const usage = { calls: 1, inputTokens: 100, outputTokens: 10, totalTokens: 110, cost: '0.01' }

let clock: ManualClock
let log: ReturnType<typeof createMemoryEventLog>
beforeEach(() => {
  clock = createManualClock(NOON)
  log = createMemoryEventLog({ clock, partitions: () => 1 })
})

const subscription = (): Subscription => ({
  ...scheduled({
    tenant: 'local',
    since: NOON,
    schedule: { once: '2027-01-01T00:00:00', tzid: 'UTC' },
  }),
  ...{ schedule: null, scheduled: null, on: { types: ['t'] } },
  condition: { criterion: 'a refund is wanted', minConfidence: 0.5, scope: 'each' },
})

/** So many events of the last minutes, all of which match. */
function modelOf(count: number): BacktestWorld['model'] {
  const rows = Array.from({ length: count }, (_, n) => ({
    ...{ row: n + 1, tenant: 'local', source: '/shop', id: `e${n}`, type: 't', time: null },
    ...{ accepted_at: NOON - 60_000 + n, topic: 'ingress.platform', partition: 0, offset: n },
  })).reverse()
  const event = async (_tenant: string, { offset }: { offset: number }): Promise<CloudEvent> => ({
    ...{ specversion: '1.0', source: '/shop', id: `e${offset}`, type: 't' },
  })
  const never = () => undefined as never
  return {
    database: {
      all: <R>(_sql: string, below: unknown) =>
        rows.filter(({ row }) => row < Number(below)).slice(0, 200) as R[],
      ...{ get: never, run: never, transaction: never, reset: never, close: never },
    },
    bodies: { event, messages: async () => [], deadLetter: async () => undefined },
    isErased: () => false,
    fresh: async () => true,
  }
}

async function start(name: string, isAlone = false) {
  const instance = log.open(name)
  const trials = await createTrialClient({ log: instance, codec, writer, clock })
  const backtests = createBacktests({
    ...{ model: modelOf(50), trials, clock, logger: silentLogger, isAlone },
  })
  return { backtests, trials, crash: () => instance.crash() }
}

const asked = (): OpenTrial[] =>
  log.records('trials').map(({ value }) => openTrial(codec.decode('trial', value ?? fail())))
const stages = () => asked().map(({ stage }) => stage)
const fail = (): never => assert.fail('a record without a value')

/** Answers the newest trial, as evaluator and guard do. */
async function answer(reason: string | null = null) {
  const trial = asked().at(-1) ?? fail()
  const items = trial.items.map(item => ({ ...item, failed: null, fate: 'delivered' }))
  const value = { ...trialResult({ ...trial, items, usage }, clock.now(), reason) }
  const { id, tenant } = trial
  await log
    .open()
    .append([writer.encode({ topic: 'trials.results', key: `${tenant}/${id}`, id, tenant, value })])
  await clock.advance(0)
}

/** What a call answers, while time goes on. */
const during = <T>(call: Promise<T>) => clock.during(call, 3_600_000)

/** Estimated and confirmed: the first part is asked for. */
async function confirmed({ backtests }: Awaited<ReturnType<typeof start>>) {
  const estimating = backtests.estimate(by, { id: 'b1', subscription: subscription(), hours: 1 })
  await clock.advance(0)
  await answer()
  await during(estimating)
  await during(backtests.confirm(by, 'b1'))
  await clock.advance(0)
  return backtests
}

describe('an estimate', () => {
  const refused = async (end: () => Promise<void>, expected: RegExp) => {
    const { backtests } = await start('one')
    const estimating = backtests.estimate(by, { id: 'b1', subscription: subscription(), hours: 1 })
    const rejected = assert.rejects(
      estimating,
      error => isAmbitError(error) && error.code === 'conflict' && expected.test(error.message),
    )
    await clock.advance(0)
    await end()
    await rejected
    assert.throws(() => backtests.find('local', 'b1'), /There is no backtest/)
  }

  it('that the evaluator does not answer is none, and is said before callers give up', () =>
    refused(() => clock.advance(25_000), /no estimate.*no answer in time/))

  it('that fails is none, with the reason', () =>
    refused(() => answer('the store is away'), /no estimate.*the store is away/))

  it('counts the sample for all', async () => {
    const { backtests } = await start('one')
    const estimating = backtests.estimate(by, { id: 'b1', subscription: subscription(), hours: 1 })
    await clock.advance(0)
    await answer()
    const { progress } = await during(estimating)
    const { matched, cost } = (progress as Progress).estimate
    assert.deepEqual([matched, cost], [50, '0.025'])
  })
})

describe('a backtest', () => {
  it('judges in parts, decides as a whole, and sums up what it cost', async () => {
    const backtests = await confirmed(await start('one'))
    for (let part = 0; part < 4; part++) await answer()
    const { state, items, usage: spent } = backtests.find('local', 'b1')
    assert.deepEqual([state, (items as unknown[]).length], ['done', 50])
    assert.deepEqual(stages(), ['estimate', 'judge', 'judge', 'judge', 'decide'])
    assert.equal((spent as typeof usage).cost, '0.03')
  })

  it('that was cancelled stays so, and asks for no further part (B2)', async () => {
    const backtests = await confirmed(await start('one'))
    assert.equal((await during(backtests.cancel('local', 'b1'))).state, 'cancelled')
    await clock.advance(10_000)
    await answer()
    assert.equal(backtests.find('local', 'b1').state, 'cancelled')
    assert.deepEqual(stages(), ['estimate', 'judge'])
    assert.deepEqual(
      log.records('trials.results').flatMap(({ value }) => {
        const { id, state } = codec.decode('trial-result', value ?? fail())
        return id === 'b1' ? [state] : []
      }),
      ['estimated', 'running', 'cancelled'],
    )
  })

  it('that another replica cancelled asks for no further part (B2)', async () => {
    const backtests = await confirmed(await start('one'))
    const other = await start('two')
    await clock.advance(0)
    await during(other.backtests.cancel('local', 'b1'))
    await answer()
    await clock.advance(10_000)
    assert.equal(backtests.find('local', 'b1').state, 'cancelled')
    assert.deepEqual(stages(), ['estimate', 'judge'])
  })

  it('that is confirmed twice is judged once', async () => {
    const { backtests } = await start('one')
    const estimating = backtests.estimate(by, { id: 'b1', subscription: subscription(), hours: 1 })
    await clock.advance(0)
    await answer()
    await during(estimating)
    const twice = Promise.all([backtests.confirm(by, 'b1'), backtests.confirm(by, 'b1')])
    assert.deepEqual(
      (await during(twice)).map(({ state }) => state),
      ['running', 'running'],
    )
    await clock.advance(0)
    assert.deepEqual(stages(), ['estimate', 'judge'])
  })

  it('ends as failed with the reason when a part could not be judged', async () => {
    const backtests = await confirmed(await start('one'))
    await answer('the store is away')
    const { state, reason } = backtests.find('local', 'b1')
    assert.equal(state, 'failed')
    assert.match(String(reason), /the store is away/)
  })
})

describe('a backtest whose process is gone', () => {
  it('has failed with the reason as soon as an orderly stop is over', async () => {
    const one = await start('one')
    const backtests = await confirmed(one)
    await during(backtests.stop())
    await answer()
    const { state, reason } = backtests.find('local', 'b1')
    assert.equal(state, 'failed')
    assert.match(String(reason), /was stopped; start it again/)
    assert.deepEqual(stages(), ['estimate', 'judge'])
    const two = await start('two')
    await clock.advance(0)
    assert.equal(two.backtests.find('local', 'b1').state, 'failed')
  })

  it('has failed at the next start where no other process could run it', async () => {
    const one = await start('one')
    await confirmed(one)
    one.crash()
    const { backtests } = await start('two', true)
    await clock.advance(0)
    const { state, reason } = backtests.find('local', 'b1')
    assert.equal(state, 'failed')
    assert.match(String(reason), /its process has gone/)
  })

  it('has failed within a minute elsewhere; one that waits for a slow part has not', async () => {
    const one = await start('one')
    const two = await start('two')
    await confirmed(one)
    await clock.advance(4 * 60_000)
    assert.equal(two.backtests.find('local', 'b1').state, 'running')
    one.crash()
    await clock.advance(30_000)
    assert.equal(two.backtests.find('local', 'b1').state, 'running')
    await clock.advance(40_000)
    assert.equal(two.backtests.find('local', 'b1').state, 'failed')
  })
})
