import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createGuardHarness, rebuildFrom, storedBody } from './guard-harness.ts'
import type { GuardState } from './guard-state.ts'

const codec = createRecordCodec()
const limits = {
  cooldownMs: 30_000,
  cooldownRule: 'group',
  group: { by: ['subject'], waitMs: 0, intervalMs: 60_000, max: 3 },
  budget: { activationsPerDay: 100 },
  rate: { perMinute: 10 },
} as const

/** A little of everything: repeats, duplicates, full and open groups, outcomes, an edit. */
function lived() {
  const guard = createGuardHarness({
    codec,
    limits: { ...limits, group: { ...limits.group, by: ['subject'] } },
  })
  guard.send({ id: 'e1', subject: 'a' })
  guard.send({ id: 'e1', subject: 'a' })
  for (let at = 2; at <= 8; at++) guard.send({ id: `e${at}`, subject: 'a', dedupkey: `k${at}` })
  guard.send({ id: 'e9', subject: 'a', dedupkey: 'k2' })
  guard.outcome({ messageId: guard.row('e1')?.messageId ?? '' })
  guard.advance(40_000)
  guard.send({ id: 'e10', subject: 'b' })
  guard.change(() => ({ instruction: 'new' }))
  guard.send({ id: 'e11', subject: 'b', time: '2026-11-30T10:00:00Z' })
  guard.send({ id: 'e11', subject: 'b', time: '2026-11-30T10:00:00Z' })
  return guard
}

/** What the log cannot know: places of reading, quotes, versions of documents, empty groups. */
function comparable(key: string, body: string): unknown {
  const value = JSON.parse(body)
  if (key.startsWith('candidate/')) return { ...value, positions: [] }
  if (key.startsWith('member/')) return { ...value, recordedAt: 0 }
  return value
}

describe('a rebuild', () => {
  it('gives back the documents, due entries and counters that the store held', () => {
    const guard = lived()
    const restored = guard.rebuild()
    const live = [...guard.store.documents].map(([key, { body }]) => [key, comparable(key, body)])
    const again = [...restored.documents].map(([key, { value }]) => {
      return [key, comparable(key, storedBody(value))]
    })
    assert.deepEqual(Object.fromEntries(again), Object.fromEntries(live))
    const due = Object.fromEntries([...restored.due.values()].map(({ id, at }) => [id, at]))
    assert.deepEqual(Object.keys(due), [...guard.store.due.keys()])
    for (const [counter, amount] of guard.store.counters) {
      assert.equal(restored.counters.get(counter)?.amount, amount, counter)
    }
  })

  it('goes on where the lost store stopped: nothing twice, nothing forgotten', () => {
    const guard = lived()
    const untouched = lived()
    refill(guard)
    for (const each of [guard, untouched]) {
      for (let at = 1; at <= 11; at++) each.send({ id: `e${at}`, subject: 'a', offset: 0 })
      each.advance(600_000)
    }
    const shown = (each: typeof guard) =>
      each.rows('mailbox').map(({ events }) => events.map(({ attributes }) => attributes.id))
    assert.deepEqual(shown(guard), shown(untouched))
    assert.deepEqual(guard.fates(), untouched.fates())
  })
})

describe('a log that was cut off in the middle of a commit', () => {
  it('emits the messages of the last minutes again, and no older ones', () => {
    const guard = createGuardHarness({ codec })
    guard.send({ id: 'e1' })
    guard.advance(11 * 60_000)
    guard.send({ id: 'e2' })
    const ids = guard.rebuild().outputs.map(({ topic, id }) => [topic, id])
    assert.deepEqual(ids, [['mailbox', guard.row('e2')?.messageId]])
  })

  it('passes over a state whose decision never reached the log', () => {
    const guard = createGuardHarness({ codec, limits: { cooldownMs: 60_000 } })
    guard.send({ id: 'e1' })
    guard.advance(60_000)
    guard.send({ id: 'e2' })
    const torn = without(guard.store.log, 'decisions', 2)
    const document = rebuildFrom(guard.step, torn, guard.world.now).documents.get('guard/s1')
    const state = document?.value as GuardState
    assert.equal(state.delivered, 1)
    assert.ok((document?.version ?? 0) >= 2, 'the torn record stays below the next one')
  })

  it('knows of a delivery whose state record never reached the log', () => {
    const guard = createGuardHarness({ codec, limits: { cooldownMs: 60_000 } })
    guard.send({ id: 'e1' })
    guard.advance(60_000)
    guard.send({ id: 'e2' })
    const torn = without(guard.store.log, 'guard.state', 2)
    const document = rebuildFrom(guard.step, torn, guard.world.now).documents.get('guard/s1')
    const state = document?.value as GuardState
    assert.deepEqual([state.delivered, state.deliveredAt], [2, guard.world.now])
  })

  it('completes a flush of which the log holds only the first decision', () => {
    const guard = createGuardHarness({
      codec,
      limits: { group: { by: [], waitMs: 1000, intervalMs: 0, max: 50 } },
    })
    for (const id of ['e1', 'e2', 'e3']) guard.send({ id })
    guard.advance(1000)
    const cut = guard.store.log.filter(record => {
      if (record.topic !== 'decisions' || !record.value) return true
      const { event, fate } = codec.decode('decision', record.value)
      return fate === 'grouped' || event.id === 'e1'
    })
    const { outputs, due, documents } = rebuildFrom(guard.step, cut, guard.world.now)
    assert.deepEqual(
      outputs.map(({ topic }) => topic),
      ['mailbox', 'decisions', 'decisions'],
    )
    assert.equal(due.size, 0)
    const fates = [...documents].filter(([key]) => key.startsWith('candidate/'))
    assert.ok(fates.every(([, { value }]) => (value as { fate: string }).fate === 'delivered'))
    const whole = rebuildFrom(guard.step, guard.store.log, guard.world.now)
    assert.equal(whole.outputs.length, 1)
  })
})

function without(log: LogRecord[], topic: string, nth: number): LogRecord[] {
  let seen = 0
  return log.filter(record => record.topic !== topic || ++seen !== nth)
}

/** Empties the store and fills it with what the log gives. */
function refill({ store, rebuild }: ReturnType<typeof lived>): void {
  const restored = rebuild()
  for (const held of [store.documents, store.counters, store.due]) held.clear()
  for (const [key, { version, value }] of restored.documents) {
    store.documents.set(key, { version, body: storedBody(value) })
  }
  for (const [name, { amount }] of restored.counters) store.counters.set(name, amount)
  for (const { id, at } of restored.due.values()) store.due.set(id, at)
}
