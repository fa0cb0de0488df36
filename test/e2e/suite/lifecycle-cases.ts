/** Subscriptions as documents: created once, edited, paused, deleted, applied, listed. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Page, Subscription } from '#services/client/api.ts'
import { assertProblem, createScene, type GetWorld, type Scene } from './scene.ts'

type MakeScene = (name: string) => Scene

export function lifecycleCases(world: GetWorld): void {
  const scene: MakeScene = name => createScene(world().api, name)
  describe('creating and editing', () => {
    createCases(scene)
    editCases(scene)
    patchCases(scene)
  })
  describe('pausing and deleting', () => pauseCases(scene))
  describe('applying and listing', () => listCases(world, scene))
}

const bodyOf = (s: Scene, over = {}) => ({
  ...{ name: s.agent, agent: s.agent, instruction: 'Do.', on: { sources: [s.source] } },
  ...over,
})

function createCases(scene: MakeScene): void {
  it('the stored form shows what was omitted, decided', async () => {
    const s = scene('stored')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, {})
    const answer = await s.api.call('POST', '/v1/subscriptions', { body: bodyOf(s) })
    assert.equal(answer.status, 201, answer.text)
    const stored = answer.json
    assert.equal(stored.version, 1)
    assert.equal(answer.headers.etag, '"1"')
    assert.deepEqual(stored.origin, { kind: 'person', id: 'admin' })
    const { approval, operation, by } = stored.state
    assert.deepEqual([approval, operation, by], ['not-required', 'active', 'user:admin'])
    assert.equal(stored.owner, 'user:admin')
    assert.equal(stored.limits.cooldownMs, null)
    assert.ok(stored.limits.storm.max > 0)
    assert.deepEqual([stored.next, stored.last], [[], null])
    assert.match(stored.createdAt, /Z$/)
    assert.equal('startsAt' in stored, false)
    assert.deepEqual(await s.api.subscription(stored.id), stored)
    const id = await s.send()
    await s.api.decision(stored.id, id, 'delivered')
    const { last } = await s.api.subscription(stored.id)
    assert.deepEqual([last?.fate, last?.eventId], ['delivered', id])
  })

  it('one Idempotency-Key is one subscription, and answers the same', async () => {
    const s = scene('idempotent')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, {})
    const headers = { 'idempotency-key': randomUUID() }
    const options = { body: bodyOf(s), headers }
    const answers = await Promise.all(
      [1, 2, 3].map(() => s.api.call('POST', '/v1/subscriptions', options)),
    )
    answers.push(await s.api.call('POST', '/v1/subscriptions', options))
    for (const { status, json } of answers) {
      assert.deepEqual([status, json], [201, answers[0]?.json])
    }
    const { items } = await s.api.ok<Page<Subscription>>(
      'GET',
      `/v1/subscriptions?agent=${s.agent}`,
    )
    assert.equal(items.length, 1)
  })

  it('what is wrong is named by its pointer, with what was expected', async () => {
    const s = scene('wrong')
    const cases: [Record<string, unknown>, string][] = [
      [{ instruction: '' }, '/instruction'],
      [{ limits: { group: { max: 101 } } }, '/limits/group/max'],
      [{ limits: { cooldownMs: -1 } }, '/limits/cooldownMs'],
      [{ filters: [{ cel: 'data.total >' }] }, '/filters/0/cel'],
      [{ filters: [{ regex: { type: '.*' } }] }, '/filters/0'],
      [{ on: { types: [] } }, '/on/types'],
      [{ colour: 'red' }, '/colour'],
      [{ limits: { coldownMs: 1 } }, '/limits/coldownMs'],
    ]
    for (const [over, pointer] of cases) {
      const answer = await s.api.call('POST', '/v1/subscriptions', { body: bodyOf(s, over) })
      const problem = assertProblem(answer, 422, 'invalid')
      assert.ok(String(problem.pointer).startsWith(pointer), `${problem.pointer} for ${pointer}`)
    }
  })

  it('a trigger is needed', async () => {
    const s = scene('no-trigger')
    const { on: _on, ...body } = bodyOf(s)
    assertProblem(await s.api.call('POST', '/v1/subscriptions', { body }), 422, 'invalid')
  })
}

function editCases(scene: MakeScene): void {
  it('an event after the 200 of an edit is judged by the new version', async () => {
    const s = scene('edit')
    const subscription = await s.subscribe()
    const path = `/v1/subscriptions/${subscription.id}`
    for (let round = 2; round < 8; round += 1) {
      const wanted = `kind-${round}`
      const edited = await s.api.call('PATCH', path, {
        body: { filters: [{ exact: { 'data.kind': wanted } }] },
      })
      assert.deepEqual([edited.status, edited.json.version], [200, round], edited.text)
      const [old, fresh] = [`old-${round}`, `new-${round}`]
      await s.send({ id: old, data: { kind: `kind-${round - 1}` } })
      await s.send({ id: fresh, data: { kind: wanted } })
      const decision = await s.api.decision(subscription.id, fresh, 'delivered')
      assert.equal(decision.version, round)
      assert.deepEqual(await s.api.decisions({ subscription: subscription.id, event: old }), [])
    }
  })

  it('a stale If-Match is 412, and both spellings of the right one hold', async () => {
    const s = scene('if-match')
    const { id } = await s.subscribe()
    const patch = (ifMatch: string, instruction: string) =>
      s.api.call('PATCH', `/v1/subscriptions/${id}`, {
        body: { instruction },
        headers: { 'if-match': ifMatch },
      })
    assert.equal((await patch('"1"', 'a')).status, 200)
    assertProblem(await patch('"1"', 'b'), 412, 'version-mismatch')
    assert.equal((await patch('2', 'c')).status, 200)
    assertProblem(await patch('"two"', 'd'), 400, 'bad-request')
    const now = await s.api.subscription(id)
    assert.deepEqual([now.version, now.instruction], [3, 'c'])
  })

  it('of edits under one version exactly one wins', async () => {
    const s = scene('race')
    const { id } = await s.subscribe()
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        s.api.call('PATCH', `/v1/subscriptions/${id}`, {
          body: { instruction: `edit ${n}` },
          headers: { 'if-match': '1' },
        }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, 412, 412, 412, 412, 412])
  })
}

function patchCases(scene: MakeScene): void {
  it('a merge patch changes what it names and removes what is null', async () => {
    const s = scene('merge')
    const subscription = await s.subscribe({ cooldownMs: 5000 }, { workspace: 'w' })
    const patched = await s.api.ok<Subscription>('PATCH', `/v1/subscriptions/${subscription.id}`, {
      ...{ instruction: 'New.', workspace: null, limits: { rate: { perMinute: 3 } } },
    })
    assert.equal(patched.instruction, 'New.')
    assert.equal(patched.workspace, null)
    assert.equal(patched.limits?.cooldownMs, 5000)
    assert.deepEqual(patched.limits?.rate, { perMinute: 3 })
    assert.equal(patched.name, subscription.name)
  })

  it('a null in a merge patch removes, and inside limits it is no bound', async () => {
    const s = scene('merge-null')
    const on = { types: ['a.b'], sources: [s.source] }
    const filters = [{ exact: { subject: 'x' } }]
    const { id } = await s.subscribe({ cooldownMs: 5000 }, { on, filters })
    const body = { filters: null, on: { types: null }, owner: null, limits: { cooldownMs: null } }
    const patched = await s.api.ok<Subscription>('PATCH', `/v1/subscriptions/${id}`, body)
    assert.deepEqual(patched.filters, [])
    assert.deepEqual(patched.on, { sources: [s.source] })
    assert.equal(patched.owner, 'user:admin')
    assert.equal(patched.limits?.cooldownMs, null)
    const nameless = await s.api.call('PATCH', `/v1/subscriptions/${id}`, { body: { name: null } })
    assertProblem(nameless, 422, 'invalid')
  })

  it('instants are stored in UTC, whatever offset they came with', async () => {
    const limits = {
      notBefore: '2020-01-01T02:00:00+02:00',
      expiresAt: '2090-01-01T00:00:00-01:00',
    }
    const stored = await scene('utc').subscribe(limits)
    assert.equal(stored.limits?.notBefore, '2020-01-01T00:00:00.000Z')
    assert.equal(stored.limits?.expiresAt, '2090-01-01T01:00:00.000Z')
  })
}

function pauseCases(scene: MakeScene): void {
  it('events during a pause are inactive, new ones after the resume are delivered', async () => {
    const s = scene('pause')
    const subscription = await s.subscribe()
    const path = `/v1/subscriptions/${subscription.id}`
    const paused = await s.api.ok<Subscription>('POST', `${path}/pause`, { reason: 'holiday' })
    assert.deepEqual([paused.state.operation, paused.state.reason], ['paused', 'holiday'])
    assert.equal((await s.fate(subscription)).fate, 'inactive')
    const during = await s.send()
    await s.api.ok('POST', `${path}/resume`, {})
    assert.equal((await s.fate(subscription)).fate, 'delivered')
    assert.equal((await s.api.decision(subscription.id, during)).fate, 'inactive')
    assert.equal((await s.api.messages(s.agent)).length, 1)
  })

  it('a pause with an end ends by itself', async () => {
    const s = scene('pause-until')
    const subscription = await s.subscribe()
    const until = new Date(Date.now() + 1500).toISOString()
    const path = `/v1/subscriptions/${subscription.id}`
    await s.api.ok('POST', `${path}/pause`, { reason: 'soon back', until })
    await s.becomes(subscription, 'active')
    assert.ok(Date.now() >= Date.parse(until))
    assert.equal((await s.fate(subscription)).fate, 'delivered')
  })

  it('what is exhausted cannot be paused, and so not resumed by way of a pause', async () => {
    const s = scene('pause-ended')
    const subscription = await s.subscribe({ maxOccurrences: 1 })
    await s.fate(subscription)
    await s.becomes(subscription, 'exhausted')
    const path = `/v1/subscriptions/${subscription.id}/pause`
    assertProblem(await s.api.call('POST', path, { body: { reason: 'x' } }), 409, 'conflict')
  })

  it('a pause without a reason is refused', async () => {
    const s = scene('no-reason')
    const { id } = await s.subscribe()
    const answer = await s.api.call('POST', `/v1/subscriptions/${id}/pause`, { body: {} })
    assert.equal(assertProblem(answer, 422, 'invalid').pointer, '/reason')
  })

  it('a deleted subscription is still read, wakes nobody and cannot be edited', async () => {
    const s = scene('delete')
    const subscription = await s.subscribe()
    const path = `/v1/subscriptions/${subscription.id}`
    assert.equal((await s.api.call('DELETE', path)).status, 200)
    const read = await s.api.subscription(subscription.id)
    assert.equal(read.state.operation, 'deleted')
    const witness = await s.subscribe(undefined, { name: 'witness' })
    const id = await s.send()
    await s.api.decision(witness.id, id, 'delivered')
    const fates = await s.api.decisions({ subscription: subscription.id, event: id })
    assert.ok(fates.every(({ fate }) => fate === 'inactive'))
    assert.equal((await s.api.messages(s.agent)).length, 1)
    assertProblem(await s.api.call('PATCH', path, { body: { name: 'x' } }), 404, 'not-found')
  })
}

function listCases(world: GetWorld, scene: MakeScene): void {
  it('apply creates, leaves, updates and prunes under its label alone', async () => {
    const s = scene('apply')
    const label = s.agent
    const item = (name: string, over = {}) => bodyOf(s, { name, ...over })
    const apply = async (query: string, items: unknown[]) => {
      const path = `/v1/apply?managedBy=${label}${query}`
      const { items: plan } = await s.api.ok<{ items: { action: string; name: string }[] }>(
        'POST',
        path,
        items,
      )
      return plan.map(({ action, name }) => `${action} ${name}`).sort()
    }
    const own = await s.subscribe(undefined, { name: 'by-hand' })
    assert.deepEqual(await apply('&dryRun=true', [item('a')]), ['create a'])
    assert.deepEqual(await apply('', [item('a'), item('b')]), ['create a', 'create b'])
    const second = [item('a'), item('b', { instruction: 'Other.' }), item('c')]
    assert.deepEqual(await apply('', second), ['create c', 'unchanged a', 'update b'])
    assert.deepEqual(await apply('&prune=true', [item('a')]), [
      ...['delete b', 'delete c', 'unchanged a'],
    ])
    const { items } = await s.api.ok<Page<Subscription>>(
      'GET',
      `/v1/subscriptions?agent=${s.agent}`,
    )
    assert.deepEqual(items.map(({ name }) => name).sort(), ['a', 'by-hand'])
    assert.equal((await s.api.subscription(own.id)).state.operation, 'active')
    const bad = await s.api.call('POST', `/v1/apply?managedBy=${label}`, {
      body: [item('a'), item('b', { on: { types: 7 } })],
    })
    assert.match(String(assertProblem(bad, 422, 'invalid').pointer), /^\/1\/on\/types/)
  })

  it('apply refuses a list that has one name twice', async () => {
    const s = scene('twins')
    const body = [bodyOf(s, { name: 'a' }), bodyOf(s, { name: 'a' })]
    const refused = assertProblem(await s.api.call('POST', '/v1/apply', { body }), 422, 'invalid')
    assert.equal(refused.pointer, '/1/name')
  })

  it('a list of a state that does not exist is refused, not empty', async () => {
    const { api } = world()
    assertProblem(await api.call('GET', '/v1/subscriptions?state=activ'), 422, 'invalid')
  })

  it('lists are paged, each item once', async () => {
    const api = await world().inTenant(`paging-${randomUUID().slice(0, 6)}`)
    await api.ok('PUT', '/v1/agents/a', {})
    for (let n = 0; n < 5; n += 1) {
      const body = { name: `s${n}`, agent: 'a', instruction: 'x', on: { types: ['never'] } }
      await api.ok('POST', '/v1/subscriptions', body)
    }
    const seen: string[] = []
    let cursor: string | null | undefined = ''
    do {
      const path: string = `/v1/subscriptions?limit=2${cursor ? `&cursor=${cursor}` : ''}`
      const page: Page<Subscription> = await api.ok('GET', path)
      assert.ok(page.items.length <= 2)
      seen.push(...page.items.map(({ name }) => name))
      cursor = page.next
    } while (cursor)
    assert.deepEqual(seen.sort(), ['s0', 's1', 's2', 's3', 's4'])
    const tooMany = await api.call('GET', '/v1/subscriptions?limit=201')
    assert.equal(tooMany.status >= 400 && tooMany.status < 500, true)
    const states = await api.ok<Page<Subscription>>('GET', '/v1/subscriptions?state=paused')
    assert.deepEqual(states.items, [])
  })
}
