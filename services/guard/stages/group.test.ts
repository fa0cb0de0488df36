import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { groupKeyOf } from '../group-placement.ts'
import { isRefusal, NEXT } from '../guard-facts.ts'
import { groupStage } from './group.ts'
import { NOW, type StageCase, stageContext } from './stage-case.ts'

const rule = { by: [], waitMs: 0, intervalMs: 60_000, max: 3 }
const opening = (members: number) => ({
  ...{ id: 7, openedAt: NOW - 1000, flushAt: NOW + 5000, members, isFull: members === 3 },
  charges: [],
})
const placeOf = (given: StageCase) => {
  const verdict = groupStage(stageContext({ limits: { group: rule }, ...given }))
  return isRefusal(verdict) ? { reason: verdict.reason, ...verdict.details } : 'next'
}

describe('stage 5', () => {
  it('goes on without a rule, and at once where nothing is to be waited for', () => {
    assert.equal(groupStage(stageContext()), NEXT)
    assert.equal(placeOf({}), 'next')
  })

  it('opens behind wait, interval and cooldown', () => {
    const waits = { limits: { group: { ...rule, waitMs: 10_000 } } }
    assert.deepEqual(placeOf(waits), {
      ...{ reason: 'opened', opening: NOW, member: 1, flushAt: NOW + 10_000 },
    })
    const group = { key: '*', lastFlushAt: NOW - 20_000, openings: [] }
    assert.deepEqual(placeOf({ group }), {
      ...{ reason: 'opened', opening: NOW, member: 1, flushAt: NOW + 40_000 },
    })
    const limits = { group: rule, cooldownMs: 90_000, cooldownRule: 'group' } as const
    const state = { deliveredAt: NOW - 20_000 }
    assert.deepEqual(placeOf({ group, limits, state }), {
      ...{ reason: 'opened', opening: NOW, member: 1, flushAt: NOW + 70_000 },
    })
  })

  it('joins what is open, and closes it with the last place', () => {
    const group = { key: '*', lastFlushAt: 0, openings: [opening(1)] }
    assert.deepEqual(placeOf({ group }), {
      ...{ reason: 'joined', opening: 7, member: 2, flushAt: NOW + 5000 },
    })
    const nearlyFull = { ...group, openings: [opening(2)] }
    assert.deepEqual(placeOf({ group: nearlyFull }), {
      ...{ reason: 'joined', opening: 7, member: 3, flushAt: NOW },
    })
  })

  it('never overtakes a full group that still waits', () => {
    const group = { key: '*', lastFlushAt: 0, openings: [opening(3)] }
    assert.deepEqual(placeOf({ group, state: { opening: NOW + 5 } }), {
      ...{ reason: 'opened', opening: NOW + 6, member: 1, flushAt: NOW + 65_000 },
    })
  })

  it('names a group by values, tells absent from empty, and hashes long ones', () => {
    const by = ['subject', 'data.a.b']
    const event = { specversion: '1.0', id: 'e', source: '/s', type: 't' } as const
    const keyOf = (subject: string | undefined, data: unknown) =>
      groupKeyOf({ ...rule, by }, { ...event, subject, data })
    assert.equal(keyOf('a&b=c', { a: { b: 5 } }), 'subject=a%26b%3Dc&data.a.b=5')
    assert.notEqual(keyOf('', {}), keyOf(undefined, {}))
    assert.ok(keyOf('x'.repeat(10_000), {}).length < 100)
  })
})
