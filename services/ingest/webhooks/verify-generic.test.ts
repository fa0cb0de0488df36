import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { sourceSchema, type Verification, verificationSchema } from '#kernel/domain/source.ts'
import type { RequestHeaders } from '../headers.ts'
import { verifyWebhook } from './verify.ts'

const NOW_S = 1_764_500_000
const BODY = Buffer.from([0xff, 0xfe, 0x7b, 0x7d])

function judge(scheme: Verification, headers: RequestHeaders, secrets = ['old', 's3cret']): string {
  const verdict = verifyWebhook(scheme, secrets, { headers, body: BODY, nowMs: NOW_S * 1000 })
  return verdict.ok ? 'ok' : verdict.reason
}

const digest = (algorithm: string, encoding: 'hex' | 'base64', time = '') =>
  createHmac(algorithm, 's3cret').update(time).update(BODY).digest(encoding)

describe('hmac', () => {
  const scheme = (more: object = {}): Verification =>
    verificationSchema.parse({
      scheme: 'hmac',
      secret: 'env:S',
      header: 'X-Signature',
      algorithm: 'sha256',
      encoding: 'hex',
      ...more,
    })
  const header = (value: string) => ({ 'x-signature': value })

  test('takes both algorithms, both encodings and a prefix, over the raw bytes', () => {
    assert.equal(judge(scheme(), header(digest('sha256', 'hex'))), 'ok')
    const base64 = scheme({ algorithm: 'sha512', encoding: 'base64' })
    assert.equal(judge(base64, header(digest('sha512', 'base64'))), 'ok')
    const prefixed = scheme({ prefix: 'sha256=' })
    assert.equal(judge(prefixed, header(`sha256=${digest('sha256', 'hex')}`)), 'ok')
    assert.equal(judge(prefixed, header(digest('sha256', 'hex'))), 'malformed-header')
    const odd = scheme({ prefix: 'v1,' })
    assert.equal(judge(odd, header(`v1,${digest('sha256', 'hex')}`)), 'ok')
  })

  test('takes the right one of several signatures', () => {
    assert.equal(judge(scheme(), header(`${'0'.repeat(64)}, ${digest('sha256', 'hex')}`)), 'ok')
  })

  test('refuses other digests and forms', () => {
    assert.equal(judge(scheme(), header('0'.repeat(64))), 'signature-mismatch')
    assert.equal(judge(scheme(), header(digest('sha512', 'hex'))), 'signature-mismatch')
    assert.equal(judge(scheme(), header('zz')), 'malformed-header')
    assert.equal(judge(scheme(), {}), 'missing-header')
    assert.equal(judge(scheme(), { 'x-signature': ['a', 'b'] }), 'missing-header')
  })

  test('binds a named time of signing to the signature and to five minutes', () => {
    const timed = scheme({ timestampHeader: 'X-Time' })
    const at = (time: string, signedTime = time) =>
      judge(timed, { 'x-time': time, ...header(digest('sha256', 'hex', `${signedTime}.`)) })
    assert.equal(at(String(NOW_S - 299)), 'ok')
    assert.equal(at(String(NOW_S - 301)), 'stale-timestamp')
    assert.equal(at(String(NOW_S), String(NOW_S - 1)), 'signature-mismatch')
    assert.equal(at(`${NOW_S}abc`), 'malformed-header')
    assert.equal(judge(timed, header(digest('sha256', 'hex'))), 'missing-header')
  })
})

describe('bearer', () => {
  const scheme: Verification = { scheme: 'bearer', secret: 'env:S' }
  const of = (authorization: string) => judge(scheme, { authorization })

  test('takes the token of any secret and nothing else', () => {
    assert.equal(of('Bearer s3cret'), 'ok')
    assert.equal(of('bearer old'), 'ok')
    assert.equal(of('Bearer s3cre'), 'signature-mismatch')
    assert.equal(of('Bearer '), 'malformed-header')
    assert.equal(of('Basic s3cret'), 'malformed-header')
    assert.equal(judge(scheme, {}), 'missing-header')
  })
})

test('no secret or an empty one never holds, and none asks for nothing', () => {
  const scheme: Verification = { scheme: 'github', secret: 'env:S' }
  const signed = createHmac('sha256', '').update(BODY).digest('hex')
  const headers = { 'x-hub-signature-256': `sha256=${signed}` }
  assert.equal(judge(scheme, headers, []), 'unusable-secret')
  assert.equal(judge(scheme, headers, ['']), 'unusable-secret')
  assert.equal(judge({ scheme: 'none' }, {}, []), 'ok')
})

test('sourceSchema takes what the contract shows and refuses what it does not', () => {
  const source = {
    kind: 'webhook',
    verification: { scheme: 'github', secret: 'env:GITHUB_SECRET' },
    map: { type: "'github.' + headers['x-github-event']" },
    rateLimit: { perSecond: 50, burst: 100 },
  }
  assert.ok(sourceSchema.safeParse(source).success)
  const bad = [
    { ...source, kind: 'connector' },
    { ...source, extra: 1 },
    { ...source, map: { type: 'x'.repeat(1025) } },
    { ...source, map: { time: 'x' } },
    { ...source, verification: { scheme: 'github' } },
    { ...source, verification: { scheme: 'github', secret: 'x', header: 'x-a' } },
    { ...source, verification: { scheme: 'md5', secret: 'x' } },
    { ...source, verification: { scheme: 'none', secret: 'x' } },
    { ...source, rateLimit: { perSecond: 0, burst: 1 } },
  ]
  for (const each of bad) assert.ok(!sourceSchema.safeParse(each).success, JSON.stringify(each))
})
