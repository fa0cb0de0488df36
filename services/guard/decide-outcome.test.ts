import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Limits } from '#kernel/domain/limits.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createGuardHarness } from './guard-harness.ts'

const codec = createRecordCodec()
const given = (limits: Partial<Limits>) => createGuardHarness({ codec, limits })
const storm = { windowMs: 60_000, max: 3 }

describe('a storm of candidates', () => {
  it('stops at once, asks for a suspension and tells once with its history', () => {
    const guard = given({ storm })
    for (let at = 1; at <= 6; at++) guard.send({ id: `e${at}` })
    assert.deepEqual(guard.fates(), [
      ...['delivered', 'delivered', 'delivered', 'storm', 'inactive', 'inactive'],
    ])
    const [change, ...changes] = guard.rows('registry.changes')
    assert.deepEqual(
      [change?.action, change?.body, changes.length],
      [...['suspend', { kind: 'storm' }, 0]],
    )
    const [notice, ...notices] = guard.rows('notices')
    assert.deepEqual([notice?.kind, notice?.severity, notices.length], ['storm', 'critical', 0])
    const details = notice?.details as { history: { candidates: string[] } }
    assert.equal(details.history.candidates.at(-1), guard.row('e4')?.candidateId)
  })

  it('counts what a cooldown drops, and forgets what left the window', () => {
    const guard = given({ storm, cooldownMs: 3_600_000 })
    for (const id of ['e1', 'e2', 'e3']) guard.send({ id })
    guard.advance(60_000)
    for (const id of ['e4', 'e5', 'e6', 'e7']) guard.send({ id })
    assert.deepEqual(guard.fates(), [
      ...['delivered', 'cooldown', 'cooldown', 'cooldown', 'cooldown', 'cooldown', 'storm'],
    ])
  })

  it('ends with a resume, which empties the window', () => {
    const guard = given({ storm })
    for (let at = 1; at <= 4; at++) guard.send({ id: `e${at}` })
    guard.change(({ state }) => ({ state: { ...state, operation: 'suspended' } }))
    guard.send({ id: 'e5' })
    guard.change(({ state }) => ({ state: { ...state, operation: 'active' } }))
    for (let at = 6; at <= 9; at++) guard.send({ id: `e${at}` })
    assert.deepEqual(
      ['e5', 'e6', 'e7', 'e8', 'e9'].map(id => guard.row(id)?.fate),
      ['inactive', 'delivered', 'delivered', 'delivered', 'storm'],
    )
  })

  it('is not ended by an edit: the latch is void, the window is not', () => {
    const guard = given({ storm })
    for (let at = 1; at <= 4; at++) guard.send({ id: `e${at}` })
    guard.change(() => ({ instruction: 'new' }))
    guard.send({ id: 'e5' })
    assert.equal(guard.row('e5')?.fate, 'storm')
  })
})

describe('a storm of failed runs', () => {
  it('suspends as well, and reading an outcome again counts nothing', () => {
    const guard = given({ storm })
    guard.send({ id: 'e1' })
    const messageId = guard.row('e1')?.messageId ?? ''
    const fail = (attempt: number) =>
      guard.outcome({ messageId, state: 'failed', ok: false, attempt })
    for (let attempt = 1; attempt <= 3; attempt++) fail(attempt)
    assert.equal(guard.rows('notices').length, 0)
    guard.world.offset -= 1
    fail(3)
    assert.equal(guard.rows('notices').length, 0)
    fail(4)
    fail(5)
    assert.equal(guard.rows('notices').length, 1)
    assert.equal(guard.rows('registry.changes').length, 1)
    guard.send({ id: 'e2' })
    assert.equal(guard.row('e2')?.fate, 'inactive')
  })

  it('does not count questions and successes', () => {
    const guard = given({ storm })
    for (let at = 1; at <= 9; at++) {
      const end = at % 2 === 0 ? { ok: true } : { ok: false, stopReason: 'asked' }
      guard.outcome({ messageId: `m${at}`, ...end })
    }
    assert.equal(guard.rows('notices').length, 0)
  })
})
