import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { isAmbitError } from '#kernel/errors.ts'
import { decodeBody } from './decode-body.ts'

const body = Buffer.from('{"a":1}')
const status = (code: number) => (error: unknown) => isAmbitError(error) && error.status === code

test('decodeBody undoes each encoding it names, in any case', async () => {
  assert.deepEqual(await decodeBody(body, undefined), body)
  assert.deepEqual(await decodeBody(body, 'identity'), body)
  assert.deepEqual(await decodeBody(gzipSync(body), ' GZip '), body)
  assert.deepEqual(await decodeBody(gzipSync(body), 'x-gzip'), body)
  assert.deepEqual(await decodeBody(deflateSync(body), 'deflate'), body)
  assert.deepEqual(await decodeBody(brotliCompressSync(body), 'br'), body)
})

test('decodeBody counts decoded bytes, up to the limit and not above', async () => {
  const full = Buffer.alloc(1024 * 1024, 32)
  const over = Buffer.alloc(1024 * 1024 + 1, 32)
  for (const [encoding, encode] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', (bytes: Buffer) => bytes],
  ] as const) {
    assert.equal((await decodeBody(encode(full), encoding)).length, full.length)
    await assert.rejects(decodeBody(encode(over), encoding), status(413), encoding)
  }
})

test('decodeBody refuses bytes that are not so encoded, and unknown encodings', async () => {
  for (const encoding of ['gzip', 'deflate', 'br']) {
    await assert.rejects(decodeBody(body, encoding), status(400), encoding)
  }
  const cut = gzipSync(body).subarray(0, -9)
  await assert.rejects(decodeBody(cut, 'gzip'), status(400))
  for (const encoding of ['x-unknown', 'zstd', 'gzip, gzip', '__proto__']) {
    await assert.rejects(decodeBody(gzipSync(body), encoding), status(415), encoding)
  }
})
