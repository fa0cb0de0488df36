import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TopicPartition } from '../../ports/event-log.ts'
import {
  assignPartitions,
  decodeAssignment,
  encodeAssignment,
  encodeTopics,
  topicsOf,
} from './group-assignment.ts'

const places = (topic: string, partitions: number): TopicPartition[] =>
  Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))

test('partition n of every topic goes to the same member', () => {
  const owned = assignPartitions(['b', 'a', 'c'], [...places('x', 12), ...places('y', 12)])
  for (const list of owned.values()) {
    const of = (topic: string) => list.filter(p => p.topic === topic).map(p => p.partition)
    assert.equal(of('x').length, 4)
    assert.deepEqual(of('x'), of('y'))
  }
})

test('every partition has one owner, whatever the order of members', () => {
  const all = [...places('x', 7), ...places('y', 1), ...places('z', 1)]
  const one = assignPartitions(['a', 'b'], all)
  assert.deepEqual(one, assignPartitions(['b', 'a'], all))
  const given = [...one.values()].flat().map(p => `${p.topic}/${p.partition}`)
  assert.deepEqual(given.sort(), all.map(p => `${p.topic}/${p.partition}`).sort())
})

test('a member more than partitions owns nothing, and knows it', () => {
  const owned = assignPartitions(['a', 'b', 'c'], places('x', 2))
  const idle = encodeAssignment(owned).find(({ memberId }) => memberId === 'c')
  assert.ok(idle)
  assert.deepEqual(decodeAssignment(idle.memberAssignment), [])
})

test('topics of one partition are spread over the members', () => {
  const topics = Array.from({ length: 40 }, (_, at) => `ext.${at}`).flatMap(t => places(t, 1))
  const owned = assignPartitions(['a', 'b'], topics)
  for (const list of owned.values()) assert.ok(list.length > 5, `${list.length} of 40`)
})

test('assignments and topics survive the wire', () => {
  const owned = new Map([['a', [...places('x', 2), ...places('y-z.1', 1)]]])
  const [only] = encodeAssignment(owned)
  assert.ok(only)
  assert.deepEqual(decodeAssignment(only.memberAssignment), owned.get('a'))
  const members = [['b', 'a'], ['a', 'c'], []].map(topics => ({
    memberMetadata: encodeTopics(topics),
  }))
  assert.deepEqual(topicsOf(members), ['a', 'b', 'c'])
})
