import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Filter, filtersSchema } from './filter-schema.ts'

const accepts = (filters: unknown) => filtersSchema.safeParse(filters).success
const nested = (depth: number): unknown =>
  depth === 1 ? { exact: { type: 'a' } } : { not: nested(depth - 1) }

test('every dialect is accepted', () => {
  const filters: Filter[] = [
    { exact: { type: 'a', 'data.language': 'es' } },
    { prefix: { source: '/shop/' } },
    { suffix: { subject: '.png' } },
    { all: [{ any: [{ exact: { 'data.a\\.b': '1' } }] }, { not: { cel: 'data.x > 1' } }] },
    { cel: 'data.total > 100.0' },
  ]
  assert.deepEqual(filtersSchema.parse(filters), filters)
  assert.ok(accepts([]))
})

test('what is not one dialect is refused', () => {
  for (const filter of [
    {},
    { exact: {} },
    { exact: { type: 1 } },
    { exact: { type: 'a' }, prefix: { type: 'a' } },
    { sql: 'type = 1' },
    { regex: { type: 'a' } },
    { all: [] },
    { any: [] },
    { not: [] },
    { prefix: { type: '' } },
    { exact: { Type: 'a' } },
    { exact: { 'type.x': 'a' } },
    { exact: { 'data..x': 'a' } },
    { exact: { 'data.a\\b': 'a' } },
    { exact: JSON.parse('{"__proto__": "a"}') },
    { exact: JSON.parse('{"type": "b", "__proto__": "a"}') },
    { cel: '' },
    'type',
    null,
  ]) {
    assert.equal(accepts([filter]), false, JSON.stringify(filter))
  }
})

test('size, width and depth are bounded', () => {
  assert.ok(accepts([nested(8)]))
  assert.ok(!accepts([nested(9)]))
  assert.ok(accepts(Array(32).fill({ exact: { type: 'a' } })))
  assert.ok(!accepts(Array(33).fill({ exact: { type: 'a' } })))
  assert.ok(!accepts([{ any: Array(33).fill({ exact: { type: 'a' } }) }]))
  assert.ok(!accepts(Array(9).fill({ any: Array(32).fill({ exact: { type: 'a' } }) })))
  assert.ok(!accepts([{ exact: { type: 'a'.repeat(1025) } }]))
  assert.ok(!accepts([{ cel: 'a'.repeat(2049) }]))
})
