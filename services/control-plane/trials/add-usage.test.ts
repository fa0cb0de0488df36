import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addUsage, scaleUsage } from './add-usage.ts'

const usage = (calls: number, cost: string) => ({
  ...{ calls, inputTokens: 10 * calls, outputTokens: calls, totalTokens: 11 * calls },
  cost,
})

test('sums are exact in millionths and written without needless zeros', () => {
  assert.deepEqual(addUsage(usage(1, '0.1'), usage(2, '0.2')), usage(3, '0.3'))
  assert.equal(addUsage(usage(0, '0'), usage(0, '0')).cost, '0')
  assert.equal(addUsage(usage(0, '9.999999'), usage(0, '0.000001')).cost, '10')
})

test('a part stands for the whole, rounded up', () => {
  const scaled = scaleUsage({ ...usage(1, '0.000001'), inputTokens: 3 }, 2.5)
  assert.deepEqual([scaled.calls, scaled.inputTokens, scaled.cost], [3, 8, '0.000003'])
})
