import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareOut } from './group-assignment.ts'
import type { Stream } from './log-topics.ts'

function streams(count: number): Stream[] {
  return Array.from({ length: count }, (_, partition) => ({
    id: partition,
    topic: 't',
    partition,
    end: 0,
    durableEnd: 0,
    tail: { records: [], head: 0 },
    listeners: new Set<() => void>(),
    pending: [],
    pendingBytes: 0,
  }))
}

function loads(given: Map<Stream, string>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const member of given.values()) counts[member] = (counts[member] ?? 0) + 1
  return counts
}

test('every stream has one owner, as evenly as possible', () => {
  const all = streams(12)
  const member = (name: string) => ({ member: name, may: new Set(all), has: new Set<Stream>() })
  const given = shareOut([member('a'), member('b'), member('c')])
  assert.equal(given.size, 12)
  assert.deepEqual(loads(given), { a: 4, b: 4, c: 4 })
})

test('a newcomer takes its share and nothing else moves', () => {
  const all = streams(6)
  const given = shareOut([
    { member: 'old', may: new Set(all), has: new Set(all) },
    { member: 'new', may: new Set(all), has: new Set() },
  ])
  assert.deepEqual(loads(given), { old: 3, new: 3 })
  assert.deepEqual(
    all.slice(0, 3).map(stream => given.get(stream)),
    ['old', 'old', 'old'],
  )
})

test('a stream goes only to a member that asked for its topic', () => {
  const all = streams(4)
  const given = shareOut([
    { member: 'a', may: new Set(all.slice(0, 1)), has: new Set() },
    { member: 'b', may: new Set(all), has: new Set() },
  ])
  assert.equal(given.size, 4)
  assert.deepEqual(
    all.slice(1).map(stream => given.get(stream)),
    ['b', 'b', 'b'],
  )
})
