import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import {
  createMemoryStateStore,
  type StoreCall,
} from '#kernel/adapters/memory/memory-state-store.ts'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import type { Fence } from '#kernel/ports/state-store.ts'
import { type StateStoreWorld, stateStoreContract } from './state-store.ts'

const FENCE: Fence = { key: 'guard/candidates/0', incarnation: 'life-1', epoch: 1, seq: 0 }
const T = 'acme'

function manualTime() {
  let now = 1_700_000_000_000
  return {
    now: () => now,
    set: (ms: number) => {
      now = ms
    },
    clock: { now: () => now, sleep: () => new Promise<void>(() => {}) },
  }
}

async function makeWorld(isAtomic: boolean): Promise<StateStoreWorld> {
  const time = manualTime()
  const log = createMemoryEventLog({ clock: time.clock, partitions: () => 3 })
  const world = createMemoryStateStore({ now: time.now, log: isAtomic ? log : undefined })
  return {
    store: world.open(),
    open: async () => world.open(),
    advance: async ms => time.set(time.now() + ms),
    log: isAtomic ? { events: log.open(), topic: 'a' } : undefined,
    stop: async () => {},
  }
}

stateStoreContract('memory', () => makeWorld(false))
stateStoreContract('memory with its log', () => makeWorld(true))

const unavailable = (error: unknown) => isAmbitError(error) && error.code === 'store-unavailable'

describe('the simulated store', () => {
  test('F11 F12 flushed or rolled back, the next fenced commit is lost', async () => {
    const world = createMemoryStateStore(manualTime())
    const store = world.open()
    await store.takeFence(T, FENCE)
    const earlier = world.snapshot()
    const put = [{ key: 'd', version: 1, body: '1' }]
    assert.equal((await store.commit({ tenant: T, fence: FENCE, put })).kind, 'ok')
    for (const loss of [() => world.restore(earlier), () => world.flush()]) {
      loss()
      assert.equal((await store.load({ tenant: T, documents: ['d'] })).documents.size, 0)
      const next = await store.commit({ tenant: T, fence: { ...FENCE, seq: 1 } })
      assert.equal(next.kind, 'lost')
    }
    world.restore(earlier)
    assert.equal((await store.commit({ tenant: T, fence: FENCE, put })).kind, 'ok')
    world.restore(earlier)
    assert.equal((await store.commit({ tenant: T, fence: FENCE, put })).kind, 'ok')
  })

  test('S5 a clock that is set back is not seen, not even over a rollback', async () => {
    const time = manualTime()
    const world = createMemoryStateStore(time)
    const [one, two] = [world.open(), world.open()]
    const earlier = world.snapshot()
    const { now } = await one.load({ tenant: T, documents: [] })
    time.set(now - 86_400_000)
    world.restore(earlier)
    assert.equal((await two.commit({ tenant: T })).now, now)
  })

  test('F10 hooks fail a call before or after its effect', async () => {
    let fail: 'before' | 'after' | undefined
    const seen: StoreCall['op'][] = []
    const failing = (when: 'before' | 'after') => (call: StoreCall) => {
      if (when === 'before') seen.push(call.op)
      if (fail === when && call.op === 'commit') {
        throw new AmbitError('store-unavailable', 'a planted fault')
      }
    }
    const hooks = { before: failing('before'), after: failing('after') }
    const store = createMemoryStateStore({ ...manualTime(), hooks }).open('guard-1')
    const put = [{ key: 'd', version: 1, body: '1' }]
    const size = async () => (await store.load({ tenant: T, documents: ['d'] })).documents.size
    fail = 'before'
    await assert.rejects(store.commit({ tenant: T, put }), unavailable)
    assert.equal(await size(), 0)
    fail = 'after'
    await assert.rejects(store.commit({ tenant: T, put }), unavailable)
    assert.equal(await size(), 1)
    assert.deepEqual(seen, ['commit', 'load', 'commit', 'load'])
  })

  test('F13 lifetimes can be bent', async () => {
    const time = manualTime()
    const lifetime = (ttlMs: number) => ttlMs / 2
    const store = createMemoryStateStore({ ...time, lifetime }).open()
    await store.commit({ tenant: T, put: [{ key: 'd', version: 1, body: '1', ttlMs: 100 }] })
    time.set(time.now() + 50)
    assert.equal((await store.load({ tenant: T, documents: ['d'] })).documents.size, 0)
  })
})

describe('processes on the simulated store', () => {
  test('F1 a crashed process gets no answer, and its data stays', async () => {
    const world = createMemoryStateStore(manualTime())
    const [dead, alive] = [world.open(), world.open()]
    const put = [{ key: 'd', version: 1, body: '1' }]
    let answers = 0
    const count = () => {
      answers += 1
    }
    await dead.commit({ tenant: T, put })
    void dead.load({ tenant: T, documents: ['d'] }).then(count, count)
    dead.crash()
    void dead.commit({ tenant: T, put }).then(count, count)
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(answers, 0)
    assert.equal((await alive.load({ tenant: T, documents: ['d'] })).documents.size, 1)
  })

  test('after stop calls reject', async () => {
    const store = createMemoryStateStore(manualTime()).open()
    await store.stop()
    await assert.rejects(store.load({ tenant: T, documents: [] }), unavailable)
  })

  test('a commit whose records have no topic writes nothing', async () => {
    const time = manualTime()
    const log = createMemoryEventLog({ clock: time.clock })
    const store = createMemoryStateStore({ ...time, log }).open()
    const append = [{ topic: 'nowhere', key: 'k', value: null }]
    const put = [{ key: 'd', version: 1, body: '1' }]
    await assert.rejects(store.commit({ tenant: T, put, append }))
    assert.equal((await store.load({ tenant: T, documents: ['d'] })).documents.size, 0)
  })
})
