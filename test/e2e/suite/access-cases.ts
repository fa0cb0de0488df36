/** Who may do what: keys, roles, grants, tenants, and the switches that stop. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Page } from '#services/client/api.ts'
import { type Api, eventually } from '#test/support/api-caller.ts'
import { assertProblem, createScene, type GetWorld, type Scene } from './scene.ts'

export function accessCases(world: GetWorld): void {
  describe('keys and roles', () => {
    keyCases(world)
    roleCases(world)
  })
  describe('policy', () => {
    grantCases(world)
    budgetCases(world)
    ruleCases(world)
    originCases(world)
    defaultCases(world)
  })
  describe('tenants', () => tenantCases(world))
  describe('stopping', () => stopCases(world))
}

const fresh = (name: string) => `${name}-${randomUUID().slice(0, 6)}`

/** A scene in a tenant of its own, whose agent exists. */
async function tenantScene(world: GetWorld, name: string, policy?: object): Promise<Scene> {
  const api = await world().inTenant(fresh(name))
  if (policy) await api.ok('PUT', '/v1/policy', policy)
  const s = createScene(api, name)
  await api.ok('PUT', `/v1/agents/${s.agent}`, {})
  return s
}

function makeKey(api: Api, roles: string[], kind = 'person', id = 'bo') {
  return api.ok<{ key: string; id: string }>('POST', '/v1/keys', {
    ...{ principal: { kind, id }, roles },
  })
}

function keyCases(world: GetWorld): void {
  it('without a key, and with one that was never issued, the answer is 401', async () => {
    const { api } = world()
    for (const key of ['', 'wrong', `${api.key}x`, 'ambit_bG9jYWwvYWJj.secret', 'ambit_%%%']) {
      for (const [method, path] of [
        ['GET', '/v1/subscriptions'],
        ['POST', '/v1/events'],
        ['POST', '/v1/mailboxes/a/claim'],
        ['GET', '/v1/decisions'],
      ] as const) {
        const body = method === 'POST' ? {} : undefined
        const answer = await api.as(key).call(method, path, { body })
        assertProblem(answer, 401, 'unauthenticated')
        assert.equal(answer.headers['www-authenticate'], 'Bearer')
      }
    }
  })

  it('a key is shown once, works until it is deleted, and does what its roles say', async () => {
    const { api } = world()
    const created = await api.call('POST', '/v1/keys', {
      body: { principal: { kind: 'person', id: 'bo' }, roles: ['viewer'] },
    })
    assert.equal(created.status, 201, created.text)
    const { key, id } = created.json
    const viewer = api.as(key)
    assert.equal((await viewer.call('GET', '/v1/subscriptions')).status, 200)
    const body = { name: 'x', agent: 'x', instruction: 'x', on: {} }
    assertProblem(await viewer.call('POST', '/v1/subscriptions', { body }), 403, 'forbidden')
    assertProblem(await viewer.call('PUT', '/v1/policy', { body: {} }), 403, 'forbidden')
    assertProblem(await viewer.call('GET', '/v1/keys'), 403, 'forbidden')
    const list = await api.call('GET', '/v1/keys?limit=200')
    assert.ok(list.json.items.some((each: { id: string }) => each.id === id))
    assert.ok(!list.text.includes(key) && !list.text.includes('secretHash'))
    assert.equal((await api.call('DELETE', `/v1/keys/${id}`)).status, 200)
    await eventually('the end of the key', async () => {
      const { status } = await viewer.call('GET', '/v1/subscriptions')
      return status === 401 ? { status } : `still ${status}`
    })
    assertProblem(await api.call('DELETE', `/v1/keys/${id}`), 404, 'not-found')
  })
}

function roleCases(world: GetWorld): void {
  it('each role opens its own doors only', async () => {
    const { api } = world()
    const doors = {
      publish: ['POST', '/v1/events'],
      write: ['POST', '/v1/subscriptions'],
      read: ['GET', '/v1/decisions'],
      policy: ['PUT', '/v1/policy'],
      work: ['POST', '/v1/mailboxes/nobody/claim'],
    } as const
    const bodies: Record<string, object> = { work: { executor: 'e2e' } }
    const open: Record<string, (keyof typeof doors)[]> = {
      producer: ['publish'],
      viewer: ['read'],
      owner: ['publish', 'write', 'read'],
      executor: ['publish', 'read', 'work'],
      approver: ['read'],
      platform: ['publish', 'read'],
    }
    for (const [role, allowed] of Object.entries(open)) {
      const held = api.as((await makeKey(api, [role])).key)
      for (const [name, [method, path]] of Object.entries(doors)) {
        const body = method === 'GET' ? undefined : (bodies[name] ?? { wrong: true })
        const { status } = await held.call(method, path, { body })
        const isOpen = allowed.includes(name as keyof typeof doors)
        assert.equal(status !== 403, isOpen, `${role} at ${name}: ${status}`)
      }
    }
  })

  it('platform types are for the platform', async () => {
    const s = createScene(world().api, 'platform')
    const on = { types: ['platform.flow.milestone'], sources: [s.source] }
    const subscription = await s.subscribe(undefined, { on })
    const event = {
      ...{ specversion: '1.0', id: randomUUID(), source: s.source },
      type: 'platform.flow.milestone',
    }
    const headers = { 'content-type': 'application/cloudevents+json' }
    const refused = await s.api.call('POST', '/v1/events', { headers, body: event })
    assertProblem(refused, 403, 'reserved-attribute')
    const { key } = await makeKey(s.api, ['platform'], 'platform', 'flows')
    const sent = await s.api.as(key).call('POST', '/v1/events', { headers, body: event })
    assert.equal(sent.status, 202, sent.text)
    assert.equal((await s.api.decision(subscription.id, event.id)).fate, 'delivered')
    const ours = { ...event, type: 'platform.run.finished' }
    const answer = await s.api.as(key).call('POST', '/v1/events', { headers, body: ours })
    assertProblem(answer, 403, 'reserved-attribute')
  })
}

function grantCases(world: GetWorld): void {
  it('without a grant nobody subscribes, and a withdrawn one stops what was', async () => {
    const s = await tenantScene(world, 'grants')
    const grant = { person: 'user:ana', agent: s.agent, may: ['subscribe'] }
    const path = '/v1/policy'
    await s.api.ok('PUT', path, { grants: [grant] })
    const body = { name: 'x', agent: s.agent, instruction: 'x', on: { sources: [s.source] } }
    assertProblem(await s.api.call('POST', '/v1/subscriptions', { body }), 403, 'forbidden')
    const subscription = await s.subscribe(undefined, { owner: 'user:ana' })
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    const item = await s.take()
    const policy = await s.api.call('GET', path)
    const stale = await s.api.call('PUT', path, {
      body: { grants: [] },
      headers: { 'if-match': '"0"' },
    })
    assertProblem(stale, 412, 'version-mismatch')
    const withdrawn = await s.api.call('PUT', path, {
      body: { grants: [] },
      headers: { 'if-match': String(policy.headers.etag) },
    })
    assert.equal(withdrawn.status, 200, withdrawn.text)
    const effect = { tool: 'crm', class: 'read' }
    const authorized = await s.api.ok('POST', `/v1/messages/${item.message.id}/authorize`, {
      ...{ handle: item.lease.handle, effect },
    })
    assert.deepEqual(authorized, { allowed: false, reason: 'not-entitled' })
    const { fate, stage } = await s.fate(subscription)
    assert.deepEqual([fate, stage], ['not-entitled', 'entitlement'])
  })

  it('naming an owner who holds a grant lends it to nobody', async () => {
    const s = await tenantScene(world, 'borrowed')
    const grant = { person: 'user:ana', agent: s.agent, may: ['subscribe'] }
    await s.api.ok('PUT', '/v1/policy', { grants: [grant] })
    const ana = createScene(s.api.as((await makeKey(s.api, ['owner'], 'person', 'ana')).key), 'x')
    const bo = createScene(s.api.as((await makeKey(s.api, ['owner'], 'person', 'bo')).key), 'x')
    const over = { agent: s.agent, owner: 'user:ana' }
    const { id } = await ana.subscribe(undefined, over)
    const body = { name: 'x', instruction: 'x', on: {}, ...over }
    assertProblem(await bo.api.call('POST', '/v1/subscriptions', { body }), 403, 'forbidden')
    const edit = { body: { instruction: 'Do as bo says.' } }
    assertProblem(await bo.api.call('PATCH', `/v1/subscriptions/${id}`, edit), 403, 'forbidden')
    assert.equal((await ana.api.call('PATCH', `/v1/subscriptions/${id}`, edit)).status, 200)
  })

  it('what GET answers for policy and agents, PUT accepts', async () => {
    const s = await tenantScene(world, 'round-trip', { zone: 'Europe/Madrid' })
    const agentPath = `/v1/agents/${s.agent}`
    const agent = await s.api.ok<object>('GET', agentPath)
    await s.api.ok('PUT', agentPath, agent)
    const policy = await s.api.ok<{ zone: string }>('GET', '/v1/policy')
    assert.equal(policy.zone, 'Europe/Madrid')
    await s.api.ok('PUT', '/v1/policy', policy)
    const bad = await s.api.call('PUT', '/v1/policy', { body: { zone: 'Mars/Olympus' } })
    assert.equal(assertProblem(bad, 422, 'invalid').pointer, '/zone')
  })
}

function budgetCases(world: GetWorld): void {
  it("an owner's budget stops all of the owner's, and suspends none", async () => {
    const policy = { budgets: { owner: { activationsPerDay: 2 } } }
    const s = await tenantScene(world, 'owner-budget', policy)
    const a = await s.subscribe(undefined, { name: 'a', owner: 'user:ana' })
    const b = await s.subscribe(undefined, { name: 'b', owner: 'user:ana' })
    const c = await s.subscribe(undefined, { name: 'c', owner: 'user:bo' })
    const first = await s.send()
    for (const each of [a, b, c]) {
      assert.equal((await s.api.decision(each.id, first)).fate, 'delivered')
    }
    const second = await s.send()
    for (const each of [a, b]) {
      const { fate, stage } = await s.api.decision(each.id, second)
      assert.deepEqual([fate, stage], ['over-budget', 'budget'])
      assert.equal((await s.api.subscription(each.id)).state.operation, 'active')
    }
    assert.equal((await s.api.decision(c.id, second)).fate, 'delivered')
    const { items } = await s.api.ok<Page<{ kind: string }>>('GET', '/v1/notices')
    assert.equal(items.filter(({ kind }) => kind.includes('budget')).length, 1)
  })

  it('tokens that runs report are counted, and what exceeds them is over-budget', async () => {
    const s = await tenantScene(world, 'tokens')
    const subscription = await s.subscribe({ budget: { tokensPerDay: 100 } })
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    const item = await s.take()
    await s.api.complete(item, { usage: { inputTokens: 90, outputTokens: 20, cost: '0.25' } })
    const over = await eventually('the budget to be used up', async () => {
      const found = await s.fate(subscription)
      return found.fate === 'delivered' ? 'still delivered' : found
    })
    assert.equal(over.fate, 'over-budget')
    await s.becomes(subscription, 'suspended')
    const usage = await eventually('the usage', async () => {
      const { items } = await s.api.ok<Page<Record<string, unknown>>>(
        'GET',
        '/v1/usage?by=subscription',
      )
      return items.find(row => row.subscription === subscription.id && row.totalTokens === 110)
    })
    assert.equal(usage.inputTokens, 90)
    assert.equal(Number(usage.cost), 0.25)
  })
}

function ruleCases(world: GetWorld): void {
  it("agents' subscriptions wait for approval where the policy says so", async () => {
    const policy = { approval: [{ when: { origin: 'agent' }, require: true }] }
    const s = await tenantScene(world, 'approval', policy)
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, { capabilities: { selfSubscribe: true } })
    const { key } = await makeKey(s.api, ['owner'], 'agent', s.agent)
    const own = createScene(s.api.as(key), 'approval')
    const body = { name: 'own', agent: s.agent, instruction: 'x', on: { sources: [s.source] } }
    const created = await own.api.call('POST', '/v1/subscriptions', { body })
    assert.equal(created.status, 201, created.text)
    const { id, state, origin } = created.json
    assert.deepEqual([state.approval, origin.kind], ['pending', 'agent'])
    const subscription = created.json
    const waiting = await s.fate(subscription)
    assert.equal(waiting.fate, 'inactive')
    const mine = await own.api.call('POST', `/v1/subscriptions/${id}/approve`, { body: {} })
    assertProblem(mine, 403, 'forbidden')
    const { items } = await s.api.ok<Page<{ id: string }>>('GET', '/v1/approvals')
    assert.ok(items.some(each => each.id === id))
    await s.api.ok('POST', `/v1/subscriptions/${id}/approve`, {})
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    const edit = { body: { instruction: 'Something else.' } }
    const edited = await own.api.call('PATCH', `/v1/subscriptions/${id}`, edit)
    assert.equal(edited.json.state.approval, 'pending', 'an edit by the agent needs another yes')
    assert.equal((await s.fate(subscription)).fate, 'inactive')
    await s.api.ok('POST', `/v1/subscriptions/${id}/approve`, {})
    await s.api.ok('PATCH', `/v1/subscriptions/${id}`, { instruction: "A person's words." })
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    await s.api.ok('POST', `/v1/subscriptions/${id}/reject`, { reason: 'no more' })
    const rejected = await s.api.subscription(id)
    assert.deepEqual([rejected.state.approval, rejected.state.reason], ['rejected', 'no more'])
    assert.equal((await s.fate(subscription)).fate, 'inactive')
  })
}

function originCases(world: GetWorld): void {
  it('what an agent asks for under a lease names its message and its person', async () => {
    const s = await tenantScene(world, 'origin')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, { capabilities: { selfSubscribe: true } })
    const foreign = await s.subscribe(undefined, { owner: 'user:ana', onBehalfOf: 'user:ana' })
    await s.fate(foreign)
    const { message, lease } = await s.take()
    const agent = s.api.as((await makeKey(s.api, [], 'agent', s.agent)).key)
    const headers = { 'ambit-lease': lease.handle }
    const body = { name: 'own', agent: s.agent, instruction: 'x', on: { sources: [s.source] } }
    const made = await agent.call('POST', '/v1/subscriptions', { body, headers })
    assert.equal(made.status, 201, made.text)
    assert.deepEqual(
      [made.json.origin, made.json.owner, made.json.onBehalfOf],
      [
        { kind: 'agent', id: s.agent, messageId: message.id, onBehalfOf: 'user:ana' },
        ...['user:ana', 'user:ana'],
      ],
    )
    const stranger = { ...body, onBehalfOf: 'user:bo' }
    const forged = await agent.call('POST', '/v1/subscriptions', { body: stranger, headers })
    assert.equal(assertProblem(forged, 403, 'forbidden').pointer, '/onBehalfOf')
    const bad = { body, headers: { 'ambit-lease': 'nonsense' } }
    assertProblem(await agent.call('POST', '/v1/subscriptions', bad), 403, 'bad-handle')
  })

  it('nobody but its owner, its origin and operators changes a subscription', async () => {
    const s = await tenantScene(world, 'whose')
    const { id } = await s.subscribe(undefined, { owner: 'user:ana' })
    const path = `/v1/subscriptions/${id}`
    for (const [roles, kind, who] of [
      [['owner'], 'person', 'bo'],
      [['owner'], 'agent', s.agent],
    ] as const) {
      const other = s.api.as((await makeKey(s.api, [...roles], kind, who)).key)
      const pause = { body: { reason: 'x' } }
      assertProblem(await other.call('POST', `${path}/pause`, pause), 403, 'forbidden')
      assertProblem(await other.call('DELETE', path), 403, 'forbidden')
    }
    const ana = s.api.as((await makeKey(s.api, ['owner'], 'person', 'ana')).key)
    assert.equal((await ana.call('DELETE', path)).status, 200)
  })
}

function defaultCases(world: GetWorld): void {
  it("a tenant's defaults fill what a subscription omits", async () => {
    const s = await tenantScene(world, 'defaults', { defaults: { cooldownMs: 60_000 } })
    const subscription = await s.subscribe({ rate: { perMinute: 100 } })
    assert.equal(subscription.limits?.cooldownMs, 60_000)
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    assert.equal((await s.fate(subscription)).fate, 'cooldown')
    const without = await s.subscribe({ cooldownMs: null }, { name: 'without' })
    assert.equal(without.limits?.cooldownMs, null)
  })
}

function tenantCases(world: GetWorld): void {
  it('one tenant sees nothing of another, whatever names they share', async () => {
    const [a, b] = [await world().inTenant(fresh('ten-a')), await world().inTenant(fresh('ten-b'))]
    const created: string[] = []
    for (const api of [a, b]) {
      await api.ok('PUT', '/v1/agents/shared', {})
      const body = { name: 'same', agent: 'shared', instruction: 'x', on: { sources: ['/same'] } }
      created.push((await api.ok<{ id: string }>('POST', '/v1/subscriptions', body)).id)
    }
    const [idA = '', idB = ''] = created
    await a.publish({ source: '/same', type: 'x', id: 'one' })
    assert.equal((await a.decision(idA, 'one')).fate, 'delivered')
    await b.publish({ source: '/same', type: 'x', id: 'two' })
    assert.equal((await b.decision(idB, 'two')).fate, 'delivered')
    const [item] = await a.claim('shared')
    assert.ok(item)
    assert.deepEqual(await a.claim('shared', { waitMs: 0 }), [])
    assert.deepEqual(await b.decisions({ event: 'one' }), [])
    const seen = await b.ok<Page<{ id: string }>>('GET', '/v1/subscriptions')
    assert.deepEqual(
      seen.items.map(({ id }) => id),
      [idB],
    )
    for (const path of [`/v1/subscriptions/${idA}`, `/v1/messages/${item.message.id}`]) {
      assertProblem(await b.call('GET', path), 404, 'not-found')
    }
    assertProblem(await b.call('GET', '/v1/traces?source=/same&id=one'), 404, 'not-found')
    const stolen = await b.call('POST', `/v1/messages/${item.message.id}/complete`, {
      body: { handle: item.lease.handle, result: { ok: true, stopReason: 'end_turn' } },
    })
    assertProblem(stolen, 403, 'bad-handle')
    assertProblem(await b.call('POST', `/v1/messages/${item.message.id}/cancel`), 404, 'not-found')
    assertProblem(await b.call('DELETE', `/v1/subscriptions/${idA}`), 404, 'not-found')
    assert.equal((await a.complete(item)).status, 200)
  })

  it('outside the embedded tenant an unknown agent is refused', async () => {
    const api = await world().inTenant(fresh('strict'))
    const body = { name: 'x', agent: 'ghost', instruction: 'x', on: {} }
    const refused = await api.call('POST', '/v1/subscriptions', { body })
    assert.equal(assertProblem(refused, 422, 'invalid').pointer, '/agent')
  })

  it('a token of a stranger is 401', async () => {
    const { api } = world()
    const token =
      'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4IiwidGVuYW50IjoibG9jYWwiLCJyb2xlcyI6WyJhZG1pbiJdfQ.'
    assertProblem(await api.as(token).call('GET', '/v1/policy'), 401, 'unauthenticated')
  })
}

function stopCases(world: GetWorld): void {
  it('a stopped agent is not woken until it is started', async () => {
    const s = createScene(world().api, 'stop')
    const subscription = await s.subscribe()
    const path = `/v1/agents/${s.agent}`
    assertProblem(await s.api.call('POST', `${path}/stop`, { body: {} }), 422, 'invalid')
    await s.api.ok('POST', `${path}/stop`, { reason: 'odd answers' })
    const { fate, reason } = await s.fate(subscription)
    assert.deepEqual([fate, reason], ['inactive', 'agent-stopped'])
    const shown = await s.api.ok<{ stopped: { reason: string } }>('GET', path)
    assert.equal(shown.stopped.reason, 'odd answers')
    await s.api.ok('POST', `${path}/start`, { reason: 'mended' })
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    assertProblem(
      await s.api.call('POST', '/v1/agents/ghost/stop', { body: { reason: 'x' } }),
      404,
      'not-found',
    )
  })

  it('what waits in the mailbox of a stopped agent is claimed after its start', async () => {
    const s = createScene(world().api, 'stop-waiting')
    const subscription = await s.subscribe()
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    const path = `/v1/agents/${s.agent}`
    await s.api.ok('POST', `${path}/stop`, { reason: 'odd answers' })
    // The decision made under the stop shows that the tables have it.
    assert.equal((await s.fate(subscription)).fate, 'inactive')
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 300 }), [])
    const turn = { session: 'x', kind: 'turn', input: 1 }
    const refused = await s.api.call('POST', `/v1/mailboxes/${s.agent}/continuations`, {
      body: turn,
    })
    assertProblem(refused, 409, 'conflict')
    await s.api.ok('POST', `${path}/start`, { reason: 'mended' })
    assert.equal((await s.take()).attempt, 1)
  })

  it('a stopped tenant wakes nobody', async () => {
    const s = await tenantScene(world, 'stop-all')
    const subscription = await s.subscribe()
    await s.api.ok('POST', '/v1/stop', { reason: 'incident' })
    const { fate, reason } = await s.fate(subscription)
    assert.deepEqual([fate, reason], ['inactive', 'tenant-stopped'])
    await s.api.ok('POST', '/v1/start', { reason: 'over' })
    assert.equal((await s.fate(subscription)).fate, 'delivered')
  })
}
