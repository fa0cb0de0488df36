import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRefusal, NEXT } from '../guard-facts.ts'
import { NOW, type StageCase, stageContext } from './stage-case.ts'
import { stateStage } from './state.ts'

const subscription = stageContext().facts.subscription
const operation = (name: 'paused' | 'suspended' | 'active', more = {}) => ({
  subscription: { state: { ...subscription.state, operation: name, ...more } },
})
const reasonOf = (given: StageCase) => {
  const verdict = stateStage(stageContext(given))
  return isRefusal(verdict) ? `${verdict.fate}: ${verdict.reason}` : 'next'
}

describe('stage 0', () => {
  it('lets a live subscription through', () => {
    assert.equal(stateStage(stageContext()), NEXT)
  })

  it('names what stops a subscription', () => {
    const latch = { kind: 'storm', version: 3, until: null } as const
    const lifecycle = { version: 4, operation: 'paused', approval: 'not-required' }
    const cases: [StageCase, string][] = [
      [{ facts: { isTenantStopped: true } }, 'inactive: tenant-stopped'],
      [operation('paused'), 'inactive: paused'],
      [operation('suspended'), 'inactive: suspended'],
      [operation('active', { approval: 'pending' }), 'inactive: approval-pending'],
      [operation('active', { approval: 'rejected' }), 'inactive: approval-rejected'],
      [{ state: { lifecycle } }, 'inactive: paused'],
      [{ state: { latch } }, 'inactive: suspended'],
      [{ limits: { notBefore: '2026-11-30T10:00:00.001Z' } }, 'inactive: not-before'],
      [{ limits: { expiresAt: '2026-11-30T10:00:00Z' } }, 'inactive: expired'],
      [{ limits: { maxOccurrences: 2 }, state: { delivered: 2 } }, 'inactive: exhausted'],
    ]
    for (const [given, expected] of cases) assert.equal(reasonOf(given), expected)
  })

  it('forgets a latch above its version and after its period', () => {
    const storm = { kind: 'storm', version: 2, until: null } as const
    assert.equal(reasonOf({ state: { latch: storm } }), 'next')
    const budget = { kind: 'budget', version: 3, until: NOW } as const
    assert.equal(reasonOf({ state: { latch: budget } }), 'next')
  })

  it('counts age from the event time, else from its reception', () => {
    const limits = { maxEventAgeMs: 1000 }
    assert.equal(reasonOf({ limits, attributes: attributes('2026-11-30T09:59:59Z') }), 'next')
    const old = attributes('2026-11-30T09:59:58.999Z')
    assert.equal(reasonOf({ limits, attributes: old }), 'stale: too-old')
    const event = { ...stageContext().event, recordedAt: NOW - 1001 }
    assert.equal(reasonOf({ limits, context: { event } }), 'stale: too-old')
  })

  it('asks the filters again only for a newer version', () => {
    const event = { ...stageContext().event, matches: () => false }
    assert.equal(reasonOf({ context: { event } }), 'next')
    const older = { ...event, version: 2 }
    assert.equal(reasonOf({ context: { event: older } }), 'inactive: superseded')
  })

  it('takes nothing under a newer version that came before its start', () => {
    const started = { startsAt: { 'ingress.platform': [0, 7] } }
    const at = (offset: number, version: number) => {
      const position = { topic: 'ingress.platform', partition: 1, offset }
      const event = { ...stageContext().event, position, version }
      return reasonOf({ subscription: started, context: { event } })
    }
    assert.equal(at(6, 2), 'inactive: before-start')
    assert.equal(at(7, 2), 'next')
    assert.equal(at(6, 3), 'next')
  })
})

const attributes = (time: string) => ({ time })
