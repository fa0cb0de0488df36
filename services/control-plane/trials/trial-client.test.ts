import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import { NO_USAGE } from '#kernel/domain/trial.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type { TrialResult } from '#schemas/generated/records.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { createTrialClient } from './trial-client.ts'

const codec = createRecordCodec()
const writer = createRecordWriter(codec, 'test')

let clock: ManualClock
let log: ReturnType<typeof createMemoryEventLog>
beforeEach(() => {
  clock = createManualClock(0)
  log = createMemoryEventLog({ clock, partitions: () => 1 })
})

const open = (name: string) => createTrialClient({ log: log.open(name), codec, writer, clock })

function result(state: string, id = 'b1', kind = 'backtest'): TrialResult {
  return {
    ...{ id, tenant: 'acme', kind, state, reason: null },
    ...{ items: [], usage: NO_USAGE, progress: null, at: clock.now() },
  }
}

test('what was published is known when that resolves, in the order of the log', async () => {
  const [here, there] = await Promise.all([open('here'), open('there')])
  await here.publish(result('running'))
  assert.equal(here.resultOf('acme', 'b1')?.state, 'running')
  await there.publish(result('cancelled'))
  assert.equal(there.resultOf('acme', 'b1')?.state, 'cancelled')
  await here.publish(result('done', 'b2'))
  assert.equal(here.resultOf('acme', 'b1')?.state, 'cancelled')
  await Promise.all([here.stop(), there.stop()])
})

// Noted before it comes back, a state would be followed by the older one that is still on its way.
test('nothing is known before the log tells it', async () => {
  const slow = Promise.withResolvers<void>()
  const instance = log.open('slow')
  const follow: typeof instance.follow = options =>
    instance.follow({
      ...options,
      onRecords: records => slow.promise.then(() => options.onRecords(records)),
    })
  const client = await createTrialClient({ log: { ...instance, follow }, codec, writer, clock })
  let isPublished = false
  const publishing = client.publish(result('running')).then(() => {
    isPublished = true
  })
  await clock.advance(1000)
  assert.deepEqual([isPublished, client.resultOf('acme', 'b1')], [false, undefined])
  slow.resolve()
  await publishing
  assert.equal(client.resultOf('acme', 'b1')?.state, 'running')
  await client.stop()
})

// Two replicas may end one backtest at once: both must tell the same, whoever wrote last.
test('the first end stands', async () => {
  const client = await open('here')
  for (const state of ['running', 'cancelled', 'running', 'failed', 'done']) {
    await client.publish(result(state))
  }
  assert.equal(client.resultOf('acme', 'b1')?.state, 'cancelled')
  await client.stop()
})

test('a result that moves on pushes no other out', async () => {
  const client = await open('here')
  const count = 1000
  await Promise.all(
    Array.from({ length: count }, (_, n) => client.publish(result('running', `b${n}`))),
  )
  for (let round = 0; round < 3; round++) await client.publish(result('running', 'b5'))
  assert.equal(client.resultOf('acme', 'b0')?.state, 'running')
  await client.publish(result('running', 'one-more'))
  assert.equal(client.resultOf('acme', 'b0'), undefined)
  await client.stop()
})

// The watch over labels asks for a dry run every few minutes, day and night.
test('dry runs of other kinds push no backtest out that waits or has ended', async () => {
  const client = await open('here')
  await client.publish(result('estimated', 'waits'))
  await client.publish(result('done', 'ended'))
  await Promise.all(
    Array.from({ length: 1001 }, (_, n) => client.publish(result('done', `t${n}`, 'test'))),
  )
  const states = ['waits', 'ended', 't2', 't3', 't1000'].map(
    id => client.resultOf('acme', id)?.state,
  )
  assert.deepEqual(states, ['estimated', 'done', undefined, 'done', 'done'])
  await client.stop()
})
