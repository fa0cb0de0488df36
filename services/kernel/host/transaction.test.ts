import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import { createStepBench, START, type StepBench, TENANT } from '#test/support/step-bench.ts'
import { runTransaction, type TransactionRequest } from './transaction.ts'

const HOUR = 3_600_000

let bench: StepBench
let store: StateStore
/** How often the decider ran. */
let runs: number

beforeEach(() => {
  bench = createStepBench()
  store = bench.store.open('mine')
  runs = 0
})

function transact<T>(
  decide: (unit: UnitOfWork) => T,
  over: Partial<TransactionRequest<T>> = {},
): ReturnType<typeof runTransaction<T>> {
  return runTransaction({
    ...{ store, tenant: TENANT, field: 'mine', shape: () => ({}) },
    hints: { documents: [], counters: [] },
    decide(unit) {
      runs += 1
      return decide(unit)
    },
    ...over,
  })
}

const read = async (key: string) => {
  const { documents } = await bench.store.open('r').load({ tenant: TENANT, documents: [key] })
  return documents.get(key)
}

/** Somebody else writes each time this one is about to commit, so many times. */
function interfere(times: number, write: (store: StateStore, round: number) => Promise<unknown>) {
  const other = bench.store.open('other')
  let round = 0
  bench.faults.beforeStore = async call => {
    if (call.instance !== 'mine' || call.op !== 'commit' || round >= times) return
    round += 1
    await write(other, round)
  }
}

const countUp = (unit: UnitOfWork) => unit.put('n', (unit.get<number>('n') ?? 0) + 1)
const away = (error: unknown) => isAmbitError(error) && error.code === 'store-unavailable'

describe('what a decider reads', () => {
  it('is loaded on demand, and the decision is made again from all of it', async () => {
    await store.commit({ tenant: TENANT, put: [{ key: 'a', version: 1, body: '"b"' }] })
    await store.commit({ tenant: TENANT, put: [{ key: 'b', version: 1, body: '7' }] })
    const result = await transact(unit => {
      const next = unit.get<string>('a') ?? ''
      return [unit.get<number>(next), unit.counter('spent')]
    })
    assert.ok(result.kind === 'ok')
    assert.deepEqual(result.value, [7, 0])
    assert.equal(runs, 4, 'once per thing that it did not know of')
    assert.equal(result.now, START)
  })
  it('is loaded at once where the hints say so', async () => {
    const hints = { documents: ['a', 'b'], counters: ['spent'] }
    await transact(unit => [unit.get('a'), unit.get('b'), unit.counter('spent')], { hints })
    assert.equal(runs, 1)
  })
  it('has an end: a decider that always wants more is given up', async () => {
    let wanted = 0
    await assert.rejects(
      transact(unit => unit.get(`more-${wanted++}`)),
      away,
    )
    assert.equal(runs, 1000)
  })
})

describe('a writer who was faster', () => {
  it('makes the decision again, on top of what was written', async () => {
    interfere(3, (other, round) =>
      other.commit({
        ...{ tenant: TENANT, expect: { n: round - 1 } },
        put: [{ key: 'n', version: round, body: String(round * 10) }],
      }),
    )
    const result = await transact(countUp, { hints: { documents: ['n'], counters: [] } })
    assert.equal(result.kind, 'ok')
    assert.deepEqual(await read('n'), { version: 4, body: '31' })
    assert.equal(runs, 4)
  })
  it('every time ends in store-unavailable, and nothing of it is written', async () => {
    interfere(1000, (other, round) =>
      other.commit({ tenant: TENANT, put: [{ key: 'n', version: round, body: '0' }] }),
    )
    await assert.rejects(
      transact(unit => {
        unit.put('other', 1, { isNew: true })
        countUp(unit)
      }),
      away,
    )
    assert.equal(await read('other'), undefined)
    assert.equal((await read('n'))?.version, 50)
  })
  it('of a document that was only read changes nothing', async () => {
    interfere(1, other =>
      other.commit({ tenant: TENANT, put: [{ key: 'read', version: 9, body: '9' }] }),
    )
    const hints = { documents: ['read', 'n'], counters: [] }
    const decide = (unit: UnitOfWork) => {
      unit.get('read')
      countUp(unit)
    }
    await transact(decide, { hints })
    assert.equal(runs, 1)
  })
})

describe('a limit', () => {
  const spend = (unit: UnitOfWork) => {
    if (unit.counter('spent') + 5 > 10) return 'used up'
    unit.add({ counter: 'spent', amount: 5, limit: 10, ttlMs: HOUR })
    return 'spent'
  }
  const other = { counter: 'spent', field: 'other', amount: 8, limit: 10, ttlMs: HOUR }

  it('that others reached meanwhile makes the decision again with the sum', async () => {
    interfere(1, store => store.commit({ tenant: TENANT, add: [other] }))
    const result = await transact(spend)
    assert.ok(result.kind === 'ok')
    assert.equal(result.value, 'used up')
    const { counters } = await store.load({ tenant: TENANT, documents: [], counters: ['spent'] })
    assert.equal(counters.get('spent'), 8)
  })
  it('is counted in the field of the writer', async () => {
    assert.ok((await transact(spend)).kind === 'ok')
    const set = { ...other, field: 'mine', amount: 1, set: true }
    await store.commit({ tenant: TENANT, add: [set] })
    const { counters } = await store.load({ tenant: TENANT, documents: [], counters: ['spent'] })
    assert.equal(counters.get('spent'), 1, 'the field was replaced, not another one added')
  })
})

describe('the end of a transaction', () => {
  it('a lost fence is answered with what was found, and nothing is tried again', async () => {
    const fence = { key: 'f', incarnation: 'mine', epoch: 1, seq: 0 }
    const shape = () => ({ fence })
    assert.deepEqual(await transact(countUp, { shape }), { kind: 'lost', found: null })
    await store.takeFence(TENANT, { ...fence, epoch: 2 })
    runs = 0
    const hints = { documents: ['n'], counters: [] }
    const found = { incarnation: 'mine', epoch: 2, seq: 0 }
    assert.deepEqual(await transact(countUp, { shape, hints }), { kind: 'lost', found })
    assert.equal(runs, 1)
    assert.equal(await read('n'), undefined)
  })
  it('whoever gives up before a try writes nothing', async () => {
    const gone = new Error('no owner any more')
    let tries = 0
    const beforeTry = () => {
      tries += 1
      if (tries === 2) throw gone
    }
    interfere(1, other =>
      other.commit({ tenant: TENANT, put: [{ key: 'n', version: 1, body: '1' }] }),
    )
    const hints = { documents: ['n'], counters: [] }
    await assert.rejects(transact(countUp, { beforeTry, hints }), error => error === gone)
    assert.deepEqual(await read('n'), { version: 1, body: '1' })
  })
  it("a decider's own failure goes through, and nothing is written", async () => {
    const fault = new Error('a fault of the decider')
    const call = transact(unit => {
      unit.put('n', 1, { isNew: true })
      throw fault
    })
    await assert.rejects(call, error => error === fault)
    assert.equal(await read('n'), undefined)
  })
  it('the changes it tells are those of the try that was committed', async () => {
    interfere(1, other =>
      other.commit({ tenant: TENANT, put: [{ key: 'n', version: 1, body: '1' }] }),
    )
    const result = await transact(unit => {
      countUp(unit)
      unit.due('q', 'id', unit.get<number>('n') ?? 0)
    })
    assert.ok(result.kind === 'ok')
    assert.deepEqual(result.changes.due, [{ queue: 'q', id: 'id', at: 2 }])
    assert.deepEqual((await store.peekDue(TENANT, 'q', 5)).due, [{ id: 'id', at: 2 }])
  })
})
