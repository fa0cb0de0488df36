import assert from 'node:assert/strict'
import { test } from 'node:test'
import { globMatches, globPrefix, isBareGlob } from './glob.ts'

test('globMatches takes any run of characters for each *', () => {
  const cases: [string, string, boolean][] = [
    ['com.shop.*', 'com.shop.ticket.created', true],
    ['com.shop.*', 'com.shop', false],
    ['/shop/*/orders', '/shop/eu/1/orders', true],
    ['*', '', true],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['*b*c*', 'abxc', true],
    ['*b*c*', 'acb', false],
    ['a*bc*bc', 'abcbc', true],
    ['a*bc*bc', 'abc', false],
    ['exact', 'exact', true],
    ['exact', 'exactly', false],
    ['a.c', 'abc', false],
    ['**', 'x', true],
  ]
  for (const [glob, text, expected] of cases) {
    assert.equal(globMatches(glob, text), expected, `${glob} on ${text}`)
  }
})

test('globMatches does not backtrack', () => {
  const started = performance.now()
  assert.equal(globMatches('a*'.repeat(500).concat('b'), 'a'.repeat(100_000)), false)
  assert.ok(performance.now() - started < 100)
})

test('globPrefix and isBareGlob say what a glob names', () => {
  assert.equal(globPrefix('platform.*'), 'platform.')
  assert.equal(globPrefix('time.missed'), 'time.missed')
  assert.deepEqual(['*', '**', '', 'p*', '*.x'].map(isBareGlob), [true, true, false, false, false])
})
