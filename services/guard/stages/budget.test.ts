import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRefusal, NEXT } from '../guard-facts.ts'
import { budgetStage } from './budget.ts'
import { type StageCase, stageContext } from './stage-case.ts'

const own = 'budget/subscription/s1/activations/2026-11-30'
const limits = { budget: { activationsPerDay: 2 } }
const isOver = (given: StageCase) => isRefusal(budgetStage(stageContext(given)))

describe('stage 3', () => {
  it('says which budget is used up, and until when', () => {
    assert.equal(budgetStage(stageContext({ limits, counters: { [own]: 1 } })), NEXT)
    const verdict = budgetStage(stageContext({ limits, counters: { [own]: 2 } }))
    assert.ok(isRefusal(verdict))
    assert.deepEqual(verdict.details, {
      ...{ scope: 'subscription', what: 'activations', period: 'day', limit: 2 },
      ...{ until: '2026-12-01T00:00:00.000Z', counter: own },
    })
  })

  it('takes a limit of zero as no activation at all', () => {
    assert.ok(isOver({ limits: { budget: { activationsPerDay: 0 } } }))
    assert.ok(isOver({ limits: { budget: { tokensPerMonth: 0 } } }))
  })

  it('needs no room for a candidate that joins, and not twice for one that is reserved', () => {
    const counters = { [own]: 2 }
    const joins = { reservation: { activations: 0, held: [] } } as const
    assert.equal(isOver({ limits, counters, context: joins }), false)
    const reserved = { reservation: { activations: 1, held: [own] } } as const
    assert.equal(isOver({ limits, counters, context: reserved }), false)
    assert.ok(isOver({ limits, counters: { [own]: 3 }, context: reserved }))
  })

  it('asks for entitlement before any budget', () => {
    const verdict = budgetStage(
      stageContext({ limits, counters: { [own]: 2 }, policy: { grants: [] } }),
    )
    assert.ok(isRefusal(verdict) && verdict.stage === 'entitlement')
  })
})
