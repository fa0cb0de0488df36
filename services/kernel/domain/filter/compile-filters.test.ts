import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAmbitError } from '../../errors.ts'
import type { CloudEvent } from '../event.ts'
import { parseLossless } from '../lossless-json.ts'
import { compileFilters, type MatchSpec } from './compile-filters.ts'
import type { Filter } from './filter-schema.ts'

function event(data: unknown, attributes: Partial<CloudEvent> = {}): CloudEvent {
  const base = { specversion: '1.0' as const, id: 'e1', source: '/shop/eu', type: 'com.shop.order' }
  return { ...base, data, ...attributes }
}

/** Asks both answers and checks that they agree. */
function holds(filters: Filter[], asked: CloudEvent, spec: MatchSpec = {}): boolean {
  const compiled = compileFilters({ ...spec, filters })
  const matched = compiled.test(asked)
  assert.equal(compiled.matches(asked).matched, matched)
  return matched
}

function failure(filters: Filter[], asked: CloudEvent, spec: MatchSpec = {}) {
  const result = compileFilters({ ...spec, filters }).matches(asked)
  assert.ok(!result.matched)
  return result.failed
}

test('exact, prefix and suffix compare attributes and data', () => {
  const asked = event({ language: 'es', lines: [{ sku: 'x-1' }] }, { subject: 'a.png', seq: 7 })
  assert.ok(holds([{ exact: { type: 'com.shop.order', 'data.language': 'es' } }], asked))
  assert.ok(!holds([{ exact: { type: 'com.shop.order', 'data.language': 'en' } }], asked))
  assert.ok(holds([{ prefix: { source: '/shop/', 'data.lines.0.sku': 'x-' } }], asked))
  assert.ok(holds([{ suffix: { subject: '.png' } }], asked))
  assert.ok(holds([{ exact: { seq: '7' } }], asked))
  assert.ok(!holds([{ exact: { missing: '7' } }], asked))
  assert.ok(!holds([{ exact: { 'data.lines.1.sku': 'x-1' } }], asked))
  assert.ok(!holds([{ exact: { 'data.lines.00.sku': 'x-1' } }], asked))
})

test('numbers and booleans compare by their JSON text; null, lists and objects never', () => {
  const asked = event({ n: 10, f: 1.5, t: true, z: null, l: ['a'], o: {} })
  assert.ok(holds([{ exact: { 'data.n': '10', 'data.f': '1.5', 'data.t': 'true' } }], asked))
  for (const [path, value] of Object.entries({
    n: '10.0',
    z: 'null',
    l: 'a',
    o: '[object Object]',
  })) {
    assert.ok(!holds([{ exact: { [`data.${path}`]: value } }], asked), path)
  }
  const big = event(parseLossless('{"id": 12345678901234567890}'))
  assert.ok(holds([{ exact: { 'data.id': '12345678901234567890' } }], big))
  assert.ok(holds([{ cel: 'data.id > 12345678901234560000.0' }], big))
})

test('a dot inside a key is escaped', () => {
  const asked = event({ 'a.b': 'x', a: { b: 'y' }, 'c\\d': 'z' })
  assert.ok(holds([{ exact: { 'data.a\\.b': 'x', 'data.a.b': 'y', 'data.c\\\\d': 'z' } }], asked))
})

test('data may be a plain string', () => {
  assert.ok(holds([{ exact: { data: 'hello' } }], event('hello')))
  assert.ok(!holds([{ exact: { 'data.length': '5' } }], event('hello')))
})

test('inherited names do not exist, own ones do', () => {
  const paths = ['data.constructor.name', 'data.__proto__.x', 'data.toString', 'data.length']
  for (const path of paths) assert.ok(!holds([{ prefix: { [path]: 'a' } }], event({})), path)
  assert.ok(!holds([{ prefix: { constructor: 'f' } }], event({})))
  const own = event(JSON.parse('{"__proto__": {"x": "ab"}, "constructor": {"name": "ab"}}'))
  assert.ok(holds([{ exact: { 'data.__proto__.x': 'ab', 'data.constructor.name': 'ab' } }], own))
})

test('all, any and not combine', () => {
  const asked = event({ a: '1', b: '2' })
  const yes: Filter = { exact: { 'data.a': '1' } }
  const no: Filter = { exact: { 'data.a': '2' } }
  assert.ok(holds([{ all: [yes, { not: no }] }], asked))
  assert.ok(!holds([{ all: [yes, no] }], asked))
  assert.ok(holds([{ any: [no, yes] }], asked))
  assert.ok(!holds([{ any: [no, no] }], asked))
  assert.ok(!holds([{ not: yes }], asked))
  assert.ok(holds([], asked))
})

test('a filter that errors does not match, inside not neither', () => {
  const asked = event({ a: '1' })
  const bad: Filter = { cel: 'data.missing > 1' }
  const yes: Filter = { exact: { 'data.a': '1' } }
  for (const filter of [bad, { not: bad }, { all: [yes, bad] }, { not: { any: [bad] } }]) {
    assert.ok(!holds([filter], asked), JSON.stringify(filter))
    assert.match(failure([filter], asked).error ?? '', /missing/)
  }
  assert.ok(holds([{ any: [bad, yes] }], asked))
  assert.ok(holds([{ not: { all: [bad, { not: yes }] } }], asked))
})

test('cel sees attributes by name, data and event', () => {
  const asked = event({ total: 150 }, { subject: 'ana' })
  assert.ok(holds([{ cel: 'data.total > 100.0 && type.startsWith("com.shop.")' }], asked))
  assert.ok(holds([{ cel: 'event.subject == subject && event.data.total == 150' }], asked))
  assert.ok(!holds([{ cel: 'data.total' }], asked))
  assert.match(failure([{ cel: 'data.total' }], asked).error ?? '', /true or false.*number/)
})

test('types and sources are judged before filters', () => {
  const asked = event({})
  assert.ok(holds([], asked, { types: ['com.shop.*'], sources: ['/shop/*'] }))
  assert.deepEqual(failure([], asked, { types: ['com.bank.*'] }), {
    filter: '/on/types',
    expected: ['com.bank.*'],
    actual: { type: 'com.shop.order' },
  })
  assert.deepEqual(failure([], asked, { sources: ['/bank/*'] }), {
    filter: '/on/sources',
    expected: ['/bank/*'],
    actual: { source: '/shop/eu' },
  })
})

test('explain holds the failing filter and the values it read', () => {
  const filters: Filter[] = [
    { exact: { type: 'com.shop.order' } },
    { any: [{ exact: { 'data.lang': 'es' } }, { prefix: { 'data.zip': '28' } }] },
  ]
  assert.deepEqual(failure(filters, event({ lang: 'en' })), {
    filter: '/filters/1',
    expected: filters[1],
    actual: { 'data.lang': 'en', 'data.zip': null },
  })
  assert.deepEqual(failure([{ cel: 'data.total > 100.0' }], event({ total: 55 })), {
    filter: '/filters/0',
    expected: { cel: 'data.total > 100.0' },
    actual: { 'data.total': 55 },
  })
})

test('explain cuts what is long', () => {
  const asked = event({ text: 'x'.repeat(5_000), list: Array(1_000).fill(1), small: [1] })
  const names = ['text', 'list', 'small'].map(name => `data.${name}`)
  const expression = names.map(name => `${name} == null`).join(' || ')
  const { actual } = failure([{ cel: expression }], asked)
  assert.equal(String(actual['data.text']).length, 257)
  assert.equal(actual['data.list'], '(array of 1000)')
  assert.deepEqual(actual['data.small'], [1])
})

test('an expression that cannot be parsed is refused with its pointer', () => {
  const filters: Filter[] = [
    { exact: { type: 'a' } },
    { any: [{ exact: { type: 'a' } }, { not: { cel: 'data.x >' } }] },
  ]
  assert.throws(
    () => compileFilters({ filters }),
    error =>
      isAmbitError(error) &&
      error.code === 'invalid' &&
      error.facts.pointer === '/filters/1/any/1/not/cel',
  )
})
