/** Leases, settling, fencing, retries and sessions. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Message } from '#services/client/api-mailbox.ts'
import { type Api, eventually } from '#test/support/api-caller.ts'
import { assertProblem, createScene, type GetWorld, type Scene } from './scene.ts'

type MakeScene = (name: string) => Scene

const RESULT = { ok: true, stopReason: 'end_turn' }

export function mailboxCases(world: GetWorld): void {
  const scene: MakeScene = name => createScene(world().api, name)
  describe('leases', () => {
    leaseCases(scene)
    handleCases(scene)
  })
  describe('failing, retrying and redriving', () => failureCases(scene))
  describe('order and concurrency of a mailbox', () => concurrencyCases(scene))
}

/** One message in the scene's mailbox. */
async function withMessage(s: Scene, agent: Record<string, unknown> = {}): Promise<Scene> {
  await s.api.ok('PUT', `/v1/agents/${s.agent}`, agent)
  await s.subscribe()
  await s.send()
  return s
}

function settle(api: Api, id: string, verb: string, body: Record<string, unknown>) {
  return api.call('POST', `/v1/messages/${id}/${verb}`, { body })
}

function leaseCases(scene: MakeScene): void {
  it('an expired lease is taken over; the first holder is told who holds it now', async () => {
    const s = await withMessage(scene('takeover'))
    const first = await s.take({ executor: 'one', leaseMs: 1000 })
    const second = await s.take({ executor: 'two', leaseMs: 60_000, waitMs: 15_000 })
    assert.equal(second.message.id, first.message.id)
    assert.equal(second.attempt, 2)
    assert.ok(second.lease.token > first.lease.token, 'the token grows')
    const stale = await s.api.complete(first)
    const problem = assertProblem(stale, 409, 'stale-lease')
    assert.equal(problem.token, second.lease.token)
    assert.equal(problem.expiresAt, second.lease.expiresAt)
    assert.equal((await s.api.complete(second)).status, 200)
    assert.equal((await s.api.messages(s.agent, 'done')).length, 1)
  })

  it('completing twice under one lease answers the stored result', async () => {
    const s = await withMessage(scene('twice'))
    const item = await s.take()
    const usage = { inputTokens: 10, outputTokens: 5 }
    const first = await s.api.complete(item, { usage, output: { note: 'á' } })
    assert.equal(first.status, 200, first.text)
    const second = await s.api.complete(item, { usage: { inputTokens: 99 } })
    assert.deepEqual([second.status, second.json], [200, first.json])
    assert.equal(first.json.state, 'done')
    assert.deepEqual(first.json.run.output, { note: 'á' })
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 0 }), [])
  })

  it('a renewed lease outlives its first end', async () => {
    const s = await withMessage(scene('renew'))
    const { message, lease } = await s.take({ leaseMs: 2000 })
    const renewed = await settle(s.api, message.id, 'renew', {
      ...{ handle: lease.handle, leaseMs: 60_000 },
    })
    assert.equal(renewed.status, 200, renewed.text)
    assert.ok(renewed.json.lease.expiresAt > lease.expiresAt)
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 2500 }), [])
    const current = { message, lease: { ...lease, ...renewed.json.lease }, attempt: 1 }
    assert.equal((await s.api.complete(current)).status, 200)
  })

  it('a waiting claim wakes within 250 ms', async () => {
    const s = scene('wake')
    await s.subscribe()
    const waits: number[] = []
    for (let at = 0; at < 5; at += 1) {
      const claiming = s.api.claim(s.agent, { waitMs: 30_000 })
      await s.send()
      const [item] = await claiming
      assert.ok(item)
      waits.push(Date.now() - Date.parse(item.message.createdAt))
      await s.api.complete(item)
    }
    // The best of five, because other cases share the machine.
    assert.ok(Math.min(...waits) <= 250, `woke after ${waits} ms`)
  })

  it('a claim that waits in vain answers empty', async () => {
    const s = scene('in-vain')
    await s.subscribe()
    const began = performance.now()
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 400 }), [])
    assert.ok(performance.now() - began >= 390)
  })
}

function handleCases(scene: MakeScene): void {
  it('a handle that was never issued, or for another message, is 403', async () => {
    const [a, b] = [await withMessage(scene('handle-a')), await withMessage(scene('handle-b'))]
    const [one, two] = [await a.take(), await b.take()]
    const forged = `${one.lease.handle.slice(0, -4)}AAAA`
    for (const verb of ['complete', 'fail', 'renew', 'authorize', 'ask']) {
      const bodies: Record<string, Record<string, unknown>> = {
        complete: { result: RESULT },
        fail: { error: 'x' },
        renew: { leaseMs: 5000 },
        authorize: { effect: { tool: 'mail', class: 'read' } },
        ask: { question: 'May I?' },
      }
      for (const handle of [forged, two.lease.handle, 'nonsense']) {
        const answer = await settle(a.api, one.message.id, verb, { handle, ...bodies[verb] })
        assertProblem(answer, 403, 'bad-handle')
      }
    }
    assert.equal((await a.api.complete(one)).status, 200)
  })

  it('an agent works only in its own mailbox', async () => {
    const [a, b] = [await withMessage(scene('own')), await withMessage(scene('foreign'))]
    const { key } = await a.api.ok<{ key: string }>('POST', '/v1/keys', {
      principal: { kind: 'agent', id: a.agent },
    })
    const agent = a.api.as(key)
    const refused = await agent.call('POST', `/v1/mailboxes/${b.agent}/claim`, {
      body: { executor: 'x' },
    })
    assertProblem(refused, 403, 'forbidden')
    const [item] = await agent.claim(a.agent)
    assert.ok(item)
    const stolen = await b.take()
    const settled = await settle(agent, stolen.message.id, 'complete', {
      ...{ handle: stolen.lease.handle, result: RESULT },
    })
    assert.equal(settled.status, 403, settled.text)
    assert.equal((await agent.complete(item)).status, 200)
  })

  it('evidence and events are marked, and instruction stands apart', async () => {
    const s = await withMessage(scene('form'))
    const { message, attempt } = await s.take()
    assert.equal(attempt, 1)
    const { kind, tenant, agent, instruction, events, evidence, lineage, state } = message
    assert.deepEqual(
      { kind, tenant, agent, instruction, evidence, lineage, state },
      {
        ...{ kind: 'activation', tenant: 'local', agent: s.agent, state: 'leased' },
        ...{ instruction: 'Look at form.', evidence: [], lineage: [] },
      },
    )
    assert.equal(events[0]?.specversion, '1.0')
  })
}

function failureCases(scene: MakeScene): void {
  it('a failed attempt comes again after its backoff, and is dead after the last', async () => {
    const s = await withMessage(scene('fail'), { maxAttempts: 2, backoffMs: 300 })
    const first = await s.take()
    const failed = await settle(s.api, first.message.id, 'fail', {
      ...{ handle: first.lease.handle, error: { code: 'boom', message: 'no' } },
    })
    assert.equal(failed.status, 200, failed.text)
    assert.ok(failed.json.availableAt > first.message.createdAt)
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 0 }), [])
    const second = await s.take()
    assert.equal(second.attempt, 2)
    const { status, json } = await settle(s.api, second.message.id, 'fail', {
      ...{ handle: second.lease.handle, error: 'again' },
    })
    assert.deepEqual([status, json.state], [200, 'dead'])
    await eventually('the notice', async () => {
      const path = '/v1/notices?limit=200'
      const { items } = await s.api.ok<{ items: { messageId?: string }[] }>('GET', path)
      return items.find(({ messageId }) => messageId === second.message.id)
    })
    const redriven = await s.api.call('POST', `/v1/messages/${second.message.id}/redrive`)
    assert.equal(redriven.status, 200, redriven.text)
    const third = await s.take()
    assert.equal(third.message.id, first.message.id)
    assert.equal((await s.api.complete(third)).status, 200)
  })

  it('what is not retryable is dead at once', async () => {
    const s = await withMessage(scene('not-retryable'))
    const { message, lease } = await s.take()
    const { json } = await settle(s.api, message.id, 'fail', {
      ...{ handle: lease.handle, error: 'bad input', retryable: false },
    })
    assert.equal(json.state, 'dead')
    const found = await s.api.ok<Message>('GET', `/v1/messages/${message.id}`)
    assert.equal(found.state, 'dead')
  })

  it('a cancelled message is not claimed, and its holder is told', async () => {
    const s = await withMessage(scene('cancel'))
    const item = await s.take()
    const { id } = item.message
    const cancelled = await s.api.call('POST', `/v1/messages/${id}/cancel`, {
      body: { reason: 'not needed' },
    })
    assert.deepEqual([cancelled.status, cancelled.json.state], [200, 'cancelled'])
    assertProblem(await s.api.complete(item), 409, 'stale-lease')
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 0 }), [])
    assert.equal((await s.api.messages(s.agent, 'cancelled')).length, 1)
  })

  it('an unknown message is 404 for people and 403 for a handle of another', async () => {
    const { api } = scene('unknown')
    assertProblem(await api.call('GET', '/v1/messages/m_none'), 404, 'not-found')
    assertProblem(await api.call('POST', '/v1/messages/m_none/cancel'), 404, 'not-found')
    const forged = await settle(api, 'm_none', 'complete', { handle: 'x', result: RESULT })
    assertProblem(forged, 403, 'bad-handle')
  })
}

function concurrencyCases(scene: MakeScene): void {
  it('of one session only one message is worked on at a time, in order', async () => {
    const s = scene('session')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, { maxConcurrentLeases: 10 })
    await s.subscribe(undefined, { session: 'desk-1' })
    const ids = [await s.send(), await s.send(), await s.send()]
    const seen: (string | undefined)[] = []
    for (const _ of ids) {
      const items = await s.api.claim(s.agent, { max: 10 })
      assert.equal(items.length, 1)
      assert.deepEqual(await s.api.claim(s.agent, { max: 10, waitMs: 0 }), [])
      seen.push(items[0]?.message.events[0]?.id)
      await s.api.complete(items[0]!)
    }
    assert.deepEqual(seen, ids)
  })

  it('no more messages are leased at once than the agent allows', async () => {
    const s = scene('concurrent')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, { maxConcurrentLeases: 2 })
    const subscription = await s.subscribe()
    const sent = [await s.send(), await s.send(), await s.send(), await s.send()]
    for (const id of sent) await s.api.decision(subscription.id, id, 'delivered')
    const first = await s.take({ max: 10 })
    // The dispatcher learns of the new bound a moment after it was answered.
    await eventually('a second lease', async () => {
      const { length } = await s.api.messages(s.agent, 'leased')
      if (length < 2) await s.api.claim(s.agent, { max: 10, waitMs: 100 })
      return length === 2 ? { length } : `${length} leases`
    })
    assert.deepEqual(await s.api.claim(s.agent, { max: 10, waitMs: 300 }), [])
    await s.api.complete(first)
    assert.equal((await s.api.claim(s.agent, { max: 10 })).length, 1)
  })

  it('several executors share a mailbox, each message once', async () => {
    const s = scene('shared')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, { maxConcurrentLeases: 100 })
    await s.subscribe()
    const count = 24
    await s.api.publish(...Array.from({ length: count }, () => ({ source: s.source, type: 'a' })))
    const seen: string[] = []
    const work = async (executor: string) => {
      while (seen.length < count) {
        const items = await s.api.claim(s.agent, { executor, max: 3, waitMs: 200 })
        seen.push(...items.map(({ message }) => message.id))
        for (const item of items) assert.equal((await s.api.complete(item)).status, 200)
      }
    }
    await Promise.all(['a', 'b', 'c', 'd'].map(work))
    assert.equal(new Set(seen).size, count)
    assert.equal(seen.length, count)
  })
}
