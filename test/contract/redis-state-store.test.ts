import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { openRedisStateStore } from '#kernel/adapters/redis/redis-state-store.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { Fence, StateStore } from '#kernel/ports/state-store.ts'
import {
  type ScratchRedis,
  skipWithoutRedisServer,
  startScratchRedis,
} from '#test/support/scratch-redis.ts'
import { type StateStoreWorld, stateStoreContract, waitForStoreTime } from './state-store.ts'

const T = 'acme'
const FENCE: Fence = { key: 'guard/candidates/0', incarnation: 'life-1', epoch: 1, seq: 0 }

let shared: ScratchRedis | undefined
before(async () => {
  if (skipWithoutRedisServer === false) shared = await startScratchRedis()
})
after(() => shared?.stop())

async function makeWorld(url: string): Promise<StateStoreWorld> {
  const prefix = `test-${randomUUID()}:`
  const opened: StateStore[] = []
  const open = async () => {
    const store = await openRedisStateStore({ url, prefix })
    opened.push(store)
    return store
  }
  const store = await open()
  return {
    store,
    open,
    advance: ms => waitForStoreTime(store, ms),
    stop: async () => void (await Promise.all(opened.map(each => each.stop()))),
  }
}

const skip = skipWithoutRedisServer
stateStoreContract('Redis', () => makeWorld(shared!.url), { skip })

// A cluster refuses a script whose keys lie in more than one slot, so passing the whole contract
// on a cluster of one node shows that every key of a call carries the same hash tag.
describe('on a Redis cluster', { skip }, () => {
  let cluster: ScratchRedis
  before(async () => {
    cluster = await startScratchRedis(['--cluster-enabled', 'yes'])
    const admin = new Redis(cluster.url)
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    while (!String(await admin.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    admin.disconnect()
  })
  after(() => cluster.stop())
  stateStoreContract('Redis cluster', () => makeWorld(cluster.url))
})

async function withServer(
  check: (at: { server: ScratchRedis; store: StateStore; admin: Redis }) => Promise<void>,
): Promise<void> {
  const server = await startScratchRedis()
  const store = await openRedisStateStore({ url: server.url, commandTimeoutMs: 300 })
  const admin = new Redis(server.url, { maxRetriesPerRequest: null })
  admin.on('error', () => {})
  try {
    await check({ server, store, admin })
  } finally {
    await store.stop()
    admin.disconnect()
    await server.stop()
  }
}

const unavailable = (error: unknown) => isAmbitError(error) && error.code === 'store-unavailable'

async function untilOk<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (tries >= 200) throw error
      await new Promise(resolve => setTimeout(resolve, 25))
    }
  }
}

describe('a Redis that loses or hangs', { skip }, () => {
  test('I5 a flushed store is noticed by the next fenced commit', () =>
    withServer(async ({ store, admin }) => {
      await store.takeFence(T, FENCE)
      await admin.flushall()
      const result = await store.commit({ tenant: T, fence: FENCE })
      assert.deepEqual({ ...result, now: 0 }, { kind: 'lost', found: null, now: 0 })
    }))

  test('I5 a store that lost its last commits is noticed by the next fenced commit', () =>
    withServer(async ({ store, admin }) => {
      await store.takeFence(T, FENCE)
      const [key] = await admin.keys('*:f:*')
      const earlier = await admin.get(key!)
      assert.equal((await store.commit({ tenant: T, fence: FENCE })).kind, 'ok')
      await admin.set(key!, earlier!)
      const result = await store.commit({ tenant: T, fence: { ...FENCE, seq: 1 } })
      const found = { incarnation: 'life-1', epoch: 1, seq: 0 }
      assert.deepEqual({ ...result, now: 0 }, { kind: 'lost', found, now: 0 })
    }))

  test('I5 calls reject while it is away and work again when an empty one is back', () =>
    withServer(async ({ server, store }) => {
      await store.takeFence(T, FENCE)
      await server.kill()
      await assert.rejects(store.load({ tenant: T, documents: ['d'] }), unavailable)
      await assert.rejects(store.commit({ tenant: T, fence: FENCE }), unavailable)
      await server.restart()
      const result = await untilOk(() => store.commit({ tenant: T, fence: FENCE }))
      assert.equal(result.kind, 'lost')
    }))

  test('F10 a call without an answer rejects in time, and the store recovers', () =>
    withServer(async ({ store, admin }) => {
      await admin.call('CLIENT', 'PAUSE', '1500')
      const started = performance.now()
      await assert.rejects(store.load({ tenant: T, documents: [] }), unavailable)
      assert.ok(performance.now() - started < 1_400)
      await untilOk(() => store.load({ tenant: T, documents: [] }))
    }))
})

describe('a Redis that refuses', { skip }, () => {
  test('F14 out of memory, a commit rejects and has written nothing', () =>
    withServer(async ({ store, admin }) => {
      const entry = { outbox: 'o', id: 'a', body: '1' }
      await store.commit({ tenant: T, outbox: [entry] })
      await admin.config('SET', 'maxmemory', '1')
      const put = [
        { key: 'd', version: 1, body: null },
        { key: 'e', version: 1, body: '1' },
      ]
      await assert.rejects(store.commit({ tenant: T, put, clear: [entry] }), unavailable)
      assert.deepEqual(await store.readOutbox(T, 'o'), [entry])
      await admin.config('SET', 'maxmemory', '0')
      assert.equal((await store.commit({ tenant: T, put, clear: [entry] })).kind, 'ok')
    }))

  test('F14 a read-only replica refuses commits', () =>
    withServer(async ({ store, admin }) => {
      await admin.replicaof('127.0.0.1', '1')
      await assert.rejects(store.commit({ tenant: T, due: [] }), unavailable)
      await admin.replicaof('NO', 'ONE')
      assert.equal((await untilOk(() => store.commit({ tenant: T }))).kind, 'ok')
    }))

  test('scripts that the server forgot are sent again', () =>
    withServer(async ({ store, admin }) => {
      const add = [{ counter: 'c', field: 'p', amount: 1, ttlMs: 60_000 }]
      await store.commit({ tenant: T, add })
      await admin.script('FLUSH')
      await Promise.all([store.commit({ tenant: T, add }), store.commit({ tenant: T, add })])
      const { counters } = await store.load({ tenant: T, documents: [], counters: ['c'] })
      assert.equal(counters.get('c'), 3)
    }))

  test('S5 a server clock that was set back stands still and does not go back', () =>
    withServer(async ({ store, server, admin }) => {
      const ahead = Date.now() + 3_600_000
      await store.commit({ tenant: T })
      const [key] = await admin.keys('*:clock')
      await admin.set(key!, String(ahead))
      const other = await openRedisStateStore({ url: server.url })
      try {
        assert.equal((await store.load({ tenant: T, documents: [] })).now, ahead)
        assert.equal((await other.commit({ tenant: T })).now, ahead)
        assert.equal(await admin.get(key!), String(ahead))
        await admin.flushall()
        assert.equal((await store.load({ tenant: T, documents: [] })).now, ahead)
      } finally {
        await other.stop()
      }
    }))

  test('an evicting Redis is refused at the start, one without a memory limit is not', () =>
    withServer(async ({ server, admin }) => {
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
      await (await openRedisStateStore({ url: server.url })).stop()
      await admin.config('SET', 'maxmemory', '100mb')
      await assert.rejects(
        openRedisStateStore({ url: server.url }),
        error => unavailable(error) && /noeviction.*allkeys-lru/.test(String(error)),
      )
    }))

  test('no server at the start is told as such', async () => {
    const opening = openRedisStateStore({ url: 'redis://127.0.0.1:1', connectTimeoutMs: 100 })
    await assert.rejects(opening, error => unavailable(error) && /REFUSED/.test(String(error)))
  })
})
