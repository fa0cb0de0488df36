import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { payloadOf } from '#kernel/domain/event-payload.ts'
import { AmbitError } from '#kernel/errors.ts'
import { githubSamples } from '#test/support/github-samples.ts'
import { answerOptions, answerSlackChallenge } from './handshakes.ts'
import { bodyDeliveryId, mapWebhook, type VerifiedDelivery } from './mapping.ts'

type Variables = { body: unknown; headers: Record<string, string> }

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

/** Stands in for CEL: a path such as `body.a.b` or `headers.x`; anything else fails. */
function evaluate(expression: string, variables: Variables): unknown {
  return expression.split('.').reduce<unknown>((value, key) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) {
      throw new Error(`no such key: ${key}`)
    }
    return Reflect.get(value, key)
  }, variables)
}

const tools = { evaluate, sha256 }

function delivery(body: string, more: Partial<VerifiedDelivery> = {}): VerifiedDelivery {
  const rawBody = Buffer.from(body)
  const { contentType = 'application/json' } = more
  return { payload: payloadOf(rawBody, contentType), contentType, headers: {}, rawBody, ...more }
}

const refused = (map: object, body: string, more?: Partial<VerifiedDelivery>) => {
  try {
    mapWebhook({ name: 'crm', map }, delivery(body, more), tools)
  } catch (error) {
    assert.ok(error instanceof AmbitError)
    return [error.code, error.facts.pointer]
  }
  return assert.fail('was taken')
}

describe('mapWebhook', () => {
  test('gives a bare delivery its names from the source and the delivery id', () => {
    assert.deepEqual(
      mapWebhook({ name: 'crm' }, delivery('{"n":1}', { deliveryId: 'd1' }), tools),
      {
        specversion: '1.0',
        id: 'd1',
        source: '/webhooks/crm',
        type: 'webhook.crm',
        dedupkey: 'd1',
        datacontenttype: 'application/json',
        data: { n: 1 },
      },
    )
  })

  test('falls back to the hash of the canonical body, so spelling does not matter', () => {
    const event = mapWebhook({ name: 'crm' }, delivery('{ "b":1, "a":[{"d":1,"c":2}] }'), tools)
    const same = mapWebhook({ name: 'crm' }, delivery('{"a":[{"c":2,"d":1}],"b":1}'), tools)
    assert.equal(event.id, sha256('{"a":[{"c":2,"d":1}],"b":1}'))
    assert.deepEqual([event.id, event.dedupkey], [same.id, same.dedupkey])
    const text = { contentType: 'text/plain' }
    assert.equal(mapWebhook({ name: 'crm' }, delivery('hi', text), tools).id, sha256('hi'))
    const other = mapWebhook({ name: 'crm' }, delivery('12345678901234567890'), tools)
    assert.equal(other.id, sha256('12345678901234567890'))
  })

  test('maps each attribute, numbers as their digits', () => {
    const map = { type: 'body.kind', subject: 'headers.x-shop', id: 'body.n', dedupKey: 'body.key' }
    const body = '{"kind":"order.paid","n":12345678901234567890,"key":7}'
    const event = mapWebhook(
      { name: 'crm', map },
      delivery(body, { headers: { 'x-shop': 'es' } }),
      tools,
    )
    const { type, subject, id, dedupkey } = event
    assert.deepEqual(
      [type, subject, id, dedupkey],
      ['order.paid', 'es', '12345678901234567890', '7'],
    )
  })

  test('takes null and an empty string as not mapped', () => {
    const map = { type: 'body.a', subject: 'body.b', id: 'body.b' }
    const event = mapWebhook({ name: 'crm', map }, delivery('{"a":null,"b":""}'), tools)
    assert.equal(event.type, 'webhook.crm')
    assert.equal(event.id, event.dedupkey)
    assert.ok(!('subject' in event))
  })

  test('refuses what does not fit, and points at the mapping', () => {
    assert.deepEqual(refused({ type: 'body.none' }, '{}'), ['bad-event', '/map/type'])
    assert.deepEqual(refused({ id: 'body.a' }, '{"a":{}}'), ['bad-event', '/map/id'])
    assert.deepEqual(refused({ id: 'body.a' }, '{"a":1.5}'), ['bad-event', '/map/id'])
    assert.deepEqual(refused({ subject: 'body.a' }, '{"a":"x\\ny"}'), ['bad-event', '/subject'])
    assert.equal(refused({}, `"${'x'.repeat(256 * 1024 + 1)}"`)[0], 'too-large')
  })

  test('lets no body speak for Ambit', () => {
    for (const type of ['time.once', 'platform.run.finished', 'mcp.a.b', 'calendar.anchor']) {
      const answer = refused({ type: 'body.type' }, JSON.stringify({ type }))
      assert.deepEqual(answer, ['reserved-attribute', '/map/type'])
    }
    const body = '{"type":"webhook.github.push"}'
    const event = mapWebhook({ name: 'crm', map: { type: 'body.type' } }, delivery(body), tools)
    assert.equal(event.type, 'webhook.github.push')
  })

  test('keeps credentials from expressions', () => {
    const headers = { authorization: 'Bearer x' }
    const answer = refused({ subject: 'headers.authorization' }, '{}', { headers })
    assert.deepEqual(answer, ['bad-event', '/map/subject'])
  })
})

describe('sample payloads of providers', () => {
  test('every GitHub sample becomes an event', () => {
    const map = { type: 'headers.x-github-event', subject: 'body.sender.login' }
    for (const { name, payload } of githubSamples()) {
      const headers = { 'x-github-event': name }
      const event = mapWebhook(
        { name: 'github', map: 'sender' in payload ? map : { type: map.type } },
        delivery(JSON.stringify(payload), { headers, deliveryId: 'g-1' }),
        tools,
      )
      assert.deepEqual([event.type, event.id, event.data], [name, 'g-1', payload])
    }
  })

  test('the ids of Stripe and Slack come from the body', () => {
    assert.equal(bodyDeliveryId('stripe', { id: 'evt_1', object: 'event' }), 'evt_1')
    const slack = { type: 'event_callback', event_id: 'Ev08MFMKH6' }
    assert.equal(bodyDeliveryId('slack', slack), 'Ev08MFMKH6')
    assert.equal(bodyDeliveryId('github', { id: 'x', event_id: 'y' }), undefined)
    assert.equal(bodyDeliveryId('stripe', { id: 5 }), undefined)
    assert.equal(bodyDeliveryId('stripe', null), undefined)
  })
})

describe('handshakes', () => {
  test('Slack gets its challenge back, other bodies nothing', () => {
    const body = { type: 'url_verification', token: 't', challenge: 'c1' }
    assert.deepEqual(answerSlackChallenge(body)?.body, { challenge: 'c1' })
    for (const other of [{ type: 'event_callback', challenge: 'c' }, null, [], 'x', undefined]) {
      assert.equal(answerSlackChallenge(other), undefined)
    }
  })

  test('OPTIONS allows the asking origin at the rate of the source', () => {
    const headers = { 'WebHook-Request-Origin': 'eventgrid.azure.net' }
    const answer = answerOptions(headers, { perSecond: 2, burst: 5 })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['webhook-allowed-origin'], 'eventgrid.azure.net')
    assert.equal(answer.headers['webhook-allowed-rate'], '120')
    assert.equal(answerOptions(headers, undefined).headers['webhook-allowed-rate'], '*')
  })

  test('OPTIONS without a usable origin allows nobody', () => {
    for (const headers of [{}, { 'webhook-request-origin': 'a\r\nb' }]) {
      const answer = answerOptions(headers, undefined)
      assert.deepEqual(answer, { status: 204, headers: { allow: 'POST, OPTIONS' } })
    }
  })
})
