import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatLineage } from '#kernel/domain/event.ts'
import type { Group, Limits } from '#kernel/domain/limits.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createGuardHarness, type HarnessOptions, START } from './guard-harness.ts'

const codec = createRecordCodec()
const given = (limits: Partial<Limits>, options: Omit<HarnessOptions, 'codec'> = {}) =>
  createGuardHarness({ codec, limits, ...options })

const group = (rule: Partial<Group> = {}): Group => ({
  ...{ by: [], waitMs: 0, intervalMs: 60_000, max: 50, ...rule },
})
const counter = 'budget/subscription/s1/activations/2026-11-30'

describe('a group', () => {
  it('waits for more of its key, and lists them all in one message', () => {
    const guard = given({ group: group({ by: ['subject', 'data.lang'], waitMs: 10_000 }) })
    guard.send({ id: 'e1', subject: 'o-1', data: { lang: 'es' } })
    guard.advance(4000)
    guard.send({ id: 'e2', subject: 'o-2', data: { lang: 'es' } })
    guard.send({ id: 'e3', subject: 'o-1', data: { lang: 'es' } })
    assert.deepEqual(guard.fates(), ['grouped', 'grouped', 'grouped'])
    assert.equal(guard.row('e3')?.groupKey, 'subject=o-1&data.lang=es')
    guard.advance(5999)
    assert.equal(guard.rows('mailbox').length, 0)
    guard.advance(1)
    const [message, ...more] = guard.rows('mailbox')
    assert.equal(more.length, 0)
    assert.deepEqual(
      message?.events.map(({ attributes }) => attributes.id),
      ['e1', 'e3'],
    )
    const row = guard.row('e3')
    assert.deepEqual([row?.fate, row?.seq, row?.messageId], ['delivered', 2, message?.id])
    guard.advance(4000)
    assert.equal(guard.rows('mailbox').length, 2)
  })

  it('is flushed at once for the first of a key without wait, then after the interval', () => {
    const guard = given({ group: group() })
    guard.send({ id: 'e1' })
    assert.equal(guard.row('e1')?.fate, 'delivered')
    guard.advance(10_000)
    guard.send({ id: 'e2' })
    guard.send({ id: 'e3' })
    guard.advance(49_999)
    assert.equal(guard.row('e2')?.fate, 'grouped')
    guard.advance(1)
    assert.equal(guard.row('e2')?.fate, 'delivered')
    guard.advance(60_000)
    guard.send({ id: 'e4' })
    assert.equal(guard.row('e4')?.fate, 'delivered')
    assert.equal(guard.rows('mailbox').length, 3)
  })

  it('closes when it is full, and no message exceeds the maximum', () => {
    const guard = given({ group: group({ waitMs: 30_000, max: 3 }) })
    for (let at = 1; at <= 7; at++) guard.send({ id: `e${at}` })
    guard.advance(0)
    const sizes = () => guard.rows('mailbox').map(({ events }) => events.length)
    assert.deepEqual(sizes(), [3, 3])
    guard.advance(60_000)
    assert.deepEqual(sizes(), [3, 3, 1])
    const listed = guard.rows('mailbox').flatMap(({ candidateIds }) => candidateIds)
    assert.equal(new Set(listed).size, 7)
  })
})

describe('a group that may not be flushed yet', () => {
  it('is never flushed inside a cooldown; each flush starts one of its own', () => {
    const cooldown = { cooldownMs: 100_000, cooldownRule: 'group' } as const
    const guard = given({ ...cooldown, group: group({ max: 2 }) })
    for (let at = 1; at <= 6; at++) guard.send({ id: `e${at}` })
    guard.advance(99_999)
    assert.equal(guard.rows('mailbox').length, 1)
    guard.advance(250_001)
    const messages = guard.rows('mailbox')
    assert.deepEqual(
      messages.map(({ createdAt, events }) => [createdAt - START, events.length]),
      [
        [0, 1],
        [100_000, 2],
        [200_000, 2],
        [300_000, 1],
      ],
    )
  })

  it('needs no rule of its own where the cooldown groups', () => {
    const guard = given({ cooldownMs: 60_000, cooldownRule: 'group' })
    for (const id of ['e1', 'e2', 'e3']) guard.send({ id })
    assert.deepEqual(guard.fates(), ['delivered', 'grouped', 'grouped'])
    guard.advance(60_000)
    assert.deepEqual(
      guard.rows('mailbox').map(({ events }) => events.length),
      [1, 2],
    )
    guard.send({ id: 'e4' })
    assert.equal(guard.row('e4')?.fate, 'grouped')
  })

  it('holds back what exceeds the rate, where the rule is to group', () => {
    const guard = given({ rate: { perMinute: 1 }, cooldownRule: 'group' })
    for (const id of ['e1', 'e2', 'e3']) guard.send({ id })
    assert.deepEqual(guard.fates(), ['delivered', 'grouped', 'grouped'])
    guard.advance(60_000)
    assert.deepEqual(
      guard.rows('mailbox').map(({ events }) => events.length),
      [1, 2],
    )
  })
})

describe('the message of a group', () => {
  it('comes however long the group had to wait', () => {
    const guard = given({ group: group({ waitMs: 30 * 86_400_000 }) })
    guard.send({ id: 'e1' })
    guard.advance(30 * 86_400_000)
    assert.equal(guard.row('e1')?.fate, 'delivered')
  })

  it('carries the union of its lineages', () => {
    const guard = given({ group: group({ waitMs: 1000 }) })
    const hop = (agent: string) => ({ subscription: 'x', agent, message: `m-${agent}` })
    guard.send({ id: 'e1', lineage: formatLineage([hop('a'), hop('b')]) })
    guard.send({ id: 'e2', lineage: formatLineage([hop('a'), hop('c')]) })
    guard.advance(1000)
    const [message] = guard.rows('mailbox')
    assert.deepEqual(
      message?.lineage.map(({ agent }) => agent),
      ['a', 'b', 'c'],
    )
  })

  it('counts a repeat of a waiting member and lists it once', () => {
    const guard = given({ group: group({ waitMs: 1000 }) })
    guard.send({ id: 'e1' })
    guard.send({ id: 'e1' })
    guard.advance(1000)
    const row = guard.row('e1')
    assert.deepEqual([row?.fate, row?.repeats, row?.seq], ['delivered', 1, 3])
    assert.deepEqual(guard.counted, { fate: 2, repeat: 1 })
    assert.equal(guard.rows('mailbox')[0]?.events.length, 1)
  })
})

describe('the flush of a group', () => {
  it('uses the one activation that opening reserved', () => {
    const budget = { activationsPerDay: 1 }
    const guard = given({ group: group({ waitMs: 1000 }), budget })
    guard.send({ id: 'e1' })
    assert.equal(guard.store.counters.get(counter), 1)
    guard.send({ id: 'e2' })
    guard.advance(1000)
    assert.deepEqual(guard.fates(), ['delivered', 'delivered'])
    assert.equal(guard.store.counters.get(counter), 1)
  })

  it('gives it back where nothing is delivered', () => {
    const guard = given({ group: group({ waitMs: 1000 }), budget: { activationsPerDay: 5 } })
    guard.send({ id: 'e1' })
    guard.send({ id: 'e2' })
    guard.change(({ state }) => ({ state: { ...state, operation: 'paused' } }))
    guard.advance(1000)
    assert.deepEqual(guard.fates(), ['inactive', 'inactive'])
    assert.equal(guard.store.counters.get(counter), 0)
    assert.equal(guard.rows('mailbox').length, 0)
    assert.equal(guard.store.due.size, 0)
  })

  it('pays in the period in which it happens', () => {
    const day = 86_400_000
    const budget = { activationsPerDay: 5 }
    const guard = given({ group: group({ waitMs: day }), budget })
    guard.send({ id: 'e1' })
    guard.advance(day)
    assert.equal(guard.row('e1')?.fate, 'delivered')
    assert.equal(guard.store.counters.get(counter), 0)
    const next = 'budget/subscription/s1/activations/2026-12-01'
    assert.equal(guard.store.counters.get(next), 1)
    assert.equal(guard.rows('usage')[0]?.day, '2026-12-01')
  })
})

describe('the flush of a group after something changed', () => {
  it('asks the current policy again', () => {
    const guard = given({ group: group({ waitMs: 1000 }) })
    guard.send({ id: 'e1' })
    guard.world.policy = { ...guard.world.policy, grants: [] }
    guard.advance(1000)
    assert.deepEqual(
      [guard.row('e1')?.fate, guard.row('e1')?.stage],
      ['not-entitled', 'entitlement'],
    )
  })

  it('leaves out members that an edit excluded or that grew too old', () => {
    const guard = given({ group: group({ waitMs: 10_000 }), maxEventAgeMs: 60_000 })
    guard.send({ id: 'e1', type: 'a' })
    guard.send({ id: 'e2', type: 'b' })
    guard.send({ id: 'e3', type: 'b', time: '2026-11-30T09:59:05Z' })
    guard.change(() => ({ filters: [{ exact: { type: 'b' } }] }))
    guard.advance(10_000)
    assert.deepEqual(
      ['e1', 'e2', 'e3'].map(id => guard.row(id)?.fate),
      ['inactive', 'delivered', 'stale'],
    )
    assert.equal(guard.rows('mailbox')[0]?.events.length, 1)
  })

  it('says whom it woke and who pays after an edit, not who would have been', () => {
    const guard = given({ group: group({ waitMs: 10_000 }) })
    guard.world.agents.add('second')
    guard.send({ id: 'e1' })
    guard.change(() => ({ agent: 'second', owner: 'user:new' }))
    guard.advance(10_000)
    const row = guard.row('e1')
    assert.deepEqual([row?.fate, row?.agent, row?.owner], ['delivered', 'second', 'user:new'])
    assert.equal(guard.rows('mailbox')[0]?.agent, 'second')
  })

  it('drops under skip while a run is going', () => {
    const concurrency = { max: 1, overlap: 'skip' } as const
    const guard = given({ group: group({ intervalMs: 5000 }), concurrency })
    guard.send({ id: 'e1' })
    guard.send({ id: 'e2' })
    guard.advance(5000)
    assert.deepEqual(guard.fates(), ['delivered', 'overlap'])
  })

  it('ends a waiting group whose subscription was deleted', () => {
    const guard = given({ group: group({ waitMs: 1000 }) })
    guard.send({ id: 'e1' })
    guard.change(({ state }) => ({ state: { ...state, operation: 'deleted' } }))
    guard.advance(1000)
    assert.deepEqual([guard.row('e1')?.fate, guard.row('e1')?.reason], ['inactive', 'deleted'])
  })
})
