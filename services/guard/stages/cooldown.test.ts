import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRefusal, NEXT } from '../guard-facts.ts'
import { cooldownStage, heldUntil } from './cooldown.ts'
import { NOW, stageContext } from './stage-case.ts'

const limits = { cooldownMs: 60_000, rate: { perMinute: 1 } }

describe('stage 4', () => {
  it('names the rate before the cooldown', () => {
    const rate = [[NOW - 1000, 1]] as const
    const inside = stageContext({ limits, state: { deliveredAt: NOW - 1000, rate } })
    const verdict = cooldownStage(inside)
    assert.ok(isRefusal(verdict) && verdict.stage === 'rate' && verdict.fate === 'cooldown')
    const { facts } = inside
    assert.equal(heldUntil(facts.subscription.limits, facts.state, NOW), NOW + 59_000)
  })

  it('counts a cooldown from the last delivery under the current rule', () => {
    const state = { deliveredAt: NOW - 30_000 }
    const at = (cooldownMs: number | null) =>
      cooldownStage(stageContext({ limits: { cooldownMs }, state }))
    assert.ok(isRefusal(at(30_001)))
    assert.equal(at(30_000), NEXT)
    assert.equal(at(null), NEXT)
    assert.equal(cooldownStage(stageContext({ limits: { cooldownMs: 60_000 } })), NEXT)
  })

  it('leaves it to the group where the rule is to group', () => {
    const given = { ...limits, cooldownRule: 'group' } as const
    assert.equal(cooldownStage(stageContext({ limits: given, state: { deliveredAt: NOW } })), NEXT)
  })
})
