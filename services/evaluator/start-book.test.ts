import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStartBook } from './start-book.ts'

const at = (offset: number, partition = 0, topic = 'ingress.platform') => ({
  topic,
  partition,
  offset,
})

test('an event is seen from the start on, and not before', () => {
  const book = createStartBook()
  const early = book.keep({ 'ingress.platform': [5, 7] })
  const late = book.keep({ 'ingress.platform': [50, 70] })
  assert.equal(book.hasStarted(early, at(4)), false)
  assert.equal(book.hasStarted(early, at(5)), true)
  assert.equal(book.hasStarted(early, at(6, 1)), false)
  assert.equal(book.hasStarted(late, at(49)), false)
  assert.equal(book.hasStarted(late, at(50)), true)
})

test('a topic or partition that came later has started for everybody', () => {
  const book = createStartBook()
  const starts = book.keep({ 'ingress.platform': [5] })
  assert.equal(book.hasStarted(starts, at(0, 1)), true)
  assert.equal(book.hasStarted(starts, at(0, 0, 'ingress.ext.local')), true)
})
