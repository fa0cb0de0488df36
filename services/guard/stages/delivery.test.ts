import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isRefusal, NEXT } from '../guard-facts.ts'
import { deliveryStage } from './delivery.ts'
import { stageContext } from './stage-case.ts'

it('stage 6 drops under skip while as many runs as allowed are going', () => {
  const at = (overlap: 'skip' | 'queue' | 'parallel', max: number | null, open: string[]) =>
    deliveryStage(stageContext({ limits: { concurrency: { max, overlap } }, state: { open } }))
  assert.ok(isRefusal(at('skip', null, ['m1'])))
  assert.equal(at('skip', 2, ['m1']), NEXT)
  assert.ok(isRefusal(at('skip', 2, ['m1', 'm2'])))
  assert.equal(at('queue', 1, ['m1']), NEXT)
  assert.equal(at('parallel', 1, ['m1']), NEXT)
})
