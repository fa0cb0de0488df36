import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAmbitError } from '../errors.ts'
import { compileCel } from './cel.ts'
import { parseLossless } from './lossless-json.ts'

const ANY_NAME = { variables: () => true }

function evaluate(expression: string, data: unknown = {}): unknown {
  return compileCel(expression, { variables: ['data'] }).evaluate({ data })
}

function refusal(expression: string): string {
  try {
    compileCel(expression, { variables: ['data'] })
  } catch (error) {
    if (isAmbitError(error) && error.code === 'invalid') return error.message
    throw error
  }
  return 'accepted'
}

test('numbers compare across int and double literals', () => {
  for (const total of [150, 150.5]) {
    assert.equal(evaluate('data.total > 100.0', { total }), true)
    assert.equal(evaluate('data.total > 100', { total }), true)
    assert.equal(evaluate('data.total <= 100', { total }), false)
  }
  assert.equal(evaluate('data.total == 100', { total: 100 }), true)
  assert.equal(evaluate('data.total == 100.0', { total: 100 }), true)
  assert.equal(evaluate('data.total in [1, 100]', { total: 100 }), true)
})

test('arithmetic mixes JSON numbers with int literals', () => {
  assert.equal(evaluate('data.total + 1 == 101', { total: 100 }), true)
  assert.equal(evaluate('data.total / 8 > 12.4', { total: 100 }), true)
  assert.equal(evaluate('data.total % 2 == 0', { total: 100 }), true)
  assert.equal(evaluate('data.list[data.at]', { list: ['a', 'b'], at: 1 }), 'b')
})

test('an integer that no double holds compares exactly', () => {
  const data = parseLossless('{"id": 9007199254740993}')
  assert.equal(evaluate('data.id == 9007199254740993', data), true)
  assert.equal(evaluate('data.id == 9007199254740992', data), false)
})

test('results come back as JSON', () => {
  assert.equal(evaluate('"order." + data.kind', { kind: 'paid' }), 'order.paid')
  assert.deepEqual(evaluate('data.list.map(x, x * 2)', { list: [1, 2] }), [2, 4])
  assert.deepEqual(evaluate('{"a": [1, null]}'), { a: [1, null] })
  assert.equal(evaluate('size(data.text)', { text: 'añ😀' }), 3)
  assert.equal(evaluate('data.nested', { nested: null }), null)
  assert.equal(evaluate('string(data.id)', { id: 12 }), '12')
})

test('webhook mapping reads body and headers', () => {
  const program = compileCel('headers["x-kind"] + "." + body.action', {
    variables: ['body', 'headers'],
  })
  const values = { headers: { 'x-kind': 'issues' }, body: { action: 'opened' } }
  assert.equal(program.evaluate(values), 'issues.opened')
  assert.deepEqual(program.references(), [['headers'], ['body', 'action']])
})

test('macros filter, exists, all and exists_one hold their meaning', () => {
  const data = { list: [1, 2, 3, 4] }
  assert.deepEqual(evaluate('data.list.filter(x, x > 2)', data), [3, 4])
  assert.deepEqual(evaluate('data.list.map(x, x > 2, x * 10)', data), [30, 40])
  assert.equal(evaluate('data.list.exists(x, x == 3)', data), true)
  assert.equal(evaluate('data.list.all(x, x > 0)', data), true)
  assert.equal(evaluate('data.list.exists_one(x, x > 3)', data), true)
  assert.equal(evaluate('data.list.all(x, data.list.exists(y, y == x))', data), true)
  assert.deepEqual(
    evaluate('data.list.map(x, data.list.filter(y, y < x).size())', data),
    [0, 1, 2, 3],
  )
})

test('own properties only: inherited names do not exist', () => {
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    assert.throws(() => evaluate(`data.${name}`), /no such key|not found|resolve/i, name)
    assert.equal(evaluate(`has(data.${name})`), false, name)
  }
  const hostile = JSON.parse('{"constructor": {"name": "Map"}, "__proto__": {"x": 1}}')
  assert.equal(evaluate('data.constructor.name', hostile), 'Map')
  assert.equal(evaluate('data.__proto__.x == 1', hostile), true)
})

test('a missing field and a type that does not fit are failures', () => {
  assert.throws(() => evaluate('data.total > 1'), /failed/)
  assert.throws(() => evaluate('data.total > 1', { total: 'x' }), /failed/)
})

test('a syntax error is refused with its place', () => {
  assert.match(refusal('data.total >'), /line 1, column \d+/)
  assert.match(refusal('data.total\n  == 1 )'), /line 2, column 8/)
  assert.match(refusal(''), /not valid/)
})

test('unknown variables and functions are refused when written', () => {
  assert.match(refusal('date.total > 1'), /column 1: unknown variable 'date'/)
  assert.match(refusal('data.total.frobnicate()'), /unknown function or macro 'frobnicate'/)
  assert.match(refusal('google.protobuf.Timestamp{seconds: 1}'), /messages|unknown/)
  assert.match(refusal('data.list.all(x, y > 1)'), /unknown variable 'y'/)
})

test('size, nesting and macro depth are bounded', () => {
  assert.match(refusal(`data.a == '${'x'.repeat(2048)}'`), /at most 2048 bytes/)
  assert.match(refusal(`${'('.repeat(200)}1${')'.repeat(200)}`), /nesting/)
  assert.match(refusal(`-(${'-('.repeat(40)}1${')'.repeat(41)}`), /nesting/)
  assert.match(refusal(`data${'.a'.repeat(40)} == 1`), /nesting/)
  assert.equal(refusal('data.l.all(x, x.l.all(y, y > 1))'), 'accepted')
  assert.match(refusal('data.l.all(x, x.l.all(y, y.l.all(z, z > 1)))'), /nested at most 2/)
})

test('a chain of alternatives may be long, because it is balanced', () => {
  const chain = Array.from({ length: 60 }, (_, at) => `data.kind == 'k${at}'`).join(' || ')
  assert.equal(refusal(chain), 'accepted')
})

test('matches() takes a literal pattern and runs in linear time', () => {
  assert.equal(evaluate('data.a.matches("^a+b$")', { a: 'aaab' }), true)
  assert.match(refusal('data.a.matches(data.b)'), /literal pattern/)
  const started = performance.now()
  assert.equal(evaluate('data.a.matches("^(a+)+$")', { a: `${'a'.repeat(5_000)}!` }), false)
  assert.ok(performance.now() - started < 200)
})

const items = Array.from({ length: 10_000 }, (_, at) => at)
const long = 'a'.repeat(120_000)
const EXPENSIVE: [string, unknown][] = [
  ['data.exists(x, data.exists(y, y == x + 100000))', items],
  ['data.map(x, data.map(y, x * y)).size() > 0', items],
  ['data.exists(x, data + [x] == [x])', items],
  ['data.filter(x, data.all(y, data == data)).size() > 0', items],
  ['data.list.all(x, data.a.contains(data.b + "b"))', { list: items, a: long, b: long }],
  ['data.list.exists(x, data.a == data.b)', { list: items, a: long, b: `${long.slice(1)}b` }],
  ['data.list.all(x, size(data.a) > 0)', { list: items, a: long }],
  ['data.list.exists(x, data.list.exists(y, y.missing == x))', { list: items }],
  ['data.list.all(x, int(data.a) == 1)', { list: items, a: '9'.repeat(120_000) }],
  ['data.list.all(x, data.a.matches("((a?){20}){20}b"))', { list: items, a: long }],
  ['data.list.all(x, "aaa".matches("((a?){30}){30}"))', { list: items }],
  [
    'data.list.all(x, timestamp("2026-01-01T00:00:00Z").getHours("Europe/Madrid") >= 0)',
    { list: items },
  ],
  [
    `data.list.all(x, data.list.map(y, data.a${' + data.a'.repeat(20)}) != [])`,
    { list: items, a: long },
  ],
]

for (const [expression, data] of EXPENSIVE) {
  test(`does not block: ${expression.slice(0, 70)}`, () => {
    const program = compileCel(expression, ANY_NAME)
    const started = performance.now()
    assert.throws(() => program.evaluate({ data }), /failed/)
    assert.ok(performance.now() - started < 400, `took ${performance.now() - started} ms`)
  })
}

test('one pass over a 10,000 element list fits the allowance', () => {
  const data = items.map(price => ({ price }))
  assert.equal(evaluate('data.all(x, x.price >= 0.0 && x.price < 20000)', data), true)
  assert.equal(evaluate('data.filter(x, x.price > 5000).map(x, x.price).size()', data), 4999)
})

test('an exhausted allowance fails, also where an alternative would have held', () => {
  const expression = 'data.exists(x, data.exists(y, y < 0)) || true'
  assert.throws(
    () => compileCel(expression, ANY_NAME).evaluate({ data: items.map(() => 1) }),
    /steps/,
  )
})
