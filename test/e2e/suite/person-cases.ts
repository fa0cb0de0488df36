/** What people and runs say to each other: questions, answers, turns, effects. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from '#services/client/api.ts'
import { eventually } from '#test/support/api-caller.ts'
import { assertProblem, createScene, type GetWorld, type Scene } from './scene.ts'

type MakeScene = (name: string) => Scene

export function personCases(world: GetWorld): void {
  const scene: MakeScene = name => createScene(world().api, name)
  describe('effects and questions', () => {
    authorizeCases(scene)
    askCases(scene)
  })
  describe('continuations', () => continuationCases(scene))
}

function authorizeCases(scene: MakeScene): void {
  it('an effect is allowed under the current policy, and not after a pause', async () => {
    const s = scene('authorize')
    const subscription = await s.subscribe()
    await s.send()
    const { message, lease } = await s.take()
    const ask = (effect: Record<string, unknown>) =>
      s.api.ok<{ allowed: boolean; reason: string }>(
        'POST',
        `/v1/messages/${message.id}/authorize`,
        { handle: lease.handle, effect },
      )
    for (const each of ['read', 'write', 'sensitive']) {
      assert.deepEqual(await ask({ tool: 'crm', class: each }), {
        ...{ allowed: true, reason: 'allowed' },
      })
    }
    const path = `/v1/subscriptions/${subscription.id}`
    await s.api.ok('POST', `${path}/pause`, { reason: 'check' })
    const refused = await ask({ tool: 'crm', class: 'read' })
    assert.deepEqual(refused, { allowed: false, reason: 'subscription-paused' })
    await s.api.ok('POST', `${path}/resume`, {})
    assert.equal((await ask({ tool: 'crm', class: 'write' })).allowed, true)
    await s.api.complete({ message, lease, attempt: 1 })
    const late = await s.api.call('POST', `/v1/messages/${message.id}/authorize`, {
      body: { handle: lease.handle, effect: { tool: 'crm', class: 'read' } },
    })
    assertProblem(late, 409, 'stale-lease')
  })

  it('a way out needs a yes where private data meets untrusted content', async () => {
    const s = scene('egress')
    await s.subscribe(undefined, { onBehalfOf: 'user:ana' })
    await s.send()
    const { message, lease } = await s.take()
    const effect = { tool: 'mail', class: 'write', egress: true, target: 'bo@example.com' }
    const answer = await s.api.ok('POST', `/v1/messages/${message.id}/authorize`, {
      ...{ handle: lease.handle, effect },
    })
    assert.deepEqual(answer, { allowed: false, reason: 'approval-needed' })
    const { approvalId } = await s.api.ok<{ approvalId: string }>(
      'POST',
      `/v1/messages/${message.id}/ask`,
      { handle: lease.handle, question: 'May I?', effect: { tool: 'mail', target: effect.target } },
    )
    await s.api.ok('POST', `/v1/approvals/${approvalId}`, { decision: 'accept' })
    const next = await s.take()
    const allowed = await s.api.ok<{ allowed: boolean }>(
      'POST',
      `/v1/messages/${next.message.id}/authorize`,
      { handle: next.lease.handle, effect },
    )
    assert.equal(allowed.allowed, true)
  })
}

function askCases(scene: MakeScene): void {
  it('a question ends the lease, and its answer comes back as a continuation', async () => {
    const s = scene('ask')
    const subscription = await s.subscribe()
    await s.send()
    const item = await s.take()
    const { message, lease } = item
    const body = { handle: lease.handle, question: 'Refund 20 €?', options: ['yes', 'no'] }
    const asked = await s.api.ok<{ approvalId: string }>(
      'POST',
      `/v1/messages/${message.id}/ask`,
      body,
    )
    const again = await s.api.ok<{ approvalId: string }>(
      'POST',
      `/v1/messages/${message.id}/ask`,
      body,
    )
    assert.equal(again.approvalId, asked.approvalId)
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 0 }), [])
    const { run } = await s.api.ok<{ run: object }>('GET', `/v1/messages/${message.id}`)
    assert.ok(!('approval' in run), 'the question is at /v1/approvals, not in the run')
    await eventually('the question in the list', async () => {
      const { items } = await s.api.ok<Page<{ id: string }>>('GET', '/v1/approvals?limit=200')
      return items.find(({ id }) => id === asked.approvalId)
    })
    const path = `/v1/approvals/${asked.approvalId}`
    await s.api.ok('POST', path, { decision: 'respond', text: 'Only 10 €' })
    await s.api.ok('POST', path, { decision: 'respond', text: 'Only 10 €' })
    assertProblem(await s.api.call('POST', path, { body: { decision: 'ignore' } }), 409, 'conflict')
    const { message: answer } = await s.take()
    assert.equal(answer.kind, 'continuation')
    assert.equal(answer.subscription?.id, subscription.id)
    const input = answer.input as Record<string, unknown>
    assert.deepEqual(
      [input.kind, input.decision, input.text, input.approvalId],
      ['answer', 'respond', 'Only 10 €', asked.approvalId],
    )
    assert.equal((await s.api.messages(s.agent)).length, 2)
    const { items } = await s.api.ok<Page<{ id: string }>>('GET', '/v1/approvals?limit=200')
    assert.ok(!items.some(({ id }) => id === asked.approvalId), 'answered ones wait no more')
  })

  it('nobody answers what nobody asked', async () => {
    const answer = await scene('unasked').api.call('POST', '/v1/approvals/a_none', {
      body: { decision: 'accept' },
    })
    assertProblem(answer, 404, 'not-found')
  })
}

function continuationCases(scene: MakeScene): void {
  it("a person's turn wakes the agent in its session, once per Idempotency-Key", async () => {
    const s = scene('turn')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, {})
    const body = { session: 'chat-1', kind: 'turn', input: { text: 'hello' } }
    const headers = { 'idempotency-key': 'turn-1' }
    const path = `/v1/mailboxes/${s.agent}/continuations`
    const first = await s.api.call('POST', path, { body, headers })
    const second = await s.api.call('POST', path, { body, headers })
    assert.deepEqual([first.status, second.status], [202, 202], first.text)
    assert.deepEqual(second.json, first.json)
    const { message } = await s.take()
    assert.equal(message.id, first.json.id)
    assert.deepEqual([message.kind, message.session], ['continuation', 'chat-1'])
    assert.equal((await s.api.messages(s.agent)).length, 1)
  })

  it('a follow-up needs the handle that opened the session', async () => {
    const s = scene('follow-up')
    await s.subscribe(undefined, { session: 'flow-1' })
    await s.send()
    const item = await s.take()
    const path = `/v1/mailboxes/${s.agent}/continuations`
    const body = { session: 'flow-1', kind: 'follow-up', input: { done: true } }
    assertProblem(await s.api.call('POST', path, { body }), 403, 'bad-handle')
    const { handle } = item.lease
    const elsewhere = { ...body, session: 'flow-2', handle }
    assertProblem(await s.api.call('POST', path, { body: elsewhere }), 403, 'bad-handle')
    await s.api.complete(item)
    const sent = await s.api.call('POST', path, { body: { ...body, handle } })
    assert.equal(sent.status, 202, sent.text)
    const { message } = await s.take()
    assert.equal(message.id, sent.json.id)
    assert.deepEqual((message.input as { input: unknown }).input, { done: true })
  })

  it('an agent cannot take a turn', async () => {
    const s = scene('agent-turn')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, {})
    const { key } = await s.api.ok<{ key: string }>('POST', '/v1/keys', {
      principal: { kind: 'agent', id: s.agent },
    })
    const body = { session: 'x', kind: 'turn', input: 1 }
    const path = `/v1/mailboxes/${s.agent}/continuations`
    assertProblem(await s.api.as(key).call('POST', path, { body }), 403, 'forbidden')
  })
}
