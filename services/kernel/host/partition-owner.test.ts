import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { isAmbitError } from '#kernel/errors.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { Fence } from '#kernel/ports/state-store.ts'
import {
  countingStep,
  countOnce,
  createStepBench,
  failing,
  INPUT,
  JOURNAL,
  START,
  type StepBench,
  TENANT,
  type Tick,
} from '#test/support/step-bench.ts'
import { createPartitionOwner, NotOwner, type PartitionOwner } from './partition-owner.ts'
import { rebuildTenant } from './rebuild.ts'
import { FENCE_HEADER, OWN_QUEUE, type Step } from './step.ts'

const OUTBOX = 'outbox/counting/0'

let bench: StepBench
let rebuilds: string[]

beforeEach(() => {
  bench = createStepBench()
  rebuilds = []
})

/** An owner of partition 0 in a process of its own. */
function ownerIn(
  name: string,
  step: Step<Tick> = countingStep(),
  seen = new Map<string, Fence>(),
): PartitionOwner {
  const world = bench.world(name)
  return createPartitionOwner(step, 0, {
    ...world,
    seen,
    rebuild: async (partition, tenant, fence) => {
      rebuilds.push(name)
      return rebuildTenant(step, world, { partition, tenant, fence })
    },
  })
}

/** Decides one tick. */
function run(owner: PartitionOwner, id: string, over: Partial<Tick> & { isOwned?: boolean } = {}) {
  const { isOwned = true, ...more } = over
  return owner.run({
    tenant: TENANT,
    hints: { documents: ['tally', `seen/${id}`], counters: [] },
    decide: unit => countOnce(unit, { tenant: TENANT, id, ...more }),
    isOwned: () => isOwned,
  })
}

const failAppends = (times: number) => {
  const fail = failing(times, 'log-unavailable')
  bench.faults.beforeLog = call => {
    if (call.op === 'append') fail()
  }
}
const outboxIds = async () => {
  const entries = await bench.store.open('reader').readOutbox(TENANT, OUTBOX)
  return entries.map(({ id }) => Number(id))
}
const signatures = () =>
  bench.log.records(JOURNAL).map(({ headers }: LogRecord) => {
    const [incarnation, epoch, seq, owner] = Buffer.from(headers[FENCE_HEADER] ?? [])
      .toString()
      .split(' ')
    return { incarnation, epoch: Number(epoch), seq: Number(seq), owner }
  })
const storeAway = (error: unknown) => isAmbitError(error) && error.code === 'store-unavailable'
const logAway = (error: unknown) => isAmbitError(error) && error.code === 'log-unavailable'

describe('O2 what is appended was committed under the current fence', () => {
  it('an output is signed by its commit, and its outbox entry goes with the next', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    assert.deepEqual(await outboxIds(), [1])
    await run(owner, 'b')
    assert.deepEqual(await outboxIds(), [2])
    assert.deepEqual(bench.journal(), [
      { id: 'a', count: 1 },
      { id: 'b', count: 2 },
    ])
    const [first, second] = signatures()
    assert.equal(first?.epoch, owner.epochOf(TENANT))
    assert.deepEqual(second, { ...first, seq: 2, owner: 'counting/0' })
  })
  it('a process that is no owner before its commit writes nothing', async () => {
    const owner = ownerIn('one')
    await assert.rejects(run(owner, 'a', { isOwned: false }), NotOwner)
    assert.deepEqual(bench.journal(), [])
    await run(owner, 'b')
    assert.deepEqual(bench.journal(), [{ id: 'b', count: 1 }])
  })
  it('one that loses the partition after its commit leaves the append to the next', async () => {
    const owner = ownerIn('one')
    let asked = 0
    const hints = { documents: ['tally', 'seen/a'], counters: [] }
    const call = owner.run({
      ...{ tenant: TENANT, hints },
      decide: unit => countOnce(unit, { tenant: TENANT, id: 'a' }),
      isOwned: () => ++asked === 1,
    })
    await assert.rejects(call, NotOwner)
    assert.deepEqual(bench.journal(), [])
    await ownerIn('two').acquire(TENANT)
    assert.deepEqual(bench.journal(), [{ id: 'a', count: 1 }])
    assert.deepEqual(await outboxIds(), [])
  })
  it('topics that come last are appended when all others are durable', async () => {
    const step = countingStep({ lastTopics: ['mailbox'] })
    const owner = ownerIn('one', step)
    const appends: string[][] = []
    bench.faults.beforeLog = call => {
      if (call.op === 'append') appends.push(call.records.map(({ topic }) => topic))
    }
    await owner.run({
      tenant: TENANT,
      hints: { documents: [], counters: [] },
      decide: unit => {
        const record = { key: 'k', tenant: TENANT, value: {} }
        unit.emit({ ...record, topic: 'mailbox', id: 'm' })
        unit.emit({ ...record, topic: 'decisions', id: 'd' })
      },
      isOwned: () => true,
    })
    assert.deepEqual(appends, [['decisions'], ['mailbox']])
  })
})

describe('O3 nothing new is decided before the outbox was appended', () => {
  it('outputs whose append failed come before anything new', async () => {
    const owner = ownerIn('one')
    failAppends(2)
    await assert.rejects(run(owner, 'a'), logAway)
    await assert.rejects(run(owner, 'b'), logAway)
    assert.deepEqual(bench.journal(), [])
    await run(owner, 'c')
    assert.deepEqual(
      bench.journal().map(({ id }) => id),
      ['a', 'c'],
      'b was never decided, since a had not been appended',
    )
    assert.deepEqual(await outboxIds(), [2])
  })
  it('the same batch again appends what it decided, once', async () => {
    const owner = ownerIn('one')
    failAppends(1)
    await assert.rejects(run(owner, 'a'), logAway)
    await run(owner, 'a')
    assert.deepEqual(bench.journal(), [{ id: 'a', count: 1 }])
  })
  it('a new owner drains what a dead one left before it decides', async () => {
    const owner = ownerIn('dead')
    failAppends(1)
    await assert.rejects(run(owner, 'a'), logAway)
    await run(ownerIn('next'), 'b')
    assert.deepEqual(bench.journal(), [
      { id: 'a', count: 1 },
      { id: 'b', count: 2 },
    ])
  })
  it('a drain that fails leaves the outbox for the next try', async () => {
    const owner = ownerIn('dead')
    failAppends(2)
    await assert.rejects(run(owner, 'a'), logAway)
    const next = ownerIn('next')
    await assert.rejects(next.acquire(TENANT), logAway)
    await next.acquire(TENANT)
    assert.deepEqual(bench.journal(), [{ id: 'a', count: 1 }])
  })
})

describe('a commit whose answer was lost', () => {
  const loseCommits = (times: number) => {
    const fail = failing(times, 'store-unavailable')
    bench.faults.afterStore = call => {
      if (call.op === 'commit') fail()
    }
  }

  it('is adopted: its outputs are appended once, nothing is rebuilt or decided again', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    rebuilds = []
    loseCommits(1)
    await assert.rejects(run(owner, 'b'), storeAway)
    assert.equal(bench.journal().length, 1)
    await run(owner, 'b')
    assert.deepEqual(bench.journal(), [
      { id: 'a', count: 1 },
      { id: 'b', count: 2 },
    ])
    assert.deepEqual(rebuilds, [])
  })
  it('is adopted too when it takes effect after its caller had learned the fence', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    const [sign] = signatures()
    assert.ok(sign)
    const fence = { key: 'fence/counting/0', incarnation: sign.incarnation ?? '', seq: 1 }
    const mark = { key: 'mark/counting/0', version: 3, body: JSON.stringify(sign.incarnation) }
    const late = { tenant: TENANT, fence: { ...fence, epoch: sign.epoch }, put: [mark] }
    assert.equal((await bench.store.open('late').commit(late)).kind, 'ok')
    rebuilds = []
    await run(owner, 'b')
    assert.deepEqual(bench.journal().at(-1), { id: 'b', count: 2 })
    assert.deepEqual(rebuilds, [])
  })
  it('a commit that did not happen is made again', async () => {
    const owner = ownerIn('one')
    const fail = failing(1, 'store-unavailable')
    bench.faults.beforeStore = call => {
      if (call.op === 'commit' && call.commit.put?.length) fail()
    }
    await assert.rejects(run(owner, 'a'), storeAway)
    await run(owner, 'a')
    assert.deepEqual(bench.journal(), [{ id: 'a', count: 1 }])
  })
})

describe('O4 a store that lost commits is rebuilt before going on', () => {
  it('a store nobody has filled is built from the log', async () => {
    await run(ownerIn('one'), 'a')
    bench.store.flush()
    rebuilds = []
    await run(ownerIn('two'), 'b')
    assert.deepEqual(rebuilds, ['two'])
    assert.deepEqual(bench.journal().at(-1), { id: 'b', count: 2 })
  })
  it('a flush is noticed at the next commit, and epochs go on growing', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    const epoch = owner.epochOf(TENANT)
    bench.store.flush()
    rebuilds = []
    await run(owner, 'b')
    await run(owner, 'a')
    assert.deepEqual(rebuilds, ['one'])
    assert.deepEqual(bench.journal(), [
      { id: 'a', count: 1 },
      { id: 'b', count: 2 },
    ])
    assert.ok(owner.epochOf(TENANT) > epoch)
  })
  it('a rollback is noticed at the next commit', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    const earlier = bench.store.snapshot()
    await run(owner, 'b')
    bench.store.restore(earlier)
    rebuilds = []
    await run(owner, 'b')
    await run(owner, 'c')
    assert.deepEqual(rebuilds, ['one'])
    assert.deepEqual(bench.journal().at(-1), { id: 'c', count: 3 })
  })
  it('a rollback is noticed although the answer of the next commit was lost', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    const earlier = bench.store.snapshot()
    await run(owner, 'b')
    const fail = failing(1, 'store-unavailable')
    bench.faults.beforeStore = call => {
      if (call.op === 'commit') fail()
    }
    await assert.rejects(run(owner, 'c'), storeAway)
    bench.store.restore(earlier)
    // The records of a and b were finished, so that they do not come again.
    await run(owner, 'c')
    assert.deepEqual(
      bench.journal().map(({ count }) => count),
      [1, 2, 3],
    )
  })
  for (const loss of ['flush', 'restore'] as const) {
    it(`a check notices it without any work: ${loss}`, async () => {
      const owner = ownerIn('one')
      await run(owner, 'a')
      const earlier = bench.store.snapshot()
      await run(owner, 'b')
      rebuilds = []
      await owner.check()
      assert.deepEqual(rebuilds, [], 'nothing was lost yet')
      if (loss === 'flush') bench.store.flush()
      else bench.store.restore(earlier)
      await owner.check()
      assert.deepEqual(rebuilds, ['one'])
      const { documents } = await bench.store
        .open('reader')
        .load({ tenant: TENANT, documents: ['tally'] })
      assert.equal(documents.get('tally')?.body, '2')
    })
  }
})

describe('O4 over the tenures of one process', () => {
  // A tenure that appended nothing is in no log. Its fence was lost with the store; when the store
  // comes back to it after a rebuild, it is the past, however high its epoch is.
  it('a store that comes back to a quiet tenure is rebuilt, and loses nothing', async () => {
    const seen = new Map<string, Fence>()
    const tenure = () => ownerIn('one', countingStep(), seen)
    await run(tenure(), 'a')
    for (let n = 0; n < 5; n += 1) await tenure().acquire(TENANT)
    const quiet = bench.store.snapshot()
    bench.store.flush()
    const owner = tenure()
    await run(owner, 'b')
    bench.store.restore(quiet)
    await run(owner, 'c')
    assert.deepEqual(
      bench.journal().map(({ count }) => count),
      [1, 2, 3],
    )
    assert.deepEqual(rebuilds, ['one', 'one', 'one'])
  })
})

describe('a check takes over what a failure dropped', () => {
  it('outputs whose append failed do not wait for the next record', async () => {
    const owner = ownerIn('one')
    failAppends(1)
    await assert.rejects(run(owner, 'a'), logAway)
    await owner.check()
    assert.deepEqual(bench.journal(), [{ id: 'a', count: 1 }])
  })
  it('a tenant whose commit failed is taken over again', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    const fail = failing(1, 'store-unavailable')
    bench.faults.beforeStore = call => {
      if (call.op === 'commit') fail()
    }
    await assert.rejects(run(owner, 'b'), storeAway)
    const before = owner.epochOf(TENANT)
    await owner.check()
    assert.ok(owner.epochOf(TENANT) > before)
  })
})

describe('O4 around a loss', () => {
  it('outputs that were committed before the loss are still appended', async () => {
    const owner = ownerIn('one')
    await run(owner, 'a')
    failAppends(1)
    await assert.rejects(run(owner, 'b'), logAway)
    bench.store.flush()
    await run(owner, 'b')
    assert.deepEqual(
      bench.journal().map(({ id }) => id),
      ['a', 'b'],
    )
  })
  it('a rebuild that fails is begun again', async () => {
    await run(ownerIn('one'), 'a')
    bench.store.flush()
    const fail = failing(1, 'log-unavailable')
    bench.faults.beforeLog = call => {
      if (call.op === 'follow') fail()
    }
    const owner = ownerIn('two')
    await assert.rejects(run(owner, 'b'), logAway)
    await run(owner, 'b')
    assert.deepEqual(bench.journal().at(-1), { id: 'b', count: 2 })
  })
  it('a log that knows later commits than the store makes a new owner rebuild', async () => {
    await run(ownerIn('one'), 'a')
    const earlier = bench.store.snapshot()
    await run(ownerIn('two'), 'b')
    bench.store.restore(earlier)
    const last = signatures().at(-1)
    assert.ok(last)
    const owner = ownerIn('three')
    owner.compareWithLog({
      ...{ partition: 0, tenant: TENANT, epoch: last.epoch, at: START, overtaken: new Set() },
      ...{ signs: new Map([[last.incarnation ?? '', last.seq]]), last: last.incarnation ?? '' },
    })
    rebuilds = []
    await run(owner, 'c')
    assert.deepEqual(rebuilds, ['three'])
    assert.deepEqual(bench.journal().at(-1), { id: 'c', count: 3 })
    assert.ok(owner.epochOf(TENANT) > last.epoch)
  })
  it('a store that never keeps a fence is given back to the log as away', async () => {
    const owner = ownerIn('one')
    bench.faults.beforeStore = call => {
      if (call.op === 'commit' && call.commit.put?.some(({ key }) => key === 'tally')) {
        bench.store.flush()
      }
    }
    await assert.rejects(run(owner, 'a'), storeAway)
    assert.deepEqual(bench.journal(), [])
  })
})

describe('another owner', () => {
  it('stops the old one before it appends anything', async () => {
    const [old, next] = [ownerIn('old'), ownerIn('next')]
    await run(old, 'a')
    await run(next, 'b')
    await assert.rejects(run(old, 'c'), NotOwner)
    assert.deepEqual(
      bench.journal().map(({ id }) => id),
      ['a', 'b'],
    )
    await run(next, 'd')
    assert.deepEqual(bench.journal().at(-1), { id: 'd', count: 3 })
  })
  it('is found by a check', async () => {
    const old = ownerIn('old')
    await run(old, 'a')
    await ownerIn('next').acquire(TENANT)
    await assert.rejects(old.check(), NotOwner)
  })
  it('that was faster with the same epoch is respected', async () => {
    const [one, two] = [ownerIn('one'), ownerIn('two')]
    const results = await Promise.allSettled([one.acquire(TENANT), two.acquire(TENANT)])
    const refused = results.filter(({ status }) => status === 'rejected')
    assert.equal(refused.length, 1)
    assert.ok(refused.every(result => 'reason' in result && result.reason instanceof NotOwner))
  })
})

describe('O1 one thing at a time', () => {
  it('works of one partition never overlap, also after one that failed', async () => {
    const owner = ownerIn('one')
    await owner.acquire(TENANT)
    let inside = 0
    let most = 0
    bench.faults.beforeStore = async call => {
      if (call.op === 'load') {
        inside += 1
        most = Math.max(most, inside)
      }
      await new Promise(resolve => setImmediate(resolve))
    }
    bench.faults.afterStore = call => {
      if (call.op === 'commit') inside -= 1
    }
    failAppends(1)
    const ids = ['a', 'b', 'c', 'd', 'e']
    const results = await Promise.allSettled([...ids.map(id => run(owner, id)), owner.check()])
    assert.equal(most, 1)
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', ...Array(5).fill('fulfilled')],
    )
    assert.deepEqual(
      bench.journal().map(({ id, count }) => `${id}${count}`),
      ['a1', 'b2', 'c3', 'd4', 'e5'],
    )
  })
  it('a step is told of every commit once, however often it was decided', async () => {
    const told: number[] = []
    const step = countingStep({ committed: outputs => void told.push(outputs.length) })
    const owner = ownerIn('one', step)
    let decided = 0
    await owner.run({
      tenant: TENANT,
      hints: { documents: [], counters: [] },
      decide: unit => {
        decided += 1
        countOnce(unit, { tenant: TENANT, id: 'a' })
      },
      isOwned: () => true,
    })
    assert.ok(decided > 1, 'nothing was loaded at first')
    assert.deepEqual(told, [1])
  })
})

describe('due entries', () => {
  const dueStep = () =>
    countingStep({
      decideDue(unit, { id }) {
        unit.due(OWN_QUEUE, id, null)
        const record = { key: 'tally', tenant: TENANT, value: { id, count: 0 } }
        unit.emit({ ...record, topic: JOURNAL, id: `due/${id}` })
      },
    })
  const fired = () => bench.journal().filter(({ count }) => count === 0)

  it('are decided when the store says so, once', async () => {
    const owner = ownerIn('one', dueStep())
    await run(owner, 'a', { dueAt: START + 1000 })
    await owner.runDue()
    assert.deepEqual(fired(), [])
    await bench.clock.advance(1000)
    await owner.runDue()
    await owner.runDue()
    assert.deepEqual(fired(), [{ id: 'a', count: 0 }])
  })
  it('are not looked for where none can be', async () => {
    const owner = ownerIn('one', dueStep())
    await run(owner, 'a')
    await owner.runDue()
    bench.faults.beforeStore = call => assert.notEqual(call.op, 'peekDue')
    await owner.runDue()
    await run(owner, 'b')
    await owner.runDue()
  })
  it('of a former owner are taken over', async () => {
    await run(ownerIn('dead', dueStep()), 'a', { dueAt: START + 1000 })
    const next = ownerIn('next', dueStep())
    await next.acquire(TENANT)
    await bench.clock.advance(1000)
    await next.runDue()
    assert.deepEqual(fired(), [{ id: 'a', count: 0 }])
  })
  it('are found again in a store that was empty for less than a check', async () => {
    const owner = ownerIn('one', dueStep())
    await run(owner, 'a', { dueAt: START + 1000 })
    const before = bench.store.snapshot()
    bench.store.flush()
    await owner.runDue()
    bench.store.restore(before)
    await bench.clock.advance(1000)
    for (let second = 0; second < 30; second++) await owner.check()
    await owner.runDue()
    assert.deepEqual(fired(), [{ id: 'a', count: 0 }])
    assert.deepEqual(rebuilds, ['one'])
  })
})

describe('a store that shares a transaction with the log', () => {
  beforeEach(() => {
    bench = createStepBench({ isAtomic: true })
  })

  it('gets outputs and offset with the commit, and has no outbox', async () => {
    const owner = ownerIn('one')
    await bench.log.open('producer').append([{ topic: INPUT, key: TENANT, value: null }])
    const offset = { group: 'counting', topic: INPUT, partition: 0, offset: 1 }
    const appends: string[] = []
    bench.faults.beforeLog = call => void appends.push(call.op)
    await owner.run({
      ...{ tenant: TENANT, offset, isOwned: () => true },
      hints: { documents: ['tally', 'seen/a'], counters: [] },
      decide: unit => countOnce(unit, { tenant: TENANT, id: 'a' }),
    })
    assert.ok(!appends.includes('append'))
    assert.deepEqual(bench.journal(), [{ id: 'a', count: 1 }])
    assert.deepEqual(await outboxIds(), [])
    const [place] = await bench.log.open('reader').lag('counting', [INPUT])
    assert.equal(place?.lag, 0)
  })
  it('a commit that is refused appends nothing', async () => {
    const [old, next] = [ownerIn('old'), ownerIn('next')]
    await run(old, 'a')
    await run(next, 'b')
    await assert.rejects(run(old, 'c'), NotOwner)
    assert.deepEqual(
      bench.journal().map(({ id }) => id),
      ['a', 'b'],
    )
  })
})
