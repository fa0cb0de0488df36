import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { createUnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { judgedKey, reservationKey } from './judge-memory.ts'
import { keepAttempts, reserve, type Spending, settle } from './spending.ts'

const TENANT = 'acme'
const CANDIDATE = 'c1'
const subscription = {
  ...{ id: 's1', tenant: TENANT, owner: 'user:ana', agent: 'triage' },
  limits: { budget: null },
} as unknown as Subscription
const bound: Spending = { inputTokens: 100, outputTokens: 50, micros: 0 }
const key = reservationKey(`${CANDIDATE}/3`)

/** A unit over a store in which two attempts were noted. */
function unitWith(reservation?: object) {
  const documents = new Map([[judgedKey('s1', CANDIDATE), { version: 2, body: '{"attempts":2}' }]])
  if (reservation) documents.set(key, { version: 1, body: JSON.stringify(reservation) })
  const asked = { documents: [judgedKey('s1', CANDIDATE), key], counters: [] }
  return createUnitOfWork(TENANT, asked, { now: 0, documents, counters: new Map() })
}

function reserveOnce(reservation?: object) {
  const { unit, changes } = unitWith(reservation)
  reserve(unit, {
    ...{ subscription, policy: defaultPolicy(TENANT), candidateIds: [CANDIDATE] },
    fitting: () => ({ count: 1, bound }),
    expiresMs: 1000,
  })
  return changes().add
}

describe('a reservation', () => {
  it('is kept apart from what was paid', () => {
    const add = reserveOnce()
    assert.ok(add.length > 0)
    assert.deepEqual([...new Set(add.map(({ part }) => part))], ['held'])
  })
  it('of the same name, which nobody will settle, is given back', () => {
    const amounts = [{ counter: 'budget/x', what: 'tokens', amount: 70, ttlMs: 1000 }]
    const last = reserveOnce({ amounts, isReleased: false }).at(-1)
    assert.deepEqual(last, { counter: 'budget/x', part: 'held', amount: -70, ttlMs: 1000 })
    const others = reserveOnce({ amounts, isReleased: true })
    assert.ok(others.every(({ counter }) => counter !== 'budget/x'))
  })
})

describe('a settlement', () => {
  const amounts = [{ counter: 'budget/x', what: 'tokens' as const, amount: 150, ttlMs: 1000 }]
  const reserved = { id: `${CANDIDATE}/3`, amounts }
  const used: Spending = { inputTokens: 60, outputTokens: 10, micros: 0 }
  const settleOnce = (reservation?: object) => {
    const { unit, changes } = unitWith(reservation)
    const isNew = settle(unit, reserved, used)
    const { add, put } = changes()
    const left = put.find(each => each.key === key)?.body
    return { isNew, add: add.map(({ part, amount }) => ({ part, amount })), left }
  }
  const paid = { part: undefined, amount: 70 }

  it('charges what was used instead of what was held', () => {
    const { isNew, add } = settleOnce({ amounts, isReleased: false })
    assert.deepEqual([isNew, add], [true, [{ part: 'held', amount: -150 }, paid]])
  })
  it('charges a call whose reservation was given back', () => {
    assert.deepEqual(settleOnce({ amounts, isReleased: true }).add, [paid])
  })
  it('charges a call that the store has forgotten: the money is spent', () => {
    assert.deepEqual(settleOnce().add, [paid])
  })
  it('that is repeated charges nothing', () => {
    const { left } = settleOnce({ amounts, isReleased: false })
    const { isNew, add } = settleOnce(JSON.parse(left ?? '{}'))
    assert.deepEqual([isNew, add], [false, []])
  })
})

describe('attempts', () => {
  it('are noted with their charge, so that none has the number of another', () => {
    const { unit } = unitWith()
    keepAttempts(unit, 's1', [{ candidateId: CANDIDATE, attempt: 4 }])
    assert.deepEqual(unit.get(judgedKey('s1', CANDIDATE)), { attempts: 4 })
    keepAttempts(unit, 's1', [{ candidateId: CANDIDATE, attempt: 3 }])
    assert.deepEqual(unit.get(judgedKey('s1', CANDIDATE)), { attempts: 4 })
  })
})
