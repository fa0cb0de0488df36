import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  budgetCounters,
  budgetEnd,
  budgetLimits,
  limitWithoutRoom,
  moneyMicros,
} from './budget-counters.ts'

const payer = { tenant: 'acme', subscription: 's1', owner: 'user:ana', agent: 'triage' }
// 23:30 UTC is already the next day, and the next month, in Madrid.
const now = Date.parse('2026-11-30T23:30:00Z')

describe('budget counters', () => {
  it('are named by scope, payer, kind and period in the zone of the tenant', () => {
    const limits = budgetLimits(
      { subscription: { activationsPerDay: 5 }, owner: { moneyPerMonth: '12.5' } },
      payer,
      { now, zone: 'Europe/Madrid' },
    )
    assert.deepEqual(
      limits.map(({ counter, limit }) => [counter, limit]),
      [
        ['budget/subscription/s1/activations/2026-12-01', 5],
        ['budget/owner/user%3Aana/money/2026-12', 12_500_000],
      ],
    )
    const [own] = limits
    assert.ok(own)
    const end = budgetEnd(own, now, 'Europe/Madrid')
    assert.equal(new Date(end).toISOString(), '2026-12-01T23:00:00.000Z')
  })

  it('exist only for what has a limit', () => {
    const budgets = { subscription: { tokensPerDay: null }, tenant: null }
    assert.deepEqual(budgetLimits(budgets, payer, { now, zone: 'UTC' }), [])
  })

  it('can be listed for all payers of one amount', () => {
    const names = budgetCounters(payer, 'tokens', '2026-11-30').map(({ counter }) => counter)
    assert.equal(names.length, 8)
    assert.ok(names.includes('budget/agent/triage/tokens/2026-11'))
    assert.ok(names.includes('budget/tenant/acme/tokens/2026-11-30'))
  })

  it('have room up to their limit, and no further', () => {
    const budgets = { subscription: { tokensPerDay: 100 }, tenant: { tokensPerMonth: 90 } }
    const limits = budgetLimits(budgets, payer, { now, zone: 'UTC' })
    const lacking = (amount: number) =>
      limitWithoutRoom(
        limits,
        () => amount,
        () => 40,
      )?.scope
    assert.deepEqual([lacking(50), lacking(51), lacking(61)], [undefined, 'tenant', 'subscription'])
  })

  it('count money in millionths', () => {
    assert.equal(moneyMicros('0.000001'), 1)
    assert.equal(moneyMicros('3'), 3_000_000)
    assert.equal(moneyMicros('999999999999.9'), Number.MAX_SAFE_INTEGER)
  })
})
