/**
 * What every StateStore promises (S1 to S6 of the port), as one suite for all adapters. Where the
 * port's prose leaves a choice, the suite fixes it:
 * - preconditions are judged in the order fence, `expect` (as listed), limits (as listed);
 * - `limit.sum` is what the counter holds, without any addition of the refused commit;
 * - giving back (a negative amount) and `set` are never refused;
 * - every addition renews the counter's time to live;
 * - `clear` acts before `outbox`, so a commit may replace an entry under its old id;
 * - `next` is the time of the first entry that was not handed over, due or not;
 * - ids are ordered by their UTF-8 bytes.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Commit, CommitResult, Fence, StateStore } from '#kernel/ports/state-store.ts'

/** One empty store, and what a test needs around it. */
export interface StateStoreWorld {
  store: StateStore
  /** Another client of the same store, as a second process has it. */
  open(): Promise<StateStore>
  /** Returns when at least so many ms of the store's time have passed. */
  advance(ms: number): Promise<void>
  /** For a store whose `atomicWithLog` is true: its log, with a topic of one partition or more. */
  log?: { events: EventLog; topic: string }
  stop(): Promise<void>
}

/** Lets real time pass until the store's own clock has moved on by `ms`. */
export async function waitForStoreTime(store: StateStore, ms: number): Promise<void> {
  const { now: start } = await store.load({ tenant: 'clock', documents: [] })
  for (let now = start; now < start + ms; ) {
    await new Promise(resolve => setTimeout(resolve, Math.max(1, start + ms - now)))
    now = (await store.load({ tenant: 'clock', documents: [] })).now
  }
}

type Check = (world: StateStoreWorld, t: TestContext) => Promise<void>

const T = 'acme'
const HOUR = 3_600_000
const FENCE: Fence = { key: 'guard/candidates/3', incarnation: 'life-1', epoch: 4, seq: 0 }

async function ok(store: StateStore, commit: Omit<Commit, 'tenant'>, tenant = T): Promise<number> {
  const result = await store.commit({ tenant, ...commit })
  assert.equal(result.kind, 'ok', JSON.stringify(result))
  return result.now
}

async function body(store: StateStore, key: string, tenant = T): Promise<string | undefined> {
  return (await store.load({ tenant, documents: [key] })).documents.get(key)?.body
}

async function sum(store: StateStore, counter: string, tenant = T): Promise<number> {
  const loaded = await store.load({ tenant, documents: [], counters: [counter] })
  const found = loaded.counters.get(counter)
  assert.ok(found !== undefined, 'a counter that was asked for is in the answer')
  return found
}

function without<T extends CommitResult>(result: T): Omit<T, 'now'> {
  const { now, ...rest } = result
  assert.ok(Number.isSafeInteger(now) && now > 0, `now is ms since the epoch, got ${now}`)
  return rest
}

/** Everything a commit can write, so that a refused one can be shown to have written none of it. */
const EVERYTHING = {
  put: [
    { key: 'new', version: 1, body: '{"a":1}' },
    { key: 'kept', version: 2, body: '{"changed":true}' },
    { key: 'gone', version: 2, body: null },
  ],
  add: [{ counter: 'spend', field: 'p0', amount: 5, ttlMs: HOUR }],
  due: [
    { queue: 'q', id: 'new', at: 1 },
    { queue: 'q', id: 'old', at: null },
  ],
  outbox: [{ outbox: 'o', id: 'new', body: '{}' }],
  clear: [{ outbox: 'o', id: 'old' }],
} satisfies Partial<Commit>

async function prepare(store: StateStore): Promise<void> {
  await store.takeFence(T, FENCE)
  await ok(store, {
    put: [
      { key: 'kept', version: 1, body: '{"changed":false}' },
      { key: 'gone', version: 1, body: '{}' },
    ],
    add: [{ counter: 'spend', field: 'p0', amount: 10, ttlMs: HOUR }],
    due: [{ queue: 'q', id: 'old', at: 1 }],
    outbox: [{ outbox: 'o', id: 'old', body: '{}' }],
  })
}

async function picture(store: StateStore): Promise<unknown> {
  const documents = ['new', 'kept', 'gone', 'extra']
  const loaded = await store.load({ tenant: T, documents, counters: ['spend'] })
  return {
    documents: [...loaded.documents].sort(([a], [b]) => (a < b ? -1 : 1)),
    counters: [...loaded.counters],
    due: (await store.peekDue(T, 'q', 10)).due,
    outbox: await store.readOutbox(T, 'o'),
  }
}

async function assertRefusedWhole(
  store: StateStore,
  commit: Omit<Commit, 'tenant'>,
  expected: Omit<CommitResult, 'now'> & Record<string, unknown>,
): Promise<void> {
  const before = await picture(store)
  assert.deepEqual(without(await store.commit({ tenant: T, ...commit })), expected)
  assert.deepEqual(await picture(store), before)
}

const atomicity: Record<string, Check> = {
  'S1 a commit writes documents, counters, due entries and outbox together': async ({ store }) => {
    await prepare(store)
    await ok(store, { fence: FENCE, expect: { kept: 1, new: 0 }, ...EVERYTHING })
    assert.deepEqual(await picture(store), {
      documents: [
        ['kept', { version: 2, body: '{"changed":true}' }],
        ['new', { version: 1, body: '{"a":1}' }],
      ],
      counters: [['spend', 15]],
      due: [{ id: 'new', at: 1 }],
      outbox: [{ outbox: 'o', id: 'new', body: '{}' }],
    })
  },
  'S1 a lost fence writes nothing': async ({ store }) => {
    await prepare(store)
    const found = { incarnation: FENCE.incarnation, epoch: FENCE.epoch, seq: FENCE.seq }
    const fence = { ...FENCE, seq: 9 }
    await assertRefusedWhole(store, { fence, ...EVERYTHING }, { kind: 'lost', found })
  },
  'S1 a version conflict writes nothing, not even the next fence': async ({ store }) => {
    await prepare(store)
    const commit = { fence: FENCE, expect: { new: 0, kept: 7, gone: 9 }, ...EVERYTHING }
    await assertRefusedWhole(store, commit, { kind: 'conflict', key: 'kept' })
    await ok(store, { fence: FENCE })
  },
  'S1 a limit that would be passed writes nothing, not even the next fence': async ({ store }) => {
    await prepare(store)
    const add = [
      { counter: 'calls', field: 'p0', amount: 1, limit: 5, ttlMs: HOUR },
      { counter: 'spend', field: 'p1', amount: 6, limit: 15, ttlMs: HOUR },
    ]
    const commit = { fence: FENCE, ...EVERYTHING, add }
    await assertRefusedWhole(store, commit, { kind: 'limit', counter: 'spend', sum: 10 })
    assert.equal(await sum(store, 'calls'), 0)
    await ok(store, { fence: FENCE })
  },
  'S1 preconditions are judged in the order fence, expect, limit': async ({ store }) => {
    await prepare(store)
    const add = [{ counter: 'spend', field: 'p0', amount: 100, limit: 50, ttlMs: HOUR }]
    const all = { fence: { ...FENCE, epoch: 3 }, expect: { kept: 8 }, add }
    assert.equal((await store.commit({ tenant: T, ...all })).kind, 'lost')
    assert.equal((await store.commit({ tenant: T, ...all, fence: FENCE })).kind, 'conflict')
    const last = await store.commit({ tenant: T, fence: FENCE, expect: { kept: 1 }, add })
    assert.equal(last.kind, 'limit')
  },
  'S1 a commit may touch 500 documents, and a body may have 1 MiB': async ({ store }) => {
    const keys = Array.from({ length: 500 }, (_, i) => `doc/${i}`)
    const expect = Object.fromEntries(keys.map(key => [key, 0]))
    await ok(store, { expect, put: keys.map(key => ({ key, version: 1, body: `"${key}"` })) })
    const loaded = await store.load({ tenant: T, documents: keys })
    assert.equal(loaded.documents.size, 500)
    assert.deepEqual(loaded.documents.get('doc/499'), { version: 1, body: '"doc/499"' })
    const large = JSON.stringify('é'.repeat(512 * 1024))
    await ok(store, { put: [{ key: 'large', version: 1, body: large }] })
    await ok(store, { expect: { large: 1 }, outbox: [{ outbox: 'o', id: 'l', body: large }] })
    assert.equal(await body(store, 'large'), large)
    assert.equal((await store.readOutbox(T, 'o'))[0]?.body, large)
  },
  'S1 an empty commit and an empty load are answered': async ({ store }) => {
    const now = await ok(store, {})
    const loaded = await store.load({ tenant: T, documents: [] })
    assert.ok(loaded.now >= now)
    assert.equal(loaded.documents.size + loaded.counters.size, 0)
  },
}

const fences: Record<string, Check> = {
  'S2 a fence nobody took is lost': async ({ store }) => {
    const result = await store.commit({ tenant: T, fence: FENCE })
    assert.deepEqual(without(result), { kind: 'lost', found: null })
  },
  'S2 every commit moves the sequence on, and the same one is refused twice': async ({ store }) => {
    await store.takeFence(T, FENCE)
    await ok(store, { fence: FENCE })
    await ok(store, { fence: { ...FENCE, seq: 1 } })
    const found = { incarnation: 'life-1', epoch: 4, seq: 2 }
    for (const seq of [0, 1, 3]) {
      const result = await store.commit({ tenant: T, fence: { ...FENCE, seq } })
      assert.deepEqual(without(result), { kind: 'lost', found })
    }
  },
  'S2 another incarnation or epoch is lost': async ({ store }) => {
    await store.takeFence(T, FENCE)
    for (const foreign of [{ incarnation: 'life-2' }, { epoch: 3 }, { epoch: 5 }]) {
      const result = await store.commit({ tenant: T, fence: { ...FENCE, ...foreign } })
      assert.equal(result.kind, 'lost')
    }
    await ok(store, { fence: FENCE })
  },
  'S2 a fence is taken when nothing is stored or by a higher epoch only': async ({ store }) => {
    const stored = { incarnation: 'life-1', epoch: 4, seq: 0 }
    assert.deepEqual(await store.takeFence(T, FENCE), { taken: true, stored })
    for (const refused of [FENCE, { ...FENCE, epoch: 3 }, { ...FENCE, incarnation: 'life-2' }]) {
      assert.deepEqual(await store.takeFence(T, refused), { taken: false, stored })
    }
    const next = { incarnation: 'life-2', epoch: 5, seq: 17 }
    assert.deepEqual(await store.takeFence(T, { key: FENCE.key, ...next }), {
      taken: true,
      stored: next,
    })
    assert.equal((await store.commit({ tenant: T, fence: FENCE })).kind, 'lost')
    await ok(store, { fence: { key: FENCE.key, ...next } })
  },
  'S2 epochs are numbers: ten is higher than nine': async ({ store }) => {
    await store.takeFence(T, { ...FENCE, epoch: 9 })
    assert.equal((await store.takeFence(T, { ...FENCE, epoch: 10 })).taken, true)
    assert.equal((await store.takeFence(T, { ...FENCE, epoch: 9 })).taken, false)
  },
  'S2 of two owners that commit at once with one fence only one succeeds': async world => {
    const other = await world.open()
    await world.store.takeFence(T, FENCE)
    const results = await Promise.all(
      [world.store, other, world.store, other].map(store =>
        store.commit({ tenant: T, fence: FENCE }),
      ),
    )
    assert.deepEqual(results.map(result => result.kind).sort(), ['lost', 'lost', 'lost', 'ok'])
  },
  'S2 fences of different keys do not meet': async ({ store }) => {
    await store.takeFence(T, FENCE)
    await store.takeFence(T, { ...FENCE, key: 'guard/candidates/4', epoch: 1 })
    await ok(store, { fence: FENCE })
    await ok(store, { fence: { ...FENCE, key: 'guard/candidates/4', epoch: 1 } })
  },
}

const documents: Record<string, Check> = {
  'S3 an absent document has version 0 and is missing from the answer': async ({ store }) => {
    assert.equal((await store.load({ tenant: T, documents: ['nobody'] })).documents.size, 0)
    await ok(store, { expect: { nobody: 0 } })
    const result = await store.commit({ tenant: T, expect: { nobody: 1 } })
    assert.deepEqual(without(result), { kind: 'conflict', key: 'nobody' })
  },
  'S3 the version is what the last writer gave, also when it jumps': async ({ store }) => {
    const high = Number.MAX_SAFE_INTEGER
    await ok(store, { put: [{ key: 'd', version: high, body: '1' }] })
    await ok(store, { expect: { d: high }, put: [{ key: 'd', version: 12, body: '2' }] })
    for (const version of [0, 1, 2, 120]) {
      assert.equal((await store.commit({ tenant: T, expect: { d: version } })).kind, 'conflict')
    }
    assert.deepEqual((await store.load({ tenant: T, documents: ['d'] })).documents.get('d'), {
      version: 12,
      body: '2',
    })
  },
  'S3 a deleted document is absent': async ({ store }) => {
    await ok(store, { put: [{ key: 'd', version: 1, body: '1' }] })
    await ok(store, { put: [{ key: 'd', version: 2, body: null }] })
    assert.equal(await body(store, 'd'), undefined)
    await ok(store, { expect: { d: 0 } })
  },
  'S3 a document expires after its time to live and then has version 0': async world => {
    const { store } = world
    const put = [
      { key: 'short', version: 3, body: '1', ttlMs: 60 },
      { key: 'long', version: 3, body: '1', ttlMs: HOUR },
    ]
    await ok(store, { put })
    await world.advance(61)
    assert.equal(await body(store, 'short'), undefined)
    assert.equal(await body(store, 'long'), '1')
    await ok(store, { expect: { short: 0, long: 3 } })
  },
  'S3 writing again without a time to live keeps the document for ever': async world => {
    const { store } = world
    await ok(store, { put: [{ key: 'd', version: 1, body: '1', ttlMs: 60 }] })
    await ok(store, { put: [{ key: 'd', version: 2, body: '2' }] })
    await world.advance(61)
    assert.equal(await body(store, 'd'), '2')
  },
  'S3 of many that expect one version at once only one succeeds': async world => {
    const stores = [world.store, await world.open(), await world.open()]
    const results = await Promise.all(
      stores.map((store, i) =>
        store.commit({
          tenant: T,
          expect: { d: 0 },
          put: [{ key: 'd', version: 1, body: String(i) }],
        }),
      ),
    )
    assert.equal(results.filter(result => result.kind === 'ok').length, 1)
    assert.equal(results.filter(result => result.kind === 'conflict').length, 2)
  },
  'bodies and names may hold any Unicode': async ({ store }) => {
    const odd = ['{x}', 'a:b', 'ñ/日本/🦊', 'a b\nc', '%7B', '__proto__', '*', '\'"\\', 'ſK']
    const text = JSON.stringify(`\u0000\u001f\u2028\uFEFF\uD800 é 日本 🦊 ${'\\'} \u{10FFFF}\n`)
    for (const name of odd) {
      await ok(store, {
        put: [{ key: name, version: 1, body: text }],
        add: [{ counter: name, field: name, amount: 1, ttlMs: HOUR }],
        due: [{ queue: name, id: name, at: 1 }],
        outbox: [{ outbox: name, id: name, body: text }],
      })
    }
    const loaded = await store.load({ tenant: T, documents: odd, counters: odd })
    assert.equal(loaded.documents.size, odd.length)
    for (const name of odd) {
      assert.equal(loaded.documents.get(name)?.body, text)
      assert.equal(loaded.counters.get(name), 1)
      assert.deepEqual((await store.peekDue(T, name, 5)).due, [{ id: name, at: 1 }])
      assert.deepEqual(await store.readOutbox(T, name), [{ outbox: name, id: name, body: text }])
    }
  },
}

const counters: Record<string, Check> = {
  'S4 a counter is the sum over its fields': async ({ store }) => {
    assert.equal(await sum(store, 'c'), 0)
    const add = (field: string, amount: number) => ({ counter: 'c', field, amount, ttlMs: HOUR })
    await ok(store, { add: [add('p0', 3), add('p1', 4), add('p0', 5)] })
    await ok(store, { add: [add('p1', -1), add('p2', 0.5)] })
    assert.equal(await sum(store, 'c'), 11.5)
  },
  'S4 a limit may be reached and not be passed': async ({ store }) => {
    const add = (field: string, amount: number) => [
      { counter: 'c', field, amount, limit: 10, ttlMs: HOUR },
    ]
    await ok(store, { add: add('p0', 6) })
    await ok(store, { add: add('p1', 4) })
    const result = await store.commit({ tenant: T, add: add('p2', 1) })
    assert.deepEqual(without(result), { kind: 'limit', counter: 'c', sum: 10 })
    await ok(store, { add: add('p0', -2) })
    await ok(store, { add: add('p2', 2) })
    assert.equal(await sum(store, 'c'), 10)
  },
  'S4 additions of one commit count together': async ({ store }) => {
    const part = { counter: 'c', field: 'p0', amount: 6, limit: 10, ttlMs: HOUR }
    const result = await store.commit({ tenant: T, add: [part, { ...part, field: 'p1' }] })
    assert.deepEqual(without(result), { kind: 'limit', counter: 'c', sum: 0 })
    assert.equal(await sum(store, 'c'), 0)
  },
  'S4 giving back is never refused, even above a limit that was lowered': async ({ store }) => {
    await ok(store, { add: [{ counter: 'c', field: 'p0', amount: 9, ttlMs: HOUR }] })
    await ok(store, { add: [{ counter: 'c', field: 'p0', amount: -1, limit: 2, ttlMs: HOUR }] })
    assert.equal(await sum(store, 'c'), 8)
  },
  'S4 a rebuild sets its own field and leaves the others': async ({ store }) => {
    const add = { counter: 'c', amount: 5, ttlMs: HOUR }
    await ok(store, {
      add: [
        { ...add, field: 'p0' },
        { ...add, field: 'p1' },
      ],
    })
    const set = { ...add, field: 'p0', amount: 70, limit: 10, set: true }
    await ok(store, { add: [set] })
    await ok(store, { add: [set] })
    assert.equal(await sum(store, 'c'), 75)
    const mixed = [
      { ...set, amount: 1 },
      { ...add, field: 'p0', limit: 11 },
    ]
    await ok(store, { add: mixed })
    assert.equal(await sum(store, 'c'), 11)
  },
  'S4 a limit holds against many writers at once': async world => {
    const stores = [world.store, await world.open()]
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        stores[i % 2]!.commit({
          tenant: T,
          add: [{ counter: 'c', field: `p${i % 2}`, amount: 3, limit: 10, ttlMs: HOUR }],
        }),
      ),
    )
    assert.equal(results.filter(result => result.kind === 'ok').length, 3)
    assert.equal(await sum(world.store, 'c'), 9)
  },
  'S4 a counter expires, counted from its last addition': async world => {
    const { store } = world
    const add = { field: 'p0', amount: 7, limit: 10, ttlMs: 60 }
    await ok(store, {
      add: [
        { ...add, counter: 'short' },
        { ...add, counter: 'renewed' },
      ],
    })
    await ok(store, { add: [{ ...add, counter: 'renewed', amount: 1, ttlMs: HOUR }] })
    await world.advance(61)
    assert.equal(await sum(store, 'short'), 0)
    await ok(store, { add: [{ ...add, counter: 'short', ttlMs: HOUR }] })
    const result = await store.commit({ tenant: T, add: [{ ...add, counter: 'short' }] })
    assert.equal(result.kind, 'limit')
    assert.ok([1, 8].includes(await sum(store, 'renewed')))
  },
}

const clockAndTenants: Record<string, Check> = {
  'S5 now never goes back, over all operations and clients': async world => {
    const stores = [world.store, await world.open()]
    let last = 0
    for (let i = 0; i < 12; i += 1) {
      const store = stores[i % 2]!
      const tenant = `t${i % 3}`
      const seen = [
        (await store.load({ tenant, documents: ['d'] })).now,
        await ok(store, { put: [{ key: 'd', version: i + 1, body: '1' }] }, tenant),
        (await store.commit({ tenant, expect: { d: -1 } })).now,
        (await store.peekDue(tenant, 'q', 1)).now,
      ]
      for (const now of seen) {
        assert.ok(now >= last, `${now} came after ${last}`)
        last = now
      }
      await world.advance(2)
    }
  },
  'tenants do not see each other': async ({ store }) => {
    await prepare(store)
    await ok(store, { expect: { kept: 0 }, ...EVERYTHING }, 'acme2')
    const lost = await store.commit({ tenant: 'acme2', fence: FENCE })
    assert.deepEqual(without(lost), { kind: 'lost', found: null })
    assert.equal(await body(store, 'new'), undefined)
    assert.equal(await sum(store, 'spend'), 10)
    assert.equal(await sum(store, 'spend', 'acme2'), 5)
    assert.deepEqual((await store.peekDue(T, 'q', 5)).due, [{ id: 'old', at: 1 }])
    assert.deepEqual(
      (await store.readOutbox('acme2', 'o')).map(entry => entry.id),
      ['new'],
    )
    assert.equal((await store.takeFence('acme2', { ...FENCE, epoch: 1 })).taken, true)
    await ok(store, { fence: FENCE })
  },
  'tenant names may hold any character': async ({ store }) => {
    const tenants = ['a', 'a}b', '{a}', 'a:b', 'ñ 🦊', '%7B', 'A']
    for (const tenant of tenants) {
      await ok(store, { put: [{ key: 'd', version: 1, body: JSON.stringify(tenant) }] }, tenant)
    }
    for (const tenant of tenants) {
      assert.equal(await body(store, 'd', tenant), JSON.stringify(tenant))
    }
  },
  'one name may be a document, counter, queue, outbox and fence at once': async ({ store }) => {
    const fence = { ...FENCE, key: 'x' }
    await store.takeFence(T, fence)
    await ok(store, {
      fence,
      put: [{ key: 'x', version: 1, body: '1' }],
      add: [{ counter: 'x', field: 'x', amount: 2, ttlMs: HOUR }],
      due: [{ queue: 'x', id: 'x', at: 3 }],
      outbox: [{ outbox: 'x', id: 'x', body: '4' }],
    })
    assert.equal(await body(store, 'x'), '1')
    assert.equal(await sum(store, 'x'), 2)
  },
}

const queues: Record<string, Check> = {
  'S6 an entry is in a queue once: the last time given counts': async ({ store }) => {
    await ok(store, {
      due: [
        { queue: 'q', id: 'a', at: 5 },
        { queue: 'q', id: 'a', at: 9 },
      ],
    })
    await ok(store, { due: [{ queue: 'q', id: 'a', at: 7 }] })
    assert.deepEqual((await store.peekDue(T, 'q', 9)).due, [{ id: 'a', at: 7 }])
  },
  'S6 peeking takes nothing away; a commit does': async ({ store }) => {
    await ok(store, { due: [{ queue: 'q', id: 'a', at: 5 }] })
    assert.deepEqual((await store.peekDue(T, 'q', 9)).due, [{ id: 'a', at: 5 }])
    assert.deepEqual((await store.peekDue(T, 'q', 9)).due, [{ id: 'a', at: 5 }])
    await ok(store, { due: [{ queue: 'q', id: 'a', at: null }] })
    await ok(store, { due: [{ queue: 'q', id: 'a', at: null }] })
    const { due, next } = await store.peekDue(T, 'q', 9)
    assert.deepEqual({ due, next }, { due: [], next: undefined })
  },
  'S6 due entries come earliest first, then by id, and next says what follows': async world => {
    const { store } = world
    const { now } = await store.load({ tenant: T, documents: [] })
    const future = now + HOUR
    const at = { b: 10, a: 10, '\uFFFD': 10, '🦊': 10, c: 2, z: future }
    await ok(store, { due: Object.entries(at).map(([id, at]) => ({ queue: 'q', id, at })) })
    const all = await store.peekDue(T, 'q', 10)
    assert.deepEqual(
      all.due.map(entry => entry.id),
      ['c', 'a', 'b', '\uFFFD', '🦊'],
    )
    assert.equal(all.next, future)
    const some = await store.peekDue(T, 'q', 2)
    assert.deepEqual(some.due, [
      { id: 'c', at: 2 },
      { id: 'a', at: 10 },
    ])
    assert.equal(some.next, 10)
    const { due, next } = await store.peekDue(T, 'empty', 2)
    assert.deepEqual({ due, next }, { due: [], next: undefined })
  },
  'S6 an entry becomes due when the store clock reaches it': async world => {
    const { store } = world
    const { now } = await store.load({ tenant: T, documents: [] })
    await ok(store, { due: [{ queue: 'q', id: 'a', at: now + 250 }] })
    const early = await store.peekDue(T, 'q', 1)
    assert.ok(early.due.length === 0 || early.now >= now + 250)
    await world.advance(250)
    const late = await store.peekDue(T, 'q', 1)
    assert.deepEqual(late.due, [{ id: 'a', at: now + 250 }])
    assert.ok(late.now >= now + 250)
  },
  'an outbox keeps entries in order of id until they are cleared': async ({ store }) => {
    const entry = (id: string, text = '{}') => ({ outbox: 'o', id, body: text })
    await ok(store, { outbox: [entry('b'), entry('a'), entry('🦊'), entry('\uFFFD')] })
    await ok(store, { outbox: [{ ...entry('other'), outbox: 'o2' }] })
    const ids = async () => (await store.readOutbox(T, 'o')).map(({ id }) => id)
    assert.deepEqual(await ids(), ['a', 'b', '\uFFFD', '🦊'])
    await ok(store, {
      clear: [
        { outbox: 'o', id: 'a' },
        { outbox: 'o', id: 'nobody' },
      ],
    })
    assert.deepEqual(await ids(), ['b', '\uFFFD', '🦊'])
    assert.deepEqual(await store.readOutbox(T, 'nothing'), [])
  },
  'an outbox entry cleared and written by one commit is the new one': async ({ store }) => {
    await ok(store, { outbox: [{ outbox: 'o', id: 'a', body: '1' }] })
    await ok(store, {
      outbox: [{ outbox: 'o', id: 'a', body: '2' }],
      clear: [{ outbox: 'o', id: 'a' }],
    })
    assert.deepEqual(await store.readOutbox(T, 'o'), [{ outbox: 'o', id: 'a', body: '2' }])
  },
}

const withLog: Record<string, Check> = {
  'records and a group offset are stored with the commit, or not at all': async (world, t) => {
    const { store, log } = world
    if (!store.atomicWithLog || !log) return t.skip('store and log share no transaction')
    const { events, topic } = log
    const count = async () =>
      (await events.endOffsets([topic])).reduce((all, { offset }) => all + offset, 0)
    const lag = async () => (await events.lag('g', [topic])).reduce((all, p) => all + p.lag, 0)
    const [first] = await events.append([{ topic, key: 'k', value: new Uint8Array([1]) }])
    assert.ok(first)
    const before = await count()
    const commit = {
      append: [{ topic, key: 'k', value: new Uint8Array([2]), headers: { h: 'v' } }],
      offset: { group: 'g', topic, partition: first.partition, offset: first.offset + 1 },
    }
    await store.commit({ tenant: T, expect: { d: 7 }, ...commit })
    assert.deepEqual([await count(), await lag()], [before, before])
    await ok(store, { expect: { d: 0 }, ...commit })
    assert.deepEqual([await count(), await lag()], [before + 1, 1])
    const position = { ...first, offset: first.offset + 1 }
    const [record] = await events.readAt([position])
    assert.deepEqual([...(record?.value ?? [])], [2])
  },
}

/** Declares the whole suite for one adapter; every test gets a world of its own. */
export function stateStoreContract(
  name: string,
  makeWorld: () => Promise<StateStoreWorld>,
  options: { skip?: string | false } = {},
): void {
  const groups = [atomicity, fences, documents, counters, clockAndTenants, queues, withLog]
  describe(`${name} keeps the StateStore contract`, { skip: options.skip ?? false }, () => {
    for (const [promise, check] of groups.flatMap(group => Object.entries(group))) {
      test(promise, async t => {
        const world = await makeWorld()
        try {
          await check(world, t)
        } finally {
          await world.stop()
        }
      })
    }
  })
}
