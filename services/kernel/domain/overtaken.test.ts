import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isNewestOf } from './overtaken.ts'
import type { Output } from './unit-of-work.ts'

const record = (key: string, version: number): Output => {
  const id = `${key}/${version}`
  return { topic: 'subscriptions', key, id, tenant: 'acme', value: { version } }
}
/** Ids of what would be appended again after folding the versions of one key. */
function repairs(versions: number[]): string[] {
  const restored = { outputs: [] as Output[] }
  for (const version of versions) isNewestOf(restored, record('a', version), version)
  return restored.outputs.map(({ id }) => id)
}

describe('records of a compacted topic, folded in their order', () => {
  it('the newest is appended again where an older one came last', () => {
    assert.deepEqual(repairs([1, 2, 1]), ['a/2'])
    assert.deepEqual(repairs([1, 3, 2, 1]), ['a/3'])
  })
  it('nothing is appended where the newest came last, also after a repair', () => {
    assert.deepEqual(repairs([1, 2, 2]), [])
    assert.deepEqual(repairs([1, 2, 1, 2]), [])
    assert.deepEqual(repairs([2, 1, 3]), [])
  })
  it('only the highest version counts as folded', () => {
    const restored = { outputs: [] as Output[] }
    assert.equal(isNewestOf(restored, record('a', 2), 2), true)
    assert.equal(isNewestOf(restored, record('a', 1), 1), false)
    assert.equal(isNewestOf(restored, record('b', 1), 1), true)
    assert.equal(isNewestOf(restored, record('a', 2), 2), true)
  })
})
