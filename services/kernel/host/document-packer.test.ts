import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDocumentPacker } from './document-packer.ts'

const documentOf = (n: number) =>
  Buffer.from(JSON.stringify({ id: n, instruction: `Do the thing ${n} with care`.repeat(20) }))

test('every document comes back as it was, small tables and large', () => {
  const packer = createDocumentPacker()
  for (const held of [0, 9_999, 10_000, 10_001, 500_000]) {
    const bytes = documentOf(held)
    assert.deepEqual(Buffer.from(packer.unpack(packer.pack(bytes, held))), bytes)
  }
})

test('documents of a large table take a fraction of their bytes', () => {
  const packer = createDocumentPacker()
  packer.pack(documentOf(1), 20_000)
  const bytes = documentOf(2)
  assert.ok(packer.pack(bytes, 20_001).text.length < bytes.length / 5)
})

test('what is kept does not hold on to the answer it was a slice of', () => {
  const answer = Buffer.concat([documentOf(1), documentOf(2)])
  const slice = answer.subarray(0, documentOf(1).length)
  const packer = createDocumentPacker()
  const packed = packer.pack(slice, 0)
  answer.fill(0)
  assert.deepEqual(Buffer.from(packer.unpack(packed)), documentOf(1))
})
