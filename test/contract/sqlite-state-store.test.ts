/** The SQLite state store keeps the contract, and what only it promises. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSqliteDatabase } from '#kernel/adapters/sqlite/sqlite-database.ts'
import { createSqliteEventLog } from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { createSqliteStateStore } from '#kernel/adapters/sqlite/sqlite-state-store.ts'
import { dataDirectory, openDatabase, systemClock } from './sqlite-world.ts'
import { type StateStoreWorld, stateStoreContract, waitForStoreTime } from './state-store.ts'

async function makeWorld(): Promise<StateStoreWorld> {
  const { directory, remove } = dataDirectory()
  const database = openDatabase(directory)
  const partitionsOf = (topic: string) => (topic === 't' ? 2 : undefined)
  const events = createSqliteEventLog({ database, clock: systemClock, partitionsOf })
  const store = createSqliteStateStore({ database, log: events })
  return {
    store,
    open: async () => createSqliteStateStore({ database, log: events }),
    advance: ms => waitForStoreTime(store, ms),
    log: { events, topic: 't' },
    async stop() {
      await store.stop()
      await events.stop()
      database.close()
      remove()
    },
  }
}

stateStoreContract('sqlite state store', makeWorld)

/** A store on clocks that the test moves. */
async function onOwnTime(
  body: (world: {
    open(): ReturnType<typeof createSqliteStateStore>
    close(): void
    at: { wallMs: number; monotonicMs: number }
    count(table: 'document' | 'counter'): number
  }) => Promise<void>,
): Promise<void> {
  const { directory, remove } = dataDirectory()
  const at = { wallMs: 1_000_000_000, monotonicMs: 7 }
  let database: ReturnType<typeof openSqliteDatabase> | undefined
  const open = () => {
    const clock = { now: () => at.wallMs, sleep: systemClock.sleep }
    database = openSqliteDatabase({ directory, clock, monotonicMs: () => at.monotonicMs })
    const log = createSqliteEventLog({ database, clock, partitionsOf: () => 1 })
    return createSqliteStateStore({ database, log })
  }
  const count = (table: string) =>
    Number(database?.statement(`select count(*) as n from ${table}`).get()?.n)
  try {
    await body({ open, close: () => database?.close(), at, count })
  } finally {
    database?.close()
    remove()
  }
}

describe('sqlite state store', () => {
  test('S5 a wall clock that is set back or forward while running changes nothing', () =>
    onOwnTime(async ({ open, at }) => {
      const store = open()
      at.wallMs -= 86_400_000
      at.monotonicMs += 10
      assert.equal((await store.load({ tenant: 't', documents: [] })).now, 1_000_000_010)
      at.wallMs += 2 * 86_400_000
      assert.equal((await store.commit({ tenant: 't' })).now, 1_000_000_010)
    }))

  test('S5 after a restart with a clock that was set back, now goes on from the last write', () =>
    onOwnTime(async ({ open, close, at }) => {
      const put = [{ key: 'd', version: 1, body: '1' }]
      const { now } = await open().commit({ tenant: 't', put })
      close()
      at.wallMs -= 3_600_000
      assert.equal((await open().load({ tenant: 't', documents: [] })).now, now)
    }))

  test('sweep deletes what has expired, a bite at a time, and nothing else', () =>
    onOwnTime(async ({ open, at, count }) => {
      const store = open()
      const keys = Array.from({ length: 30 }, (_, n) => `d${n}`)
      await store.commit({
        tenant: 't',
        put: [
          ...keys.map(key => ({ key, version: 1, body: '1', ttlMs: 60 })),
          { key: 'kept', version: 1, body: '1' },
          { key: 'later', version: 1, body: '1', ttlMs: 6_000 },
        ],
        add: [
          { counter: 'short', field: 'f', amount: 1, ttlMs: 60 },
          { counter: 'long', field: 'f', amount: 1, ttlMs: 6_000 },
        ],
      })
      assert.equal(await store.sweep(), 0)
      at.monotonicMs += 61
      assert.equal(await store.sweep(20), 21)
      assert.equal(await store.sweep(20), 10)
      assert.equal(await store.sweep(20), 0)
      assert.deepEqual([count('document'), count('counter')], [2, 1])
    }))

  test('what an open transaction wrote is answered once it is durable, and not before', () =>
    onOwnTime(async ({ open }) => {
      const store = open()
      const steps: string[] = []
      const put = [{ key: 'd', version: 1, body: '1' }]
      const written = store.commit({ tenant: 't', put }).then(() => steps.push('durable'))
      const read = store.load({ tenant: 't', documents: ['d'] }).then(({ documents }) => {
        steps.push(`read ${documents.get('d')?.version}`)
      })
      const other = store
        .load({ tenant: 't', documents: ['other'] })
        .then(() => steps.push('others do not wait'))
      await Promise.all([written, read, other])
      assert.deepEqual(steps, ['others do not wait', 'durable', 'read 1'])
    }))

  test('a commit that no file can hold is refused alone', () =>
    onOwnTime(async ({ open }) => {
      const store = open()
      const put = (version: number) => [{ key: `d${version}`, version, body: '1' }]
      const [good, bad] = await Promise.allSettled([
        store.commit({ tenant: 't', put: put(1) }),
        store.commit({ tenant: 't', put: put(Number.NaN) }),
      ])
      assert.deepEqual([good.status, bad.status], ['fulfilled', 'rejected'])
    }))
})
