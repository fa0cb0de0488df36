import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AmbitError } from '../errors.ts'
import { readable } from './readable.ts'

const fails = (error: Error) => () => {
  throw error
}

test('a record that nobody can read is nothing; one that can is what it is', () => {
  assert.equal(
    readable(() => 7),
    7,
  )
  assert.equal(readable(fails(new AmbitError('invalid', 'other bytes'))), undefined)
})

test('a schema on its way, and a fault of the program, are thrown on', () => {
  assert.throws(() => readable(fails(new AmbitError('not-ready', 'soon'))), /soon/)
  assert.throws(() => readable(fails(new TypeError('a fault'))), TypeError)
})
