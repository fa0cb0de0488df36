import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isRefusal, NEXT } from '../guard-facts.ts'
import { NOW, stageContext } from './stage-case.ts'
import { stormStage } from './storm.ts'

it('stage 7 ends the candidate that exceeds the maximum within the window', () => {
  const limits = { storm: { windowMs: 60_000, max: 3 } }
  const after = (count: number, at: number) =>
    stormStage(stageContext({ limits, state: { arrivals: [[at, count]] } }))
  assert.equal(after(2, NOW), NEXT)
  assert.ok(isRefusal(after(3, NOW)))
  assert.equal(after(3, NOW - 60_000), NEXT)
  assert.equal(stormStage(stageContext({ limits: { storm: null } })), NEXT)
})
