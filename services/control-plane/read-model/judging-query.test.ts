import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import {
  anEvent,
  candidateRecord,
  decisionRecord,
  type HappenedWorld,
  openHappenedWorld,
} from '#test/support/happened-world.ts'
import { judgingState } from './judging-query.ts'

let world: HappenedWorld
beforeEach(async () => {
  world = await openHappenedWorld()
})
afterEach(() => world.stop())

const verdict = (outcome: string, body: object | null = null) => ({
  verdict: { id: 'v1', outcome, confidence: 0.6, model: 'm', cached: false, body },
})
const asked = () => judgingState(world.model, Date.now()).asked

it('counts what waits for a person, and not what waits for the judge or for its fate', async () => {
  const [plain, first, second] = [anEvent('plain'), anEvent('e1'), anEvent('e2')]
  await world.append(candidateRecord(plain, 's1', {}, 'evaluations'))
  assert.equal(asked(), 0, 'not judged yet')
  for (const each of [first, second]) {
    await world.append(candidateRecord(each, 's1', verdict('ask'), 'evaluations'))
  }
  assert.equal(asked(), 2)
  const lapse = { fate: 'stale', stage: 'state', reason: 'too-old', details: {}, at: '2026-12-01' }
  await world.append(candidateRecord(first, 's1', verdict('ask', { lapse })))
  assert.equal(asked(), 1, 'one lapsed, and the guard has not looked at it yet')
  const answer = { decision: 'accept', by: 'user:ana', at: '2026-12-01' }
  await world.append(candidateRecord(second, 's1', verdict('matched', { answer })))
  assert.equal(asked(), 0, 'one was answered')
})

it('does not count an ask that was decided', async () => {
  await world.append(
    candidateRecord(anEvent('e1'), 's1', verdict('ask'), 'evaluations'),
    decisionRecord(anEvent('e1'), 's1', { fate: 'inactive' }),
  )
  assert.equal(asked(), 0)
})
