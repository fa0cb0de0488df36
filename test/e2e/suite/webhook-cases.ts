/** Webhooks: signatures over the wire bytes, mapping, replays and handshakes. */
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Api } from '#test/support/api-caller.ts'
import { type BodyCase, bodyOf, readCases } from '#test/support/cases.ts'
import { assertProblem, createScene, type GetWorld } from './scene.ts'

interface SignedLine extends BodyCase {
  id: string
  why: string
  secret: string
  headers: Record<string, string>
  now: number
  valid: boolean
}

const JSON_TYPE = { 'content-type': 'application/json' }
const SECRET = 'a-shared-secret-of-the-test'
const bearer = { scheme: 'bearer', secret: SECRET }
const headers = { ...JSON_TYPE, authorization: `Bearer ${SECRET}` }
const nowSeconds = () => Math.floor(Date.now() / 1000)
const hex = (text: string | Buffer, secret = SECRET) =>
  createHmac('sha256', secret).update(text).digest('hex')

export function webhookCases(world: GetWorld): void {
  describe('the Standard Webhooks case file through the door', { concurrency: 4 }, () => {
    for (const line of readCases<SignedLine>('standard-webhooks.jsonl')) {
      it(`${line.id} ${line.why}`, () => tellSigned(world().api, line))
    }
  })
  describe('the schemes of providers', () => {
    githubCases(world)
    stripeAndSlackCases(world)
    genericCases(world)
  })
  describe('mapping and handshakes', () => {
    mappingCases(world)
    doorCases(world)
  })
}

async function tellSigned(api: Api, line: SignedLine): Promise<void> {
  const name = `${line.id}-${randomUUID().slice(0, 6)}`
  const verification = { scheme: 'standard-webhooks', secret: line.secret }
  await api.ok('PUT', `/v1/sources/${name}`, { kind: 'webhook', verification })
  const body = bodyOf(line)
  const headers = { ...JSON_TYPE, ...shiftedToNow(line, body) }
  const answer = await api.call('POST', `/v1/webhooks/${name}`, { headers, body })
  if (!line.valid) return void assertProblem(answer, 401, 'bad-signature')
  const isReadable = isJson(body)
  assert.ok(isReadable ? answer.status === 202 : [202, 400, 415].includes(answer.status))
  if (isReadable) assert.deepEqual(answer.json, { id: headerNamed(headers, 'webhook-id') })
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return true
  } catch {
    return false
  }
}

function headerNamed(headers: Record<string, string>, name: string): string {
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)
  return found?.[1] ?? ''
}

/** The line's moment becomes this one: the time moves, and what was rightly signed is so again. */
function shiftedToNow(line: SignedLine, body: Buffer): Record<string, string> {
  const id = headerNamed(line.headers, 'webhook-id')
  const time = headerNamed(line.headers, 'webhook-timestamp')
  const signed = (stamp: string) => {
    const key = Buffer.from(line.secret.replace(/^whsec_/, ''), 'base64')
    return createHmac('sha256', key).update(`${id}.${stamp}.`).update(body).digest('base64')
  }
  const moved = time.replace(/^\d+/, digits => movedTime(Number(digits), line))
  return Object.fromEntries(
    Object.entries(line.headers).map(([name, value]) => {
      if (value === time) return [name, moved]
      return [name, value.replaceAll(signed(time), signed(moved))]
    }),
  )
}

/** Seconds are left where a case stands at the edge of the tolerance: a host may be slow. */
function movedTime(at: number, { now, valid }: SignedLine): string {
  if (at > 1e12) return String(at + (nowSeconds() - now) * 1000)
  const distance = at - now
  const kept = valid ? Math.max(-290, Math.min(290, distance)) : distance * 1.02
  return String(Math.round(nowSeconds() + kept))
}

/** A webhook source with its own scene, and the provider that calls it without a key of ours. */
async function makeSource(api: Api, name: string, verification: object, more: object = {}) {
  const s = createScene(api, name)
  await api.ok('PUT', `/v1/sources/${s.agent}`, { kind: 'webhook', verification, ...more })
  const on = { sources: [`/webhooks/${s.agent}`] }
  const subscription = await s.subscribe(undefined, { on })
  const deliver = (headers: Record<string, string>, body: string | Buffer) =>
    api
      .as('')
      .call('POST', `/v1/webhooks/${s.agent}`, { headers: { ...JSON_TYPE, ...headers }, body })
  return { s, subscription, deliver }
}

function githubCases(world: GetWorld): void {
  it('github: the delivery id is the event, a redelivery is a repeat', async () => {
    const { s, subscription, deliver } = await makeSource(world().api, 'github', {
      scheme: 'github',
      secret: SECRET,
    })
    const body = JSON.stringify({ action: 'opened', number: 7 })
    const headers = {
      'x-hub-signature-256': `sha256=${hex(body)}`,
      'x-github-delivery': randomUUID(),
      'x-github-event': 'issues',
    }
    assertProblem(
      await deliver({ ...headers, 'x-hub-signature-256': '' }, body),
      401,
      'bad-signature',
    )
    assertProblem(await deliver(headers, `${body} `), 401, 'bad-signature')
    const first = await deliver(headers, body)
    assert.equal(first.status, 202, first.text)
    assert.deepEqual(first.json, { id: headers['x-github-delivery'] })
    const again = await deliver(headers, body)
    assert.deepEqual([again.status, again.json], [202, first.json])
    const { message } = await s.take()
    const [event] = message.events
    assert.equal(event?.source, `/webhooks/${s.agent}`)
    assert.equal(event?.type, `webhook.${s.agent}`)
    assert.deepEqual(event?.data, { action: 'opened', number: 7 })
    const marker = await deliver({ ...headers, 'x-github-delivery': 'marker' }, body)
    assert.equal(marker.status, 202)
    await s.api.decision(subscription.id, 'marker', 'delivered')
    assert.equal((await s.api.messages(s.agent)).length, 2)
  })
}

function stripeAndSlackCases(world: GetWorld): void {
  it('stripe: the event id of the body is the delivery id', async () => {
    const { s, subscription, deliver } = await makeSource(world().api, 'stripe', {
      scheme: 'stripe',
      secret: SECRET,
    })
    const body = JSON.stringify({ id: 'evt_1', type: 'charge.failed' })
    const at = nowSeconds()
    const sign = (t: number) => ({ 'stripe-signature': `t=${t},v1=${hex(`${t}.${body}`)},v0=00` })
    assertProblem(await deliver(sign(at - 400), body), 401, 'bad-signature')
    const answer = await deliver(sign(at), body)
    assert.deepEqual([answer.status, answer.json], [202, { id: 'evt_1' }])
    assert.equal((await s.api.decision(subscription.id, 'evt_1')).fate, 'delivered')
  })

  it('slack: signed, and the verification challenge is answered only when it is', async () => {
    const { s, subscription, deliver } = await makeSource(world().api, 'slack', {
      scheme: 'slack',
      secret: SECRET,
    })
    const sign = (body: string) => {
      const t = String(nowSeconds())
      return {
        'x-slack-request-timestamp': t,
        'x-slack-signature': `v0=${hex(`v0:${t}:${body}`)}`,
      }
    }
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c-1' })
    const shaken = await deliver(sign(challenge), challenge)
    assert.deepEqual([shaken.status, shaken.json], [200, { challenge: 'c-1' }])
    assertProblem(await deliver(sign('{}'), challenge), 401, 'bad-signature')
    const body = JSON.stringify({ type: 'event_callback', event_id: 'Ev1', event: { text: 'hi' } })
    assert.deepEqual((await deliver(sign(body), body)).json, { id: 'Ev1' })
    assert.equal((await s.api.decision(subscription.id, 'Ev1')).fate, 'delivered')
  })
}

function genericCases(world: GetWorld): void {
  it('hmac: header, algorithm, encoding, prefix and time as configured', async () => {
    const verification = {
      ...{ scheme: 'hmac', secret: SECRET, header: 'X-Sig', algorithm: 'sha512' },
      ...{ encoding: 'base64', prefix: 'v=', timestampHeader: 'x-time' },
    }
    const { s, subscription, deliver } = await makeSource(world().api, 'hmac', verification, {
      map: { id: 'body.n' },
    })
    const body = JSON.stringify({ n: 42 })
    const t = String(nowSeconds())
    const digest = createHmac('sha512', SECRET).update(`${t}.${body}`).digest('base64')
    assertProblem(await deliver({ 'x-sig': `v=${digest}` }, body), 401, 'bad-signature')
    const answer = await deliver({ 'x-sig': `v=${digest}`, 'x-time': t }, body)
    assert.deepEqual([answer.status, answer.json], [202, { id: '42' }])
    assert.equal((await s.api.decision(subscription.id, '42')).fate, 'delivered')
  })

  it('bearer: the token of the environment; the body names the id', async () => {
    const verification = { scheme: 'bearer', secret: 'env:E2E_WEBHOOK_SECRET' }
    const { s, subscription, deliver } = await makeSource(world().api, 'bearer', verification)
    assertProblem(await deliver({ authorization: 'Bearer wrong' }, '{}'), 401, 'bad-signature')
    const headers = { authorization: 'Bearer from-env' }
    const first = await deliver(headers, '{"a":1,"b":2}')
    assert.equal(first.status, 202, first.text)
    const { id } = first.json as { id: string }
    const otherSpelling = await deliver(headers, '{ "b": 2, "a": 1 }')
    assert.equal((otherSpelling.json as { id: string }).id, id)
    assert.equal((await s.api.decision(subscription.id, id)).fate, 'delivered')
    await s.api.decision(
      subscription.id,
      ((await deliver(headers, '{}')).json as { id: string }).id,
    )
    assert.equal((await s.api.messages(s.agent)).length, 2)
  })

  it('a rightly signed body that cannot be read is 400, a wrong signature first 401', async () => {
    const { deliver } = await makeSource(world().api, 'unreadable', {
      scheme: 'github',
      secret: SECRET,
    })
    const body = '{"a":'
    const right = { 'x-hub-signature-256': `sha256=${hex(body)}` }
    assertProblem(await deliver({ 'x-hub-signature-256': 'sha256=00' }, body), 401, 'bad-signature')
    assertProblem(await deliver(right, body), 400, 'bad-json')
  })
}

function mappingCases(world: GetWorld): void {
  it('the mapping gives type, subject, id and dedupkey', async () => {
    const s = createScene(world().api, 'map')
    const map = {
      type: '"shop." + body.kind',
      subject: 'body.customer.id',
      id: 'string(body.n)',
      dedupKey: 'body.order',
    }
    await s.api.ok('PUT', `/v1/sources/${s.agent}`, { kind: 'webhook', verification: bearer, map })
    const on = { sources: [`/webhooks/${s.agent}`], types: ['shop.*'] }
    const subscription = await s.subscribe(undefined, { on })
    const send = (n: number) =>
      s.api.call('POST', `/v1/webhooks/${s.agent}`, {
        headers,
        body: { kind: 'paid', customer: { id: 'ana' }, n, order: 'o-7' },
      })
    assert.deepEqual((await send(1)).json, { id: '1' })
    assert.deepEqual((await send(2)).json, { id: '2' })
    const { message } = await s.take()
    const [event] = message.events
    assert.deepEqual(
      [event?.type, event?.subject, event?.id, event?.dedupkey],
      ['shop.paid', 'ana', '1', 'o-7'],
    )
    assert.equal((await s.api.decision(subscription.id, '2')).fate, 'duplicate')
  })

  it('a mapping that cannot be compiled is refused when it is written', async () => {
    const body = { kind: 'webhook', verification: bearer, map: { type: 'body.' } }
    const answer = await world().api.call('PUT', '/v1/sources/bad-map', { body })
    assert.equal(assertProblem(answer, 422, 'invalid').pointer, '/map/type')
  })

  it('a source without verification is refused, and secrets are not shown', async () => {
    const { api } = world()
    const none = { kind: 'webhook', verification: { scheme: 'none' } }
    const refused = await api.call('PUT', '/v1/sources/open', { body: none })
    assert.equal(assertProblem(refused, 422, 'invalid').pointer, '/verification/scheme')
    const name = createScene(api, 'hidden').agent
    const put = await api.call('PUT', `/v1/sources/${name}`, {
      body: { kind: 'webhook', verification: bearer },
    })
    assert.equal(put.status, 200, put.text)
    const lists = [
      put,
      await api.call('GET', `/v1/sources/${name}`),
      await api.call('GET', '/v1/sources?limit=200'),
    ]
    for (const { text } of lists) assert.ok(!text.includes(SECRET), text)
  })
}

function doorCases(world: GetWorld): void {
  it('the CloudEvents handshake is answered, an unknown source is 404', async () => {
    const { api } = world()
    const name = createScene(api, 'shake').agent
    await api.ok('PUT', `/v1/sources/${name}`, {
      ...{ kind: 'webhook', verification: bearer },
      rateLimit: { perSecond: 2, burst: 2 },
    })
    const shaken = await api.call('OPTIONS', `/v1/webhooks/${name}`, {
      headers: { 'webhook-request-origin': 'events.example.com' },
    })
    assert.equal(shaken.status, 200)
    assert.equal(shaken.headers['webhook-allowed-origin'], 'events.example.com')
    assert.equal(shaken.headers['webhook-allowed-rate'], '120')
    const unknown = await api.call('POST', '/v1/webhooks/nobody', { headers, body: '{}' })
    assertProblem(unknown, 404, 'not-found')
  })

  it('above the rate of a source the answer is 429 with Retry-After', async () => {
    const { api } = world()
    const name = createScene(api, 'rated').agent
    await api.ok('PUT', `/v1/sources/${name}`, {
      ...{ kind: 'webhook', verification: bearer },
      rateLimit: { perSecond: 0.1, burst: 2 },
    })
    const deliver = (n: number) =>
      api.call('POST', `/v1/webhooks/${name}`, { headers, body: { n } })
    assert.deepEqual([(await deliver(1)).status, (await deliver(2)).status], [202, 202])
    const refused = await deliver(3)
    assertProblem(refused, 429, 'rate-limited')
    assert.ok(Number(refused.headers['retry-after']) >= 1)
  })
}
