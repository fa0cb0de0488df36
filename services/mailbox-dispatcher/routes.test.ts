import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { Principal } from '#kernel/domain/principal.ts'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import { AGENT, messageNamed, TENANT } from '#test/support/mailbox-bench.ts'
import { type MailboxTestWorld, openMailboxWorld } from '#test/support/mailbox-world.ts'
import { mailboxRoutes } from './routes.ts'

const KEYS: Record<string, Principal> = {
  admin: { tenant: TENANT, kind: 'person', id: 'ana', roles: ['admin'] },
  agent: { tenant: TENANT, kind: 'agent', id: AGENT, roles: [] },
  other: { tenant: TENANT, kind: 'agent', id: 'other', roles: [] },
  viewer: { tenant: TENANT, kind: 'person', id: 'eve', roles: ['viewer'] },
  stranger: { tenant: 'foreign', kind: 'person', id: 'ana', roles: ['admin'] },
}

let app: FastifyInstance
let world: MailboxTestWorld

before(async () => {
  world = await openMailboxWorld()
  app = fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler((error, _request, reply) => {
    if (!isAmbitError(error)) return reply.code(422).send({ code: 'invalid' })
    return reply.code(error.status).send({ code: error.code, ...error.facts.extra })
  })
  const authenticate = async ({ headers }: { headers: { authorization?: string } }) => {
    const by = KEYS[headers.authorization ?? '']
    if (by) return by
    throw new AmbitError('unauthenticated', 'Expected a key.')
  }
  await app.register(mailboxRoutes, { mailbox: world.mailbox, authenticate })
})
after(async () => {
  await app.close()
  await world.stop()
})

const post = async (url: string, payload: object, authorization = 'agent') => {
  const response = await app.inject({ method: 'POST', url, payload, headers: { authorization } })
  return { status: response.statusCode, body: response.json() }
}
const claim = (by?: string) => post(`/v1/mailboxes/${AGENT}/claim`, { executor: 'w' }, by)

describe('the mailbox routes', () => {
  it('claims, renews, completes; a second completing answers the stored result', async () => {
    await world.deliver(messageNamed('r1'))
    const claimed = await claim()
    assert.equal(claimed.status, 200)
    const [{ message, lease, attempt }] = claimed.body.items
    assert.equal(message.id, 'r1')
    assert.equal(attempt, 1)
    const { handle } = lease
    const renewed = await post('/v1/messages/r1/renew', { handle, leaseMs: 5000 })
    assert.equal(renewed.body.lease.token, lease.token)
    const effect = { tool: 'look', class: 'read' }
    const allowed = await post('/v1/messages/r1/authorize', { handle, effect })
    assert.equal(allowed.body.reason, 'subscription-unknown')
    const result = { ok: true, stopReason: 'end-turn', output: { text: 'done' } }
    const done = await post('/v1/messages/r1/complete', { handle, result })
    assert.equal(done.body.state, 'done')
    assert.deepEqual((await post('/v1/messages/r1/complete', { handle, result })).body, done.body)
    assert.equal((await post('/v1/messages/r1/renew', { handle })).body.code, 'stale-lease')
  })

  it('an agent works its own mailbox only; others need the permission', async () => {
    assert.equal((await claim('other')).status, 403)
    assert.equal((await claim('viewer')).status, 403)
    assert.equal((await claim('nobody')).status, 401)
    assert.deepEqual((await claim('stranger')).body, { items: [] })
    const cancel = await post('/v1/messages/r1/cancel', {}, 'agent')
    assert.equal(cancel.status, 403)
  })

  it('refuses unknown members, wrong bounds and foreign handles', async () => {
    const url = `/v1/mailboxes/${AGENT}/claim`
    for (const body of [{}, { executor: 'w', max: 101 }, { executor: 'w', extra: 1 }]) {
      assert.equal((await post(url, body)).status, 422)
    }
    const complete = { handle: 'x.y', result: { ok: true, stopReason: 'end-turn' } }
    const refused = await post('/v1/messages/r1/complete', complete)
    assert.deepEqual([refused.status, refused.body.code], [403, 'bad-handle'])
  })
})

describe('the mailbox routes, for people', () => {
  it('takes turns, fails, redrives, cancels, asks and answers', async () => {
    const turn = { session: 'chat', kind: 'turn', input: { text: 'hello' } }
    const url = `/v1/mailboxes/${AGENT}/continuations`
    assert.equal((await post(url, turn, 'agent')).status, 403)
    const taken = await post(url, turn, 'admin')
    assert.equal(taken.status, 202)
    const id: string = taken.body.id
    await world.clock.advance(500)
    const [{ lease }] = (await claim()).body.items
    const failure = { handle: lease.handle, error: { message: 'broken' }, retryable: false }
    assert.equal((await post(`/v1/messages/${id}/fail`, failure)).body.state, 'dead')
    assert.equal((await post(`/v1/messages/${id}/redrive`, {}, 'admin')).body.state, 'queued')
    const [{ lease: next }] = (await claim()).body.items
    const question = { handle: next.handle, question: 'Shall I?', options: ['yes', 'no'] }
    const { approvalId } = (await post(`/v1/messages/${id}/ask`, question)).body
    const answer = { decision: 'respond', text: 'yes' }
    const answered = await post(`/v1/approvals/${approvalId}`, answer, 'admin')
    assert.equal(answered.status, 200)
    assert.equal((await post(`/v1/approvals/${approvalId}`, answer, 'stranger')).status, 404)
    await world.clock.advance(500)
    const cancelled = await post(`/v1/messages/${answered.body.messageId}/cancel`, {}, 'admin')
    assert.equal(cancelled.body.state, 'cancelled')
  })
})
