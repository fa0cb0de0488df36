import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCelCache, lazyProgram } from './cel-cache.ts'
import { compileEventCel } from './filter/evaluate-filter.ts'

test('the programs used last are kept, the others compiled again', () => {
  const compiled: string[] = []
  const compile = createCelCache(expression => {
    compiled.push(expression)
    return compileEventCel(expression)
  }, 2)
  for (const expression of ['1 == 1', '2 == 2', '1 == 1', '3 == 3', '1 == 1', '2 == 2']) {
    assert.equal(compile(expression).evaluate({}), true)
  }
  assert.deepEqual(compiled, ['1 == 1', '2 == 2', '3 == 3', '2 == 2'])
})

test('a lazy program compiles nothing before it is used', () => {
  const compiled: string[] = []
  const program = lazyProgram(expression => {
    compiled.push(expression)
    return compileEventCel(expression)
  }, 'data.x == 1')
  assert.deepEqual(compiled, [])
  assert.equal(program.evaluate({ data: { x: 1 } }), true)
  assert.deepEqual(program.references(), [['data', 'x']])
})
