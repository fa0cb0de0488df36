/** Trying a condition: everything is said, and nothing happens. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backtest } from '#services/client/backtest-calls.ts'
import { eventually } from '#test/support/api-caller.ts'
import { assertProblem, createScene, type GetWorld, type Scene } from './scene.ts'

const DROP = { cooldownMs: 3_600_000, cooldownRule: 'drop' } as const
let made = 0
const eventOf = ({ source }: Scene, data: unknown = { total: 1 }) => {
  made += 1
  const id = `trial-${made}`
  return { specversion: '1.0', id, source, type: 'e2e.happened', data }
}

interface Tried {
  items: { fate: string | null; reason: string; verdict: unknown; event: { id: string } }[]
  usage: { calls: number }
}
const fatesOf = ({ items }: { items: { fate: string | null }[] }) => items.map(i => i.fate)

export function trialCases(world: GetWorld): void {
  describe('trying a condition', { concurrency: true }, () => {
    testCases(world)
    backtestCases(world)
    labelCases(world)
  })
}

function testCases(world: GetWorld): void {
  it('a saved subscription tells each fate, and nothing remembers it', async () => {
    const s = createScene(world().api, 'try-saved')
    const { id } = await s.subscribe(DROP)
    const events = [eventOf(s), eventOf(s)]
    for (let round = 0; round < 2; round++) {
      const tried = await s.api.ok<Tried>('POST', `/v1/subscriptions/${id}/test`, { events })
      assert.deepEqual(fatesOf(tried), ['delivered', 'cooldown'])
    }
    assert.deepEqual(await s.api.decisions({ subscription: id }), [])
    assert.deepEqual(await s.api.claim(s.agent, { waitMs: 0 }), [])
    const subscription = await s.api.subscription(id)
    assert.equal((await s.fate(subscription, { id: events[0]?.id })).fate, 'delivered')
    const after = await s.api.ok<Tried>('POST', `/v1/subscriptions/${id}/test`, { events })
    assert.deepEqual(fatesOf(after), ['cooldown', 'cooldown'], 'what really happened counts')
  })

  it('a draft is checked as a create would be, and tried without being saved', async () => {
    const s = createScene(world().api, 'try-draft')
    const filters = [{ exact: { 'data.language': 'es' } }]
    const on = { sources: [s.source] }
    const subscription = { name: 'draft', agent: s.agent, instruction: 'Look.', on, filters }
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, {})
    const events = [eventOf(s, { language: 'es' }), eventOf(s, { language: 'en' })]
    const tried = await s.api.ok<Tried>('POST', '/v1/test', { subscription, events })
    assert.deepEqual(fatesOf(tried), ['delivered', null])
    assert.equal(tried.items[1]?.reason, 'filter')
    const { items } = await s.api.ok<{ items: unknown[] }>(
      'GET',
      `/v1/subscriptions?agent=${s.agent}`,
    )
    assert.deepEqual(items, [])
    const bad = { subscription: { ...subscription, filters: [{ cel: '1 +' }] }, events }
    assertProblem(await s.api.call('POST', '/v1/test', { body: bad }), 422, 'invalid')
    const none = { body: { subscription, events: [] } }
    assertProblem(await s.api.call('POST', '/v1/test', none), 400, 'bad-request')
    const broken = { body: { subscription, events: [{ id: 'x' }] } }
    const refused = assertProblem(await s.api.call('POST', '/v1/test', broken), 400, 'bad-event')
    assert.match(String(refused.pointer), /^\/events\/0/)
  })

  it('a condition in plain language is judged, with its evidence', async () => {
    const s = createScene(world().api, 'try-meaning')
    await s.api.ok('PUT', `/v1/agents/${s.agent}`, {})
    const on = { sources: [s.source] }
    const condition = { criterion: 'the customer asks for a refund' }
    const subscription = { name: 'draft', agent: s.agent, instruction: 'Look.', on, condition }
    const text = 'I would like a refund for my last order, please.'
    const events = [eventOf(s, { text }), eventOf(s, { text: 'Thank you, all is well.' })]
    const tried = await s.api.ok<Tried>('POST', '/v1/test', { subscription, events })
    assert.deepEqual(fatesOf(tried), ['delivered', 'rejected'])
    const verdict = tried.items[0]?.verdict as { model: string; evidence: { quote: string }[] }
    assert.equal(verdict.model, 'offline')
    assert.ok(text.includes(verdict.evidence[0]?.quote ?? 'nothing'))
  })
}

function backtestCases(world: GetWorld): void {
  it('a backtest waits for its confirmation, then says how often it would have fired', async () => {
    const s = createScene(world().api, 'back')
    const watcher = await s.subscribe()
    for (let n = 0; n < 3; n++) await s.fate(watcher)
    const draft = {
      ...{ name: 'later', agent: s.agent, instruction: 'Look.', on: { sources: [s.source] } },
      limits: DROP,
    }
    const asked = await s.api.ok<Backtest>('POST', '/v1/backtests', { draft, hours: 1 })
    assert.deepEqual([asked.state, asked.estimate.matched, asked.items], ['estimated', 3, []])
    await s.api.ok('POST', `/v1/backtests/${asked.id}/confirm`, {})
    const done = await eventually('the backtest', async () => {
      const found = await s.api.ok<Backtest>('GET', `/v1/backtests/${asked.id}`)
      return found.state === 'running' ? 'is running' : found
    })
    assert.deepEqual([done.state, done.fired, done.progress], ['done', 1, { done: 3, total: 3 }])
    assert.deepEqual(fatesOf(done), ['delivered', 'cooldown', 'cooldown'])
    assert.equal((await s.api.decisions({ subscription: watcher.id })).length, 3)
  })

  it('a cancelled one judges nothing, and a stranger finds none', async () => {
    const s = createScene(world().api, 'back-off')
    const { id: subscription } = await s.subscribe()
    const asked = await s.api.ok<Backtest>('POST', '/v1/backtests', { subscription, hours: 1 })
    const cancelled = await s.api.call('DELETE', `/v1/backtests/${asked.id}`)
    assert.equal(cancelled.json.state, 'cancelled')
    const late = await s.api.ok<Backtest>('POST', `/v1/backtests/${asked.id}/confirm`, {})
    assert.equal(late.state, 'cancelled')
    const stranger = await world().inTenant('strangers')
    const found = await stranger.call('GET', `/v1/backtests/${asked.id}`)
    assertProblem(found, 404, 'not-found')
    assertProblem(
      await s.api.call('POST', '/v1/backtests', { body: { hours: 1 } }),
      ...([400, 'bad-request'] as const),
    )
  })
}

function labelCases(world: GetWorld): void {
  it('labels say what should have matched, and an edit is compared on them', async () => {
    const s = createScene(world().api, 'labels')
    const condition = { criterion: 'the customer asks for a refund' }
    const subscription = await s.subscribe(undefined, { condition })
    const say = async (text: string) => {
      const id = await s.send({ data: { text } })
      const found = await eventually(`a verdict on ${text}`, async () => {
        const [row] = await s.api.decisions({ subscription: subscription.id, event: id })
        return row && row.fate !== 'held' && row.verdict ? row : 'waits'
      })
      return { id, verdict: found.verdict as { id: string; outcome: string } }
    }
    const refund = await say('I would like a refund, please.')
    const parcel = await say('My parcel has not arrived.')
    assert.deepEqual([refund.verdict.outcome, parcel.verdict.outcome], ['matched', 'not-matched'])
    const mark = (id: string, label: string) =>
      s.api.call('POST', `/v1/verdicts/${id}/label`, { body: { label } })
    assert.equal((await mark(refund.verdict.id, 'right')).status, 201)
    assert.equal((await mark(refund.verdict.id, 'right')).status, 200)
    assertProblem(await mark('v_unknown', 'right'), 404, 'not-found')
    const missed = { subscription: subscription.id, source: s.source, id: parcel.id }
    await s.api.ok('POST', '/v1/labels', { ...missed, label: 'missed' })
    const path = `/v1/subscriptions/${subscription.id}/labels`
    const { items } = await s.api.ok<{ items: { label: string }[] }>('GET', path)
    assert.deepEqual(items.map(({ label }) => label).sort(), ['missed', 'right'])
    const edited = { condition: { criterion: 'a parcel has not arrived' } }
    const { before, after, flips } = await s.api.ok<{
      before: { precision: number; recall: number }
      after: { precision: number; recall: number }
      flips: { id: string; was: boolean; now: boolean }[]
    }>('POST', `${path}/compare`, edited)
    assert.deepEqual([before.precision, before.recall], [1, 0.5])
    assert.deepEqual([after.precision, after.recall], [1, 0.5])
    assert.deepEqual(
      flips.map(({ id, was, now }) => [id, was, now]).sort(),
      [
        [refund.id, true, false],
        [parcel.id, false, true],
      ].sort(),
    )
  })
}
