import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, it } from 'node:test'
import { Registry } from 'prom-client'
import { systemClock, systemIds } from '#kernel/adapters/system/system-clock.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { createHttpApp, type HttpApp } from '#kernel/host/http-app.ts'
import { type LiveTables, openLiveTables } from '#kernel/host/live-tables.ts'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { DeadLetter } from '#schemas/generated/records.ts'
import {
  anEvent,
  candidateRecord,
  codec,
  decisionRecord,
  eventRecord,
  type HappenedWorld,
  logRecord,
  messageRecord,
  noticeRecord,
  openHappenedWorld,
  SOURCE,
  subscriptionRecord,
  TENANT,
} from '#test/support/happened-world.ts'
import type { Explanation } from '../read-model/explain-pair.ts'
import { webRoutes } from './web-routes.ts'
import { whatHappenedRoutes } from './what-happened-routes.ts'

const ROLES: Record<string, Principal> = {
  admin: { tenant: TENANT, kind: 'person', id: 'ana', roles: ['admin'] },
  viewer: { tenant: TENANT, kind: 'person', id: 'eve', roles: ['viewer'] },
  stranger: { tenant: 'other', kind: 'person', id: 'bob', roles: ['admin'] },
  triage: { tenant: TENANT, kind: 'agent', id: 'triage', roles: [] },
  planner: { tenant: TENANT, kind: 'agent', id: 'planner', roles: [] },
}

let world: HappenedWorld
let tables: LiveTables
let app: HttpApp
const redriven: DeadLetter[] = []

beforeEach(async () => {
  world = await openHappenedWorld()
  const { log, model } = world
  const clock = systemClock
  tables = await openLiveTables({ log, codec, clock, topics: ['subscriptions', 'policies'] })
  app = await createHttpApp({
    ...{ logger: silentLogger, ids: systemIds, metrics: new Registry(), ratePerSecond: 0 },
    notReady: () => [],
  })
  const mark = (tenant: string, kind: string, id: string, doc: object) =>
    log
      .append([
        logRecord('policies', `${tenant}/${kind}/${id}`, {
          ...{ tenant, kind, id, version: 1, deleted: false, updatedAt: Date.now(), doc },
        }),
      ])
      .then(() => {})
  whatHappenedRoutes(app, {
    ...{ model, tables, clock, logger: silentLogger, directory: createDirectory(tables) },
    authenticate: async request => {
      const found = ROLES[request.headers.authorization?.replace('Bearer ', '') ?? '']
      if (found) return found
      throw new AmbitError('unauthenticated', 'Send a key.')
    },
    acknowledge: (tenant, id, by) => mark(tenant, 'notice-ack', id, { by: by.id }),
    recordErasure: (tenant, { source, id }, by) =>
      mark(tenant, 'event-erasure', id, { source, eventId: id, by: by.id }),
    redrive: async letter => void redriven.push(letter),
    answerAsk: async () => {},
    system: async () => ({ planes: {} }),
    operatorTenant: TENANT,
  })
  webRoutes(app)
})

afterEach(async () => {
  redriven.length = 0
  await app.close()
  await tables.stop()
  await world.stop()
})

const append = (...records: OutgoingRecord[]) => world.log.append(records)

async function call(
  url: string,
  { as = 'admin', method = 'GET' as 'GET' | 'POST' | 'DELETE' } = {},
) {
  const answer = await app.inject({ method, url, headers: { authorization: `Bearer ${as}` } })
  const isJson = /json/.test(String(answer.headers['content-type']))
  return { status: answer.statusCode, headers: answer.headers, body: isJson ? answer.json() : {} }
}

const path = (name: string, query: Record<string, string>) =>
  `/v1/${name}?${new URLSearchParams(query)}`

async function explain(subscription: string, id: string): Promise<Explanation> {
  const { status, body } = await call(path('explain', { source: SOURCE, id, subscription }))
  assert.equal(status, 200)
  return body
}

const outcomes = ({ steps }: Explanation) =>
  Object.fromEntries(steps.map(({ step, outcome }) => [step, outcome]))

it('answers what was appended before the question', async () => {
  await append(decisionRecord(anEvent('e1'), 's1'))
  const { body } = await call(
    path('decisions', { subscription: 's1', since: '2020-01-01T00:00:00Z' }),
  )
  assert.equal(body.items[0].event.id, 'e1')
  assert.equal(body.next, null)
})

it('refuses what it does not know instead of answering something else', async () => {
  assert.equal((await call('/v1/decisions?limit=201')).status, 422)
  assert.equal((await call('/v1/decisions?fate=happy')).status, 422)
  assert.equal((await call('/v1/decisions?subscripton=s1')).status, 422)
  assert.equal((await call('/v1/decisions?cursor=abc')).status, 400)
  assert.equal((await call('/v1/decisions', { as: 'nobody' })).status, 401)
  assert.equal((await call('/v1/decisions', { as: 'triage' })).status, 403)
})

it('explains a pair that never matched by the filter that failed (26)', async () => {
  const filters: Subscription['filters'] = [
    { prefix: { type: 'com.shop' } },
    { exact: { 'data.language': 'es' } },
    { cel: 'data.total > 100.0' },
  ]
  await append(subscriptionRecord('s1', { filters }), eventRecord(anEvent('e1')))
  const found = await explain('s1', 'e1')
  assert.equal(found.fired, false)
  assert.equal(found.fate, null)
  assert.deepEqual(outcomes(found), {
    event: 'passed',
    lifecycle: 'passed',
    startsAt: 'passed',
    'on.types': 'passed',
    'on.sources': 'passed',
    'filters/0': 'passed',
    'filters/1': 'failed',
    'filters/2': 'failed',
  })
  const failing = found.steps.find(({ step }) => step === 'filters/1')
  assert.deepEqual(failing?.expected, { exact: { 'data.language': 'es' } })
  assert.deepEqual(failing?.actual, { 'data.language': null })
})

it('explains by trigger, start and lifecycle, and says when there was no event', async () => {
  const on = { types: ['other.*'], sources: ['/shop/*'] }
  const startsAt = { 'ingress.platform': [5, 5] }
  await append(subscriptionRecord('s1', { on, startsAt }), eventRecord(anEvent('e1')))
  const steps = outcomes(await explain('s1', 'e1'))
  assert.equal(steps['on.types'], 'failed')
  assert.equal(steps['on.sources'], 'passed')
  assert.equal(steps.startsAt, 'failed')
  assert.equal(outcomes(await explain('s1', 'never')).event, 'failed')
  const missing = await call(path('explain', { source: SOURCE, id: 'e1', subscription: 's9' }))
  assert.equal(missing.status, 404)
})

it('explains a decided pair stage by stage, and only a delivery has fired', async () => {
  const [held, cooled, woke] = ['held', 'cooled', 'woke'].map(id => anEvent(id))
  assert.ok(held && cooled && woke)
  const condition = { criterion: 'a refund', minConfidence: 0.7, scope: 'each' as const }
  await append(
    subscriptionRecord('s1', { condition }),
    ...[held, cooled, woke].map(event => eventRecord(event)),
    candidateRecord(held, 's1', {}, 'evaluations'),
    candidateRecord(cooled, 's1'),
    decisionRecord(cooled, 's1', {
      fate: 'cooldown',
      stage: 'cooldown',
      reason: 'inside-cooldown',
      details: { cooldownMs: 600_000, until: 'later' },
    }),
    decisionRecord(woke, 's1'),
  )
  const waiting = await explain('s1', 'held')
  assert.equal(waiting.fate, 'held')
  assert.equal(outcomes(waiting).condition, 'waiting')
  const stopped = await explain('s1', 'cooled')
  assert.equal(stopped.fired, false)
  const last = stopped.steps.at(-1)
  assert.deepEqual([last?.step, last?.outcome], ['cooldown', 'failed'])
  assert.equal(last?.expected, '600 s since the last delivery')
  assert.deepEqual(last?.actual, { fate: 'cooldown', cooldownMs: 600_000, until: 'later' })
  assert.doesNotMatch(JSON.stringify(stopped.steps), /no objection/)
  assert.equal(outcomes(stopped).budget, 'passed')
  const fired = await explain('s1', 'woke')
  assert.equal(fired.fired, true)
  assert.equal(fired.messageId, 'm-woke')
  assert.ok(fired.steps.every(({ outcome }) => outcome === 'passed' || outcome === 'skipped'))
})

it('acknowledges a notice once, and only in its tenant', async () => {
  await append(noticeRecord('n1'))
  assert.equal((await call('/v1/notices/n1/ack', { method: 'POST', as: 'stranger' })).status, 404)
  const first = await call('/v1/notices/n1/ack', { method: 'POST' })
  assert.ok(first.body.ackAt)
  const second = await call('/v1/notices/n1/ack', { method: 'POST', as: 'viewer' })
  assert.equal(second.body.ackAt, first.body.ackAt)
  assert.equal((await call('/v1/notices')).body.items[0].ackAt, first.body.ackAt)
})

it('redrives the original record of a dead letter', async () => {
  const letter: DeadLetter = {
    ...{ id: 'd1', tenant: null, topic: 'ingress.ext.local', partition: 0, offset: 3 },
    ...{ key: null, value: Buffer.from('{'), headers: { a: Buffer.from('b') } },
    ...{ code: 'bad-json', reason: 'no JSON', at: Date.now() },
  }
  await append(logRecord('deadletter', 'd1', letter))
  const { body } = await call('/v1/deadletter')
  assert.equal(body.items[0].code, 'bad-json')
  assert.deepEqual((await call('/v1/deadletter', { as: 'stranger' })).body.items, [])
  const redrive = '/v1/deadletter/d1/redrive'
  assert.equal((await call(redrive, { method: 'POST', as: 'viewer' })).status, 403)
  assert.equal((await call(redrive, { method: 'POST' })).status, 202)
  assert.deepEqual(redriven[0]?.value, letter.value)
  assert.ok((await call('/v1/deadletter')).body.items[0].redrivenAt)
})

it('shows history without secrets, and audit with refusals', async () => {
  const entry = {
    ...{ tenant: TENANT, kind: 'subscription', id: 's1', version: 1, action: 'create' },
    ...{ by: ROLES.admin, reason: '', outcome: 'applied', changeId: 'c1', at: Date.now() },
    changes: [{ pointer: '/secretHash', after: 'abc' }],
  }
  const refused = { ...entry, changeId: 'c2', outcome: 'refused', changes: [] }
  await append(
    logRecord('audit', 'c1', entry),
    logRecord('audit', 'c2', refused),
    subscriptionRecord('s1'),
  )
  const history = await call('/v1/subscriptions/s1/history')
  assert.deepEqual(
    history.body.items.map(({ changes }: { changes: unknown }) => changes),
    [[{ pointer: '/secretHash', after: '(hidden)' }]],
  )
  assert.equal((await call('/v1/audit?kind=subscription')).body.items.length, 2)
  assert.equal((await call('/v1/subscriptions/s9/history')).status, 404)
})

it('lets an agent see its own mailbox only', async () => {
  await append(messageRecord(anEvent('e1')))
  const mailbox = '/v1/mailboxes/triage/messages'
  assert.equal((await call(mailbox, { as: 'triage' })).body.items.length, 1)
  assert.equal((await call(mailbox, { as: 'planner' })).status, 403)
  assert.equal((await call('/v1/messages/m-e1', { as: 'planner' })).status, 403)
  assert.equal((await call('/v1/messages/m-e1', { as: 'stranger' })).status, 404)
  assert.equal((await call('/v1/messages/m-e1', { as: 'triage' })).body.agent, 'triage')
  assert.equal((await call('/v1/mailboxes')).body.items[0].messages.queued, 1)
})

it('lists subscriptions that wait for approval', async () => {
  const { state } = subscription('s1')
  await append(subscriptionRecord('s1', { state: { ...state, approval: 'pending' } }))
  const { items } = (await call('/v1/approvals')).body
  assert.deepEqual([items[0].kind, items[0].id], ['subscription', 's1'])
})

it('erases an event for who may, and keeps its fates', async () => {
  const event = anEvent('e1')
  await append(eventRecord(event), decisionRecord(event, 's1'), messageRecord(event))
  const url = path('events', { source: SOURCE, id: 'e1' })
  assert.equal((await call(url, { method: 'DELETE', as: 'viewer' })).status, 403)
  assert.equal((await call(url, { method: 'DELETE' })).status, 204)
  assert.equal((await call(url, { method: 'DELETE' })).status, 204)
  const message = (await call('/v1/messages/m-e1')).body
  assert.equal('data' in message.events[0], false)
  const trace = (await call(path('traces', { source: SOURCE, id: 'e1' }))).body
  assert.equal('data' in trace.event, false)
  assert.ok(trace.hops.some(({ hop }: { hop: string }) => hop === 'decided'))
  const unknown = path('events', { source: SOURCE, id: 'e9' })
  assert.equal((await call(unknown, { method: 'DELETE' })).status, 404)
})

it('streams decisions, notices and mailbox changes of its tenant as they happen', async () => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const headers = { authorization: 'Bearer viewer' }
  const response = await fetch(`http://127.0.0.1:${port}/v1/stream`, { headers })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  assert.ok(response.body)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const until = async (pattern: RegExp) => {
    let text = ''
    while (!pattern.test(text)) text += (await reader.read()).value ?? assert.fail('ended')
    return text
  }
  await until(/^: beat/)
  const event = anEvent('e1')
  await append(
    decisionRecord(anEvent('secret'), 's1', { tenant: 'other' }),
    noticeRecord('n1'),
    messageRecord(event),
    decisionRecord(event, 's1'),
  )
  const text = await until(/event: decision[\s\S]*\n\n/)
  assert.match(text + (text.includes('mailbox') ? '' : await until(/mailbox/)), /event: mailbox/)
  assert.doesNotMatch(text, /secret/)
  await reader.cancel()
})

it('serves the page with a policy that allows nothing inline', async () => {
  const page = await app.inject({ url: '/' })
  assert.equal(page.statusCode, 200)
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
  assert.equal(page.headers['x-content-type-options'], 'nosniff')
  assert.doesNotMatch(page.body, /<script>|style="|\son\w+="/)
  const script = await app.inject({ url: '/app.js' })
  assert.match(String(script.headers['content-type']), /javascript/)
  assert.doesNotMatch(script.body, /innerHTML|insertAdjacentHTML|document\.write/)
  assert.equal((await app.inject({ url: '/style.css' })).statusCode, 200)
})

function subscription(id: string): Subscription {
  const record = subscriptionRecord(id)
  assert.ok(record.value)
  return codec.decode('table-document', record.value).doc as Subscription
}
