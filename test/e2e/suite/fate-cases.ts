/** Every fate that the guard gives, as a customer sees it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { eventually } from '#test/support/api-caller.ts'
import { assertProblem, createScene, type GetWorld } from './scene.ts'

export function fateCases(world: GetWorld): void {
  const scene = (name: string) => createScene(world().api, name)
  dedupCases(scene)
  cycleCases(scene)
  cooldownCases(scene)
  groupCases(scene)
  stateCases(scene)
  ageCases(scene)
  stormCases(scene)
}

type MakeScene = (name: string) => ReturnType<typeof createScene>

function dedupCases(scene: MakeScene): void {
  describe('deduplication', () => {
    it('three sends of one id are one message and two repeats', async () => {
      const s = scene('same-id')
      const subscription = await s.subscribe()
      const id = randomUUID()
      for (let sends = 0; sends < 3; sends += 1) await s.send({ id })
      const decision = await eventually('two repeats', async () => {
        const found = await s.api.decision(subscription.id, id)
        return found.repeats === 2 ? found : `saw ${found.repeats}`
      })
      assert.equal(decision.fate, 'delivered')
      assert.equal((await s.api.messages(s.agent)).length, 1)
      assert.equal((await s.api.decisions({ subscription: subscription.id })).length, 1)
    })

    it('three ids with one dedupkey are one message and two duplicates', async () => {
      const s = scene('same-key')
      const subscription = await s.subscribe()
      const ids = [await s.send({ dedupkey: 'order-7' })]
      for (const _ of [2, 3]) ids.push(await s.send({ dedupkey: 'order-7' }))
      const found = await Promise.all(ids.map(id => s.api.decision(subscription.id, id)))
      const fates = found.map(({ fate }) => fate).sort()
      assert.deepEqual(fates, ['delivered', 'duplicate', 'duplicate'])
      const winner = found.find(({ fate }) => fate === 'delivered')
      for (const each of found.filter(({ fate }) => fate === 'duplicate')) {
        assert.equal(each.stage, 'dedup')
        const { details } = each as { details?: { messageId?: string } }
        assert.equal(details?.messageId ?? each.messageId, winner?.messageId)
      }
      assert.equal((await s.api.messages(s.agent)).length, 1)
    })

    it('one id from two sources is two messages', async () => {
      const s = scene('two-sources')
      const subscription = await s.subscribe(undefined, { on: { sources: [`${s.source}*`] } })
      const id = randomUUID()
      await s.send({ id, source: `${s.source}/a` })
      await s.send({ id, source: `${s.source}/b` })
      for (const at of ['a', 'b']) {
        await eventually(`the decision of ${at}`, async () => {
          const query = { subscription: subscription.id, event: id, source: `${s.source}/${at}` }
          return (await s.api.decisions(query)).find(({ fate }) => fate === 'delivered')
        })
      }
      assert.equal((await s.api.messages(s.agent)).length, 2)
    })
  })
}

function cycleCases(scene: MakeScene): void {
  describe('cycles', () => {
    it('an event of a run does not wake the agent of that run, and wakes another', async () => {
      const [s, other] = [scene('cycle'), scene('cycle-other')]
      const own = await s.subscribe()
      const foreign = await other.subscribe(undefined, { on: { sources: [s.source] } })
      const { key } = await s.api.ok<{ key: string }>('POST', '/v1/keys', {
        principal: { kind: 'agent', id: s.agent },
      })
      const agent = s.api.as(key)
      await s.send()
      const { lease, message } = await s.take()
      const event = { specversion: '1.0', id: randomUUID(), source: s.source, type: 'e2e.echo' }
      const headers = { 'content-type': 'application/cloudevents+json' }
      const without = await agent.call('POST', '/v1/events', { headers, body: event })
      assertProblem(without, 403, 'lease-required')
      const forged = { ...headers, 'ambit-lease': `${lease.handle}x` }
      assertProblem(
        await agent.call('POST', '/v1/events', { headers: forged, body: event }),
        403,
        'bad-handle',
      )
      const proved = { ...headers, 'ambit-lease': lease.handle }
      const sent = await agent.call('POST', '/v1/events', { headers: proved, body: event })
      assert.equal(sent.status, 202, sent.text)
      const decision = await s.api.decision(own.id, event.id)
      assert.deepEqual([decision.fate, decision.stage], ['cycle', 'cycle'])
      assert.equal((await s.api.decision(foreign.id, event.id)).fate, 'delivered')
      const woken = (await other.api.messages(other.agent)).find(({ events }) =>
        events.some(({ id }) => id === event.id),
      )
      assert.deepEqual(woken?.lineage, [
        { subscription: own.id, agent: s.agent, message: message.id },
      ])
    })

    it('what only credentials may say is refused from a producer', async () => {
      const s = scene('reserved')
      const reserved = [{ lineage: 'x' }, { tenant: 'other' }, { onbehalfof: 'user:bo' }]
      const types = ['platform.run.finished', 'time.once', 'calendar.anchor', 'mcp.a.b']
      const headers = { 'content-type': 'application/cloudevents+json' }
      for (const over of [...reserved, ...types.map(type => ({ type }))]) {
        const body = { specversion: '1.0', id: '1', source: s.source, type: 'a', ...over }
        assertProblem(
          await s.api.call('POST', '/v1/events', { headers, body }),
          403,
          'reserved-attribute',
        )
      }
    })

    it('lineage inside data has no effect', async () => {
      const s = scene('data-lineage')
      const subscription = await s.subscribe()
      const data = { lineage: [{ subscription: subscription.id, agent: s.agent, message: 'm' }] }
      assert.equal((await s.fate(subscription, { data })).fate, 'delivered')
    })
  })
}

function cooldownCases(scene: MakeScene): void {
  describe('cooldowns and rates', () => {
    it('inside a cooldown with the rule drop the fate is cooldown', async () => {
      const s = scene('cooldown-drop')
      const subscription = await s.subscribe({ cooldownMs: 600_000, cooldownRule: 'drop' })
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      const { fate, stage } = await s.fate(subscription)
      assert.deepEqual([fate, stage], ['cooldown', 'cooldown'])
    })

    it('with the rule group all wait for the end of the cooldown, in one message', async () => {
      const s = scene('cooldown-group')
      const subscription = await s.subscribe({ cooldownMs: 1500, cooldownRule: 'group' })
      const first = await s.fate(subscription)
      assert.equal(first.fate, 'delivered')
      const ids = [await s.send(), await s.send(), await s.send()]
      const found = await Promise.all(
        ids.map(id => s.api.decision(subscription.id, id, 'delivered')),
      )
      assert.equal(new Set(found.map(({ messageId }) => messageId)).size, 1)
      const messages = await s.api.messages(s.agent)
      const group = messages.find(({ id }) => id === found[0]?.messageId)
      assert.deepEqual(group?.events.map(({ id }) => id).sort(), ids.toSorted())
      const apart = messages.map(({ createdAt }) => Date.parse(createdAt)).sort()
      assert.ok((apart[1] ?? 0) - (apart[0] ?? 0) >= 1500, `deliveries at ${apart}`)
    })

    it('above the rate the fate is cooldown at the stage rate', async () => {
      const s = scene('rate')
      const subscription = await s.subscribe({ rate: { perMinute: 2 } })
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      const { fate, stage } = await s.fate(subscription)
      assert.deepEqual([fate, stage], ['cooldown', 'rate'])
    })
  })
}

function groupCases(scene: MakeScene): void {
  describe('groups', () => {
    it('events are grouped by the named values', async () => {
      const s = scene('group-by')
      const group = { by: ['data.shop'], waitMs: 800, intervalMs: 60_000, max: 50 }
      const subscription = await s.subscribe({ group })
      const shops = ['a', 'b', 'a', 'b', 'a']
      const ids: string[] = []
      for (const shop of shops) ids.push(await s.send({ data: { shop } }))
      const waiting = await s.api.decision(subscription.id, ids[0] ?? '')
      assert.ok(['grouped', 'delivered'].includes(waiting.fate), waiting.fate)
      assert.ok(waiting.groupKey, 'a group key')
      for (const id of ids) await s.api.decision(subscription.id, id, 'delivered')
      const sizes = (await s.api.messages(s.agent)).map(({ events }) => events.length).sort()
      assert.deepEqual(sizes, [2, 3])
    })

    it('a full group closes at once, and no message exceeds the maximum', async () => {
      const s = scene('group-max')
      const group = { by: [], waitMs: 2500, intervalMs: 2500, max: 3 }
      const subscription = await s.subscribe({ group })
      const ids = await s.api.publish(
        ...Array.from({ length: 7 }, () => ({ source: s.source, type: 'e2e.happened' })),
      )
      await Promise.all(ids.map(id => s.api.decision(subscription.id, id, 'delivered')))
      const messages = await s.api.messages(s.agent)
      const sizes = messages.map(({ events }) => events.length).sort()
      assert.deepEqual(sizes, [1, 3, 3])
      const all = messages.flatMap(({ events }) => events.map(({ id }) => id))
      assert.deepEqual(all.sort(), ids.toSorted())
    })

    it('the interval counts from the flush before', async () => {
      const s = scene('group-interval')
      const group = { by: [], waitMs: 0, intervalMs: 1500, max: 50 }
      const subscription = await s.subscribe({ group })
      const first = await s.fate(subscription)
      assert.equal(first.fate, 'delivered')
      const later = await s.api.decision(subscription.id, await s.send(), 'delivered')
      const [a, b] = (await s.api.messages(s.agent))
        .map(({ createdAt }) => Date.parse(createdAt))
        .sort()
      assert.ok((b ?? 0) - (a ?? 0) >= 1500, `flushes at ${a} and ${b}`)
      assert.notEqual(later.messageId, first.messageId)
    })
  })
}

function stateCases(scene: MakeScene): void {
  describe('occurrences and dates', () => {
    it('after the last occurrence the subscription is exhausted', async () => {
      const s = scene('exhausted')
      const subscription = await s.subscribe({ maxOccurrences: 2 })
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      assert.equal((await s.fate(subscription)).fate, 'inactive')
      await s.becomes(subscription, 'exhausted')
      const resume = await s.api.call('POST', `/v1/subscriptions/${subscription.id}/resume`)
      assertProblem(resume, 409, 'conflict')
    })

    it('before notBefore the fate is inactive', async () => {
      const s = scene('not-before')
      const notBefore = new Date(Date.now() + 3_600_000).toISOString()
      const { fate, stage, reason } = await s.fate(await s.subscribe({ notBefore }))
      assert.deepEqual([fate, stage, reason], ['inactive', 'state', 'not-before'])
    })

    it('after expiresAt the subscription is expired and its events are inactive', async () => {
      const s = scene('expires')
      const expiresAt = new Date(Date.now() + 2500).toISOString()
      const subscription = await s.subscribe({ expiresAt })
      const early = await s.fate(subscription)
      if (Date.parse(early.at) < Date.parse(expiresAt)) assert.equal(early.fate, 'delivered')
      await s.becomes(subscription, 'expired')
      assert.equal((await s.fate(subscription)).fate, 'inactive')
    })

    it('an expiry in the past is refused', async () => {
      const s = scene('expired-before')
      const body = {
        ...{ name: s.agent, agent: s.agent, instruction: 'x', on: { sources: [s.source] } },
        limits: { expiresAt: '2020-01-01T00:00:00Z' },
      }
      const refused = await s.api.call('POST', '/v1/subscriptions', { body })
      const { pointer } = assertProblem(refused, 422, 'invalid')
      assert.equal(pointer, '/limits/expiresAt')
    })
  })
}

function ageCases(scene: MakeScene): void {
  describe('age and overlap', () => {
    it('an event older than maxEventAge is stale', async () => {
      const s = scene('stale')
      const subscription = await s.subscribe({ maxEventAgeMs: 60_000 })
      const time = new Date(Date.now() - 120_000).toISOString()
      assert.equal((await s.fate(subscription, { time })).fate, 'stale')
      assert.equal((await s.fate(subscription)).fate, 'delivered')
    })

    it('while a run is open, the overlap rule skip drops', async () => {
      const s = scene('overlap')
      const subscription = await s.subscribe({ concurrency: { max: 1, overlap: 'skip' } })
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      const skipped = await s.fate(subscription)
      assert.deepEqual([skipped.fate, skipped.stage], ['overlap', 'delivery'])
      await s.api.complete(await s.take())
      await eventually('a delivery after the run', async () => {
        const { fate } = await s.fate(subscription)
        return fate === 'delivered' ? { fate } : `saw ${fate}`
      })
    })
  })
}

function stormCases(scene: MakeScene): void {
  describe('storms and own budgets', () => {
    it('a storm suspends and tells once; a resume empties the window', async () => {
      const s = scene('storm')
      const subscription = await s.subscribe({ storm: { windowMs: 600_000, max: 3 } })
      const fates: string[] = []
      for (let at = 0; at < 5; at += 1) fates.push((await s.fate(subscription)).fate)
      assert.deepEqual(fates, ['delivered', 'delivered', 'delivered', 'storm', 'inactive'])
      const suspended = await s.becomes(subscription, 'suspended')
      assert.equal(suspended.state.until ?? null, null)
      await s.api.ok('POST', `/v1/subscriptions/${subscription.id}/resume`, { reason: 'checked' })
      const again: string[] = []
      for (let at = 0; at < 4; at += 1) again.push((await s.fate(subscription)).fate)
      assert.deepEqual(again, ['delivered', 'delivered', 'delivered', 'storm'])
      const notices = await eventually('the notices', async () => {
        const { items } = await s.api.ok<{ items: { kind: string; subscription?: string }[] }>(
          'GET',
          '/v1/notices?limit=200',
        )
        const own = items.filter(n => n.kind === 'storm' && n.subscription === subscription.id)
        return own.length >= 2 ? own : `${own.length} storm notices`
      })
      assert.equal(notices.length, 2)
    })

    it('the event that finds the own budget used up is over-budget and suspends', async () => {
      const s = scene('budget')
      const subscription = await s.subscribe({ budget: { activationsPerDay: 2 } })
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      assert.equal((await s.fate(subscription)).fate, 'delivered')
      const over = await s.fate(subscription)
      assert.deepEqual([over.fate, over.stage], ['over-budget', 'budget'])
      const { state } = await s.becomes(subscription, 'suspended')
      assert.ok(state.until, 'until the end of the period')
      const midnight = new Date(state.until)
      assert.equal(midnight.getUTCHours() + midnight.getUTCMinutes(), 0)
      assert.ok(midnight.getTime() > Date.now())
      assert.equal((await s.fate(subscription)).fate, 'inactive')
    })
  })
}
