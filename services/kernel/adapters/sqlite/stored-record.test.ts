import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAmbitError } from '#kernel/errors.ts'
import { packRecord, unpackHeaders } from './stored-record.ts'

const texts = (headers: Record<string, Uint8Array>) =>
  Object.entries(headers).map(([name, value]) => [name, new TextDecoder().decode(value)])

test('headers come back as they were, from the table as from memory', () => {
  const headers = JSON.parse('{"ce_id":"1","empty":"","__proto__":"x","ñ":"日本🦊"}')
  const packed = packRecord({ topic: 't', key: 'k', value: new Uint8Array([1]), headers })
  const expected = Object.entries(headers)
  assert.deepEqual(texts(packed.read), expected)
  assert.deepEqual(texts(unpackHeaders(packed.headers)), expected)
})

test('a record is copied, so that its owner may reuse the buffer', () => {
  const value = new Uint8Array([1, 2, 3])
  const packed = packRecord({ topic: 't', key: 'k', value })
  value.fill(9)
  assert.deepEqual([...(packed.value ?? [])], [1, 2, 3])
  assert.deepEqual(packed.headers, null)
})

test('a key or value that no log can hold is refused before any transaction', () => {
  const wrong = JSON.parse('{"topic":"t","key":"k","value":"text"}')
  assert.throws(
    () => packRecord(wrong),
    error => isAmbitError(error) && error.code === 'log-unavailable',
  )
})
