import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareUtf8 } from './compare-utf8.ts'

test('strings are ordered as their UTF-8 bytes are', () => {
  const texts = [
    '',
    'a',
    'ab',
    'b',
    'B',
    'é',
    '日本',
    '\uE000',
    '\uFFFD',
    '🦊',
    '🦊a',
    '\u{10FFFF}',
  ]
  for (const a of texts) {
    for (const b of texts) {
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
      assert.equal(Math.sign(compareUtf8(a, b)), expected, `${a} against ${b}`)
    }
  }
})
