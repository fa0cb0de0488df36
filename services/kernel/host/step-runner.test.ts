import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { AmbitError } from '#kernel/errors.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import {
  countingStep,
  countOnce,
  createStepBench,
  failing,
  INPUT,
  JOURNAL,
  jsonOf,
  START,
  type StepBench,
  TENANT,
  type Tick,
  tick,
} from '#test/support/step-bench.ts'
import { OWN_QUEUE, type Step } from './step.ts'
import { type RunningStep, runStep } from './step-runner.ts'
import type { StepWorld } from './step-world.ts'

let bench: StepBench
let running: RunningStep[]

beforeEach(() => {
  bench = createStepBench()
  running = []
})
afterEach(async () => {
  bench.faults = {}
  await during(Promise.all(running.map(each => each.stop())))
})

const during = <T>(call: Promise<T>) => bench.clock.during(call)

async function start(
  name: string,
  over: { step?: Partial<Step<Tick>>; world?: Partial<StepWorld> } = {},
): Promise<RunningStep> {
  const step = await during(runStep(countingStep(over.step), bench.world(name, over.world)))
  running.push(step)
  return step
}

const send = (...ticks: (Partial<Tick> & { id: string })[]) =>
  bench.log.open('producer').append(ticks.map(tick))
const raw = (text: string | null, headers: Record<string, string> = {}) =>
  bench.log
    .open('producer')
    .append([
      { topic: INPUT, key: TENANT, value: text === null ? null : Buffer.from(text), headers },
    ])
const lag = async () => {
  const places = await bench.log.open('reader').lag('counting', [INPUT])
  return places.reduce((sum, place) => sum + place.lag, 0)
}
const decided = () => bench.journal().map(({ id }) => id)
const hasDecided = (...ids: string[]) => bench.clock.until(() => ids.every(isDecided))
const isDecided = (id: string) => decided().includes(id)
const letters = () =>
  bench.log.records('deadletter').map((record: LogRecord) => ({
    id: Buffer.from(record.headers.ce_id ?? []).toString(),
    ...jsonOf<{ reason: string; code: string; offset: number; tenant: string | null }>(record),
  }))

describe('poison', () => {
  it('goes to deadletter with the reason, and the rest of its batch is decided', async () => {
    await send({ id: 'a' })
    await raw('no JSON')
    await send({ id: 'b' })
    await start('one')
    await hasDecided('a', 'b')
    const [letter, ...more] = letters()
    assert.equal(more.length, 0)
    assert.deepEqual([letter?.offset, letter?.code, letter?.tenant], [1, 'unreadable', null])
    assert.match(letter?.reason ?? '', /JSON/)
    await bench.clock.advance(1000)
    assert.equal(await lag(), 0)
  })
  it('alone in its batch does not hold up the partition', async () => {
    await start('one')
    await raw('no JSON', { ce_tenant: TENANT })
    await bench.clock.until(() => letters().length === 1)
    await send({ id: 'a' })
    await hasDecided('a')
    assert.equal(letters()[0]?.tenant, TENANT)
    await bench.clock.advance(1000)
    assert.equal(await lag(), 0)
  })
  it('read twice is one letter, by its id', async () => {
    await raw('no JSON')
    await send({ id: 'a' })
    const fail = failing(1, 'log-unavailable')
    bench.faults.beforeLog = call => {
      if (call.op === 'append' && call.records.some(({ topic }) => topic === JOURNAL)) fail()
    }
    await start('one')
    await hasDecided('a')
    const ids = letters().map(({ id }) => id)
    assert.equal(ids.length, 2)
    assert.equal(new Set(ids).size, 1)
  })
  it('is not what cannot be read yet: the batch waits', async () => {
    let isReady = false
    const read: Step<Tick>['read'] = record => {
      if (!isReady) throw new AmbitError('not-ready', 'a schema is being fetched')
      return countingStep().read(record)
    }
    await send({ id: 'a' })
    await start('one', { step: { read } })
    await bench.clock.advance(2000)
    assert.deepEqual([decided(), letters(), await lag()], [[], [], 1])
    isReady = true
    await hasDecided('a')
    assert.deepEqual(letters(), [])
  })
  it('is not what a step skips', async () => {
    await start('one')
    await raw('null')
    await send({ id: 'a' })
    await hasDecided('a')
    await bench.clock.advance(1000)
    assert.deepEqual([letters(), await lag()], [[], 0])
  })
})

describe('the gate', () => {
  it('is awaited before anything of a batch is read or decided', async () => {
    const open = Promise.withResolvers<void>()
    const seen: string[] = []
    const step: Partial<Step<Tick>> = {
      read(record) {
        seen.push('read')
        return countingStep().read(record)
      },
    }
    await send({ id: 'a' }, { id: 'b' })
    const gate = async () => {
      seen.push('gate')
      await open.promise
    }
    await start('one', { step, world: { gate } })
    await bench.clock.advance(5000)
    assert.deepEqual([seen, await lag()], [['gate'], 2])
    open.resolve()
    await hasDecided('a', 'b')
    assert.deepEqual(seen, ['gate', 'read', 'read'], 'once for both')
  })
  it('that fails gives the batch back', async () => {
    const fail = failing(2, 'store-unavailable')
    await send({ id: 'a' })
    await start('one', { world: { gate: async () => fail() } })
    await hasDecided('a')
  })
})

describe('I4 offsets', () => {
  it('are stored after the outputs, and never above what is unfinished', async () => {
    const stored: number[] = []
    let isLogAway = false
    bench.faults.beforeLog = call => {
      if (call.op === 'commit') {
        assert.ok(call.position.offset <= decided().length, 'above the lowest unfinished one')
        stored.push(call.position.offset)
      }
      if (call.op === 'append' && isLogAway) throw new AmbitError('log-unavailable', 'away')
    }
    await start('one', { world: { batchMax: 1 } })
    await send({ id: 'a' }, { id: 'b' })
    await hasDecided('a', 'b')
    await bench.clock.advance(500)
    assert.equal(stored.at(-1), 2)
    await send({ id: 'c' }, { id: 'd' }).then(() => {
      isLogAway = true
    })
    await bench.clock.advance(3000)
    assert.deepEqual([stored.at(-1), await lag()], [2, 2])
    isLogAway = false
    await hasDecided('c', 'd')
    await bench.clock.advance(500)
    assert.deepEqual([stored.at(-1), await lag()], [4, 0])
  })
  it('are stored at an orderly end', async () => {
    const step = await start('one')
    await send({ id: 'a' })
    await hasDecided('a')
    running = []
    await during(step.stop())
    assert.equal(await lag(), 0)
  })
  it('that were forgotten bring every record again, and nothing is decided twice', async () => {
    await start('one')
    await send({ id: 'a' }, { id: 'b' })
    await hasDecided('a', 'b')
    bench.log.forgetOffsets('counting')
    await send({ id: 'c' })
    await hasDecided('c')
    assert.deepEqual(bench.journal().at(-1), { id: 'c', count: 3 })
  })
  it('go with the commit where store and log share a transaction', async () => {
    bench = createStepBench({ isAtomic: true })
    bench.faults.beforeLog = call => assert.notEqual(call.op, 'commit')
    await start('one')
    await send({ id: 'a' }, { id: 'b', tenant: 'other' })
    await hasDecided('a', 'b')
    assert.equal(await lag(), 0)
  })
})

describe('a batch', () => {
  it('is prepared once and decided in order, each tenant under its own fence', async () => {
    const prepared: string[][] = []
    const prepare: Step<Tick>['prepare'] = async items => {
      prepared.push(items.map(({ value }) => value.id))
    }
    await send({ id: 'a' }, { id: 'x', tenant: 'other' }, { id: 'b' }, { id: 'c' })
    await start('one', { step: { prepare } })
    await hasDecided('a', 'b', 'c', 'x')
    assert.deepEqual(prepared, [['a', 'x', 'b', 'c']])
    assert.deepEqual(
      bench.journal().map(({ id, count }) => `${id}${count}`),
      ['a1', 'b2', 'c3', 'x1'],
    )
  })
  it('hands the trace context of a record to what it causes', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const value = JSON.stringify({ tenant: TENANT, id: 'a' })
    await raw(value, { ce_traceparent: traceparent })
    await send({ id: 'b' })
    await start('one')
    await hasDecided('a', 'b')
    const traces = bench.log
      .records(JOURNAL)
      .map(({ headers }) => Buffer.from(headers.ce_traceparent ?? []).toString())
    assert.deepEqual(traces, [traceparent, ''])
  })
  it('that fails is decided again from what is stored', async () => {
    const fail = failing(3, 'store-unavailable')
    bench.faults.afterStore = call => {
      if (call.op === 'commit') fail()
    }
    await send({ id: 'a' }, { id: 'b' })
    await start('one')
    await hasDecided('a', 'b')
    assert.deepEqual(bench.journal().at(-1), { id: 'b', count: 2 })
  })
})

describe('due entries', () => {
  const decideDue: Step<Tick>['decideDue'] = (unit, { id }) => {
    unit.due(OWN_QUEUE, id, null)
    const value = { id: `due ${id}`, count: 0 }
    unit.emit({ topic: JOURNAL, key: 'tally', id: `due/${id}`, tenant: TENANT, value })
  }

  it('are decided when they are due, without any record', async () => {
    await start('one', { step: { decideDue } })
    await send({ id: 'a', dueAt: START + 5000 })
    await hasDecided('a')
    await bench.clock.advance(START + 4900 - bench.clock.now())
    assert.ok(!isDecided('due a'))
    await bench.clock.advance(200)
    assert.ok(isDecided('due a'))
  })
  it('that fail are tried again', async () => {
    await start('one', { step: { decideDue } })
    await send({ id: 'a', dueAt: START + 1000 })
    await hasDecided('a')
    const fail = failing(3, 'store-unavailable')
    bench.faults.beforeStore = call => {
      if (call.op === 'peekDue') fail()
    }
    await hasDecided('due a')
  })
  it('of known tenants are taken over from a process that died', async () => {
    const dead = bench.world('dead')
    await during(runStep(countingStep({ decideDue }), dead))
    await send({ id: 'a', dueAt: START + 3000 })
    await hasDecided('a')
    dead.crash()
    await start('next', { step: { decideDue }, world: { knownTenants: () => [TENANT] } })
    await hasDecided('due a')
  })
})

describe('owners', () => {
  it('that lose a partition in the middle of a batch leave it to the next one', async () => {
    const slow = Promise.withResolvers<void>()
    const isOld = (name: string) => name === 'old'
    await start('old')
    await send({ id: 'a' })
    await hasDecided('a')
    bench.faults.beforeStore = call => {
      if (isOld(call.instance) && call.op === 'commit' && call.commit.put?.length) {
        return slow.promise
      }
    }
    await send({ id: 'b' })
    await bench.clock.advance(500)
    await start('next')
    bench.log.seize('counting', { topic: INPUT, partition: 0 })
    await hasDecided('b')
    slow.resolve()
    await send({ id: 'c' })
    await hasDecided('c')
    assert.deepEqual(
      bench.journal().map(({ id, count }) => `${id}${count}`),
      ['a1', 'b2', 'c3'],
    )
  })
  it('whose fence was taken although the log calls them owners take it back', async () => {
    await start('one', { world: { knownTenants: () => [TENANT] } })
    await send({ id: 'a' })
    await hasDecided('a')
    const fence = { key: 'fence/counting/0', incarnation: 'stray', epoch: 100, seq: 0 }
    await bench.store.open('stray').takeFence(TENANT, fence)
    await send({ id: 'b' })
    await hasDecided('b')
    assert.deepEqual(bench.journal().at(-1), { id: 'b', count: 2 })
  })
  it('notice within seconds that the store was flushed, without any work', async () => {
    await start('one', { world: { knownTenants: () => [TENANT] } })
    await send({ id: 'a' })
    await hasDecided('a')
    bench.store.flush()
    await bench.clock.advance(2000)
    const reader = bench.store.open('reader')
    const { documents } = await reader.load({ tenant: TENANT, documents: ['tally'] })
    assert.equal(documents.get('tally')?.body, '1')
  })
})

describe('reassert', () => {
  let asserted: string[]
  const step: Partial<Step<Tick>> = {
    reassert(unit, key) {
      asserted.push(key)
      const value = { id: 'again', count: unit.get<number>('tally') ?? 0 }
      unit.emit({ topic: JOURNAL, key, id: 'again', tenant: TENANT, value })
    },
    reassertHints: () => ({ documents: ['tally'], counters: [] }),
  }
  const appendLate = async (writer = 'counting/0') => {
    const headers = { ce_tenant: TENANT, ce_id: 'late', 'x-fence': `gone 0 9 ${writer}` }
    const value = Buffer.from(JSON.stringify({ id: 'late', count: 1 }))
    await bench.log.open('old').append([{ topic: JOURNAL, key: 'tally', value, headers }])
  }
  beforeEach(() => {
    asserted = []
  })
  it("brings the newest state again after a former owner's late append (F28)", async () => {
    await start('one', { step })
    await send({ id: 'a' }, { id: 'b' })
    await hasDecided('a', 'b')
    await bench.clock.advance(1000)
    assert.deepEqual(asserted, [], 'own records are no reason')
    await appendLate()
    await hasDecided('again')
    assert.deepEqual(asserted, ['tally'])
    assert.deepEqual(bench.journal().at(-1), { id: 'again', count: 2 })
  })
  it('leaves alone what another step wrote into the same topic', async () => {
    await start('one', { step })
    await send({ id: 'a' })
    await hasDecided('a')
    await appendLate('another/0')
    await bench.clock.advance(1000)
    await send({ id: 'b' })
    await hasDecided('b')
    assert.deepEqual(asserted, [])
  })
  it('does so too where the record came while nobody watched (F28)', async () => {
    const one = await start('one', { step })
    await send({ id: 'a' })
    await hasDecided('a')
    await during(one.stop())
    await appendLate()
    await start('two', { step, world: { knownTenants: () => [TENANT] } })
    await hasDecided('again')
    await bench.clock.advance(3000)
    assert.deepEqual(asserted, ['tally'], 'once is enough')
    assert.deepEqual(bench.journal().at(-1), { id: 'again', count: 1 })
  })
})

describe('a decision', () => {
  it('that throws is given back with its batch and changes nothing', async () => {
    let isBroken = true
    const decide: Step<Tick>['decide'] = (unit, { value }) => {
      countOnce(unit, value)
      if (isBroken) throw new Error('a fault of the decider')
    }
    await send({ id: 'a' })
    await start('one', { step: { decide } })
    await bench.clock.advance(1000)
    assert.deepEqual([decided(), await lag()], [[], 1])
    isBroken = false
    await hasDecided('a')
  })
})
