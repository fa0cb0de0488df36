import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { type Verification, verificationSchema } from '#kernel/domain/source.ts'
import { type BodyCase, bodyOf, readCases } from '#test/support/cases.ts'
import { githubSamples } from '#test/support/github-samples.ts'
import type { RequestHeaders } from '../headers.ts'
import { verifyWebhook } from './verify.ts'

interface Line extends BodyCase {
  id: string
  why: string
  secret: string
  headers: Record<string, string>
  now: number
  valid: boolean
}

const NOW_S = 1_764_500_000
const BODY = '{"id":"evt_1","n": 1}'

/** The reason of the refusal, or `ok`. */
function judge(
  verification: Verification,
  headers: RequestHeaders,
  options: { body?: string | Buffer; nowS?: number; secrets?: string[] } = {},
): string {
  const { body = BODY, nowS = NOW_S, secrets = ['s3cret'] } = options
  const delivery = { headers, body: Buffer.from(body), nowMs: nowS * 1000 }
  const verdict = verifyWebhook(verification, secrets, delivery)
  return verdict.ok ? 'ok' : verdict.reason
}

const hex = (text: string, key = 's3cret') => createHmac('sha256', key).update(text).digest('hex')

describe('every Standard Webhooks case has its right answer', () => {
  const scheme = verificationSchema.parse({ scheme: 'standard-webhooks', secret: 'env:S' })
  for (const line of readCases<Line>('standard-webhooks.jsonl')) {
    test(`${line.id} ${line.why}`, () => {
      const delivery = { headers: line.headers, body: bodyOf(line), nowMs: line.now * 1000 }
      const verdict = verifyWebhook(scheme, [line.secret], delivery)
      assert.equal(verdict.ok, line.valid)
      if (verdict.ok) assert.match(verdict.deliveryId ?? '', /^msg_/)
    })
  }

  test('agrees with the reference library, with several keys', () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const signature = new Webhook(secret).sign('msg_1', new Date(NOW_S * 1000), BODY)
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(NOW_S),
      'webhook-signature': signature,
    }
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    assert.equal(judge(scheme, headers, { secrets: [other, secret] }), 'ok')
    assert.equal(judge(scheme, headers, { secrets: [other] }), 'signature-mismatch')
    assert.equal(judge(scheme, headers, { secrets: ['not base64!'] }), 'unusable-secret')
    const twice = { ...headers, 'webhook-id': ['msg_1', 'msg_1'] }
    assert.equal(judge(scheme, twice, { secrets: [secret] }), 'missing-header')
  })
})

describe('github', () => {
  const scheme: Verification = { scheme: 'github', secret: 'env:S' }

  test('takes the vector of the documentation', () => {
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
    const options = { body: 'Hello, World!', secrets: ["It's a Secret to Everybody"] }
    assert.equal(judge(scheme, { 'x-hub-signature-256': signature }, options), 'ok')
  })

  test('takes every published sample payload and gives the delivery id', () => {
    for (const { payload } of githubSamples()) {
      const body = Buffer.from(JSON.stringify(payload))
      const headers = {
        'X-Hub-Signature-256': `sha256=${hex(body.toString())}`,
        'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      }
      const verdict = verifyWebhook(scheme, ['s3cret'], { headers, body, nowMs: 0 })
      const deliveryId = '72d3162e-cc78-11e3-81ab-4c9367dc0958'
      assert.deepEqual(verdict, { ok: true, deliveryId })
    }
  })

  test('refuses other digests, forms and versions', () => {
    const of = (value: string) => judge(scheme, { 'x-hub-signature-256': value })
    assert.equal(of(`sha256=${hex(`${BODY}\n`)}`), 'signature-mismatch')
    assert.equal(of(`sha256=${hex(BODY, 'other')}`), 'signature-mismatch')
    assert.equal(of(`sha256=${hex(BODY).slice(0, 8)}`), 'signature-mismatch')
    assert.equal(of(hex(BODY)), 'malformed-header')
    assert.equal(of('sha256='), 'malformed-header')
    assert.equal(of(`sha1=${hex(BODY)}`), 'malformed-header')
    assert.equal(judge(scheme, { 'x-hub-signature': 'sha1=00' }), 'missing-header')
  })
})

describe('stripe', () => {
  const scheme: Verification = { scheme: 'stripe', secret: 'env:S' }
  const secret = 'whsec_test'
  const sign = (timestamp: number, payload = BODY) =>
    Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
  const of = (header: string, nowS = NOW_S) =>
    judge(scheme, { 'stripe-signature': header }, { nowS, secrets: ['whsec_old', secret] })

  test('takes what the official library signs, within five minutes', () => {
    assert.equal(of(sign(NOW_S)), 'ok')
    assert.equal(of(sign(NOW_S - 299)), 'ok')
    assert.equal(of(sign(NOW_S + 299)), 'ok')
    assert.equal(of(sign(NOW_S - 301)), 'stale-timestamp')
    assert.equal(of(sign(NOW_S + 301)), 'stale-timestamp')
  })

  test('takes the right one of several signatures and passes over v0', () => {
    const right = sign(NOW_S).split('v1=')[1]
    assert.equal(of(`t=${NOW_S},v1=${'0'.repeat(64)},v1=${right},v0=${right}`), 'ok')
    assert.equal(of(`t=${NOW_S},v0=${right}`), 'malformed-header')
  })

  test('refuses changed bodies, times and forms', () => {
    assert.equal(of(sign(NOW_S, `${BODY} `)), 'signature-mismatch')
    assert.equal(of(sign(NOW_S).replace(`t=${NOW_S}`, `t=${NOW_S + 1}`)), 'signature-mismatch')
    for (const header of ['t=,v1=aa', `t=${NOW_S}x,v1=aa`, `t=1,t=${NOW_S},v1=aa`, 'v1=aa', 'x']) {
      assert.equal(of(header), 'malformed-header', header)
    }
    assert.equal(judge(scheme, {}), 'missing-header')
  })
})

describe('slack', () => {
  const scheme: Verification = { scheme: 'slack', secret: 'env:S' }
  const signed = (time: string | number, text = `v0:${time}:${BODY}`) => ({
    'x-slack-request-timestamp': String(time),
    'x-slack-signature': `v0=${hex(text)}`,
  })

  test('takes the vector of the documentation', () => {
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow' +
      '&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner' +
      '&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2F' +
      'commands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
      '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
    const headers = {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    }
    const secrets = ['8f742231b10e8888abcd99yyyzzz85a5']
    assert.equal(judge(scheme, headers, { body, secrets, nowS: 1531420618 }), 'ok')
  })

  test('refuses stale, changed and malformed deliveries', () => {
    assert.equal(judge(scheme, signed(NOW_S)), 'ok')
    assert.equal(judge(scheme, signed(NOW_S - 301)), 'stale-timestamp')
    assert.equal(judge(scheme, signed(NOW_S + 301)), 'stale-timestamp')
    assert.equal(judge(scheme, signed(NOW_S, BODY)), 'signature-mismatch')
    assert.equal(judge(scheme, signed('soon')), 'malformed-header')
    assert.equal(judge(scheme, { 'x-slack-signature': 'v0=00' }), 'missing-header')
  })
})
