import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatLineage } from '#kernel/domain/event.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createGuardHarness, type HarnessOptions, START } from './guard-harness.ts'

const codec = createRecordCodec()
const given = (options: Omit<HarnessOptions, 'codec'> = {}) =>
  createGuardHarness({ codec, ...options })

const hop = (agent: string, at: number) => ({ subscription: `s${at}`, agent, message: `m${at}` })
const verdict = (outcome: string, confidence: number) => {
  const body = { evidence: [{ quote: 'money back', pointer: '/text' }] }
  return { id: 'v1', outcome, confidence, model: 'm', cached: false, body }
}
const condition = {
  criterion: 'asks for a refund',
  minConfidence: 0.7,
  scope: 'each' as const,
}

describe('a candidate', () => {
  it('is delivered as one message, charged once, with its event untouched', () => {
    const guard = given()
    guard.send({ id: 'e1', data: { total: 12.5 }, subject: 'o-1' })
    const row = guard.row('e1')
    const [message] = guard.rows('mailbox')
    assert.equal(row?.fate, 'delivered')
    assert.equal(row?.messageId, message?.id)
    assert.equal(message?.events[0]?.json, '{"total":12.5}')
    assert.equal(message?.createdAt, START)
    assert.deepEqual(message?.subscription, {
      ...{ id: 's1', version: 1, name: 'refunds', owner: 'user:ana' },
    })
    assert.deepEqual(
      guard.rows('usage').map(({ subject, activations, day }) => [subject, activations, day]),
      [[message?.id, 1, '2026-11-30']],
    )
    assert.deepEqual(codec.decode('message', row?.emit ?? new Uint8Array()), message)
  })

  it('sent again gets no second fate and is counted', () => {
    const guard = given()
    for (let times = 0; times < 3; times++) guard.send({ id: 'e1' })
    assert.equal(guard.rows('mailbox').length, 1)
    const row = guard.row('e1')
    assert.deepEqual([row?.fate, row?.repeats, row?.seq], ['delivered', 2, 3])
  })

  it('read again from the same place is a replay: written again, not counted', () => {
    const guard = given()
    for (let times = 0; times < 3; times++) guard.send({ id: 'e1', offset: 7 })
    const rows = guard.rows('decisions')
    assert.deepEqual(
      rows.map(({ seq, repeats, fate }) => [seq, repeats, fate]),
      [
        [1, 0, 'delivered'],
        [1, 0, 'delivered'],
        [1, 0, 'delivered'],
      ],
    )
    assert.equal(guard.rows('mailbox').length, 1)
  })

  it('read again from the start after repeats counts them no second time', () => {
    const guard = given()
    guard.send({ id: 'e1', offset: 5 })
    guard.send({ id: 'e1', offset: 9 })
    guard.send({ id: 'e1', offset: 5 })
    guard.send({ id: 'e1', offset: 9 })
    assert.equal(guard.row('e1')?.repeats, 1)
    assert.deepEqual(guard.counted, { fate: 1, repeat: 1 })
  })

  it('keeps its fate although the subscription was paused in between', () => {
    const guard = given()
    guard.send({ id: 'e1' })
    guard.change(({ state }) => ({ state: { ...state, operation: 'paused' } }))
    guard.send({ id: 'e1' })
    guard.send({ id: 'e2' })
    guard.change(({ state }) => ({ state: { ...state, operation: 'active' } }))
    guard.send({ id: 'e2' })
    assert.equal(guard.row('e1')?.fate, 'delivered')
    assert.deepEqual([guard.row('e2')?.fate, guard.row('e2')?.repeats], ['inactive', 1])
  })

  it('with a claimed dedup key is a duplicate that links the first', () => {
    const guard = given()
    guard.send({ id: 'e1', dedupkey: 'order-1' })
    guard.send({ id: 'e2', dedupkey: 'order-1' })
    guard.send({ id: 'e3', dedupkey: 'order-1' })
    const first = guard.row('e1')
    for (const id of ['e2', 'e3']) {
      const row = guard.row(id)
      assert.deepEqual([row?.fate, row?.stage], ['duplicate', 'dedup'])
      assert.deepEqual(row?.details, {
        ...{ candidateId: first?.candidateId, messageId: first?.messageId },
      })
    }
    assert.equal(guard.rows('mailbox').length, 1)
  })
})

describe('lifecycle and age', () => {
  it('say why nothing is delivered', () => {
    const at = '2026-11-30T11:00:00Z'
    const cases: [Omit<HarnessOptions, 'codec'>, string][] = [
      [{ limits: { notBefore: at } }, 'not-before'],
      [{ limits: { expiresAt: '2026-11-30T10:00:00Z' } }, 'expired'],
    ]
    for (const [options, reason] of cases) {
      const guard = given(options)
      guard.send({ id: 'e1' })
      const row = guard.row('e1')
      assert.deepEqual([row?.fate, row?.stage, row?.reason], ['inactive', 'state', reason])
    }
  })

  it('follow stops of the agent and of the tenant', () => {
    const guard = given()
    guard.world.stopped.agent = true
    guard.send({ id: 'e1' })
    guard.world.stopped.tenant = true
    guard.send({ id: 'e2' })
    assert.equal(guard.row('e1')?.reason, 'agent-stopped')
    assert.equal(guard.row('e2')?.reason, 'tenant-stopped')
  })

  it('make old events stale, by the time they happened', () => {
    const guard = given({ limits: { maxEventAgeMs: 60_000 } })
    guard.send({ id: 'e1', time: '2026-11-30T09:58:59Z' })
    guard.send({ id: 'e2', time: '2026-11-30T09:59:01Z' })
    assert.deepEqual([guard.row('e1')?.fate, guard.row('e2')?.fate], ['stale', 'delivered'])
  })

  it('end after the last delivery, and ask the registry to say so', () => {
    const guard = given({ limits: { maxOccurrences: 2 } })
    for (const id of ['e1', 'e2', 'e3']) guard.send({ id })
    assert.deepEqual(guard.fates(), ['delivered', 'delivered', 'inactive'])
    assert.equal(guard.row('e3')?.reason, 'exhausted')
    const [change, ...more] = guard.rows('registry.changes')
    assert.deepEqual([change?.action, change?.ifVersion, more.length], ['exhaust', 1, 0])
  })
})

describe('an edit', () => {
  const filters = (language: string) => [{ exact: { 'data.language': language } }]

  it('answered before the decision is what decides', () => {
    const guard = given({ subscription: { filters: filters('es') } })
    guard.change(() => ({ filters: filters('en') }))
    guard.send({ id: 'e1', data: { language: 'es' }, version: 1 })
    guard.send({ id: 'e2', data: { language: 'en' }, version: 1 })
    assert.deepEqual(
      [guard.row('e1')?.fate, guard.row('e1')?.reason, guard.row('e2')?.fate],
      ['inactive', 'superseded', 'delivered'],
    )
  })

  it('known from a marker while the table lags asks for the batch again', () => {
    const guard = given()
    const before = guard.world.subscription
    guard.change(() => ({ instruction: 'new' }))
    guard.world.subscription = before
    assert.throws(() => guard.send({ id: 'e1' }), { code: 'not-ready' })
  })

  it('that paused stops at once although the table lags', () => {
    const guard = given()
    const before = guard.world.subscription
    guard.change(({ state }) => ({ state: { ...state, operation: 'paused' } }))
    guard.world.subscription = before
    guard.send({ id: 'e1' })
    assert.deepEqual([guard.row('e1')?.fate, guard.row('e1')?.reason], ['inactive', 'paused'])
  })
})

describe('the cycle guard', () => {
  it('ends what the target agent itself set off, unless the pair may re-enter', () => {
    const lineage = formatLineage([hop('triage', 1), hop('planner', 2)])
    const strict = given()
    strict.send({ id: 'e1', lineage })
    assert.deepEqual([strict.row('e1')?.fate, strict.rows('mailbox').length], ['cycle', 0])
    const agentRules = [{ from: 'planner', to: 'triage', allow: true, reentries: 1 }]
    const lenient = given({ policy: { agentRules } })
    lenient.send({ id: 'e1', lineage })
    const twice = [hop('triage', 1), hop('planner', 2), hop('triage', 3), hop('planner', 4)]
    lenient.send({ id: 'e2', lineage: formatLineage(twice) })
    assert.deepEqual(lenient.fates(), ['delivered', 'cycle'])
    assert.equal(lenient.rows('mailbox')[0]?.lineage.length, 2)
  })

  it('bounds the depth of any chain, and ignores lineage inside data', () => {
    const guard = given()
    const chain = (depth: number) =>
      formatLineage(Array.from({ length: depth }, (_, at) => hop(`agent-${at}`, at)))
    guard.send({ id: 'e1', lineage: chain(8) })
    guard.send({ id: 'e2', lineage: chain(9) })
    guard.send({ id: 'e3', data: { lineage: chain(9) } })
    assert.deepEqual(guard.fates(), ['delivered', 'cycle', 'delivered'])
  })
})

describe('entitlement and budgets', () => {
  it('follow the current policy', () => {
    const guard = given({ policy: { grants: [] } })
    guard.send({ id: 'e1' })
    const agentRules = [{ from: 'planner', to: 'triage', allow: false }]
    const ruled = given({ policy: { agentRules } })
    ruled.send({ id: 'e1', lineage: formatLineage([hop('planner', 1)]) })
    const orphaned = given()
    orphaned.world.agents.clear()
    orphaned.send({ id: 'e1' })
    assert.deepEqual(
      [guard, ruled, orphaned].map(g => [g.row('e1')?.fate, g.row('e1')?.reason]),
      [
        ['not-entitled', 'no-grant'],
        ['not-entitled', 'agent-rule'],
        ['not-entitled', 'unknown-agent'],
      ],
    )
  })

  it('suspend for the own budget until the period ends, and start again after it', () => {
    const guard = given({ limits: { budget: { activationsPerDay: 2 } } })
    for (const id of ['e1', 'e2', 'e3', 'e4']) guard.send({ id })
    assert.deepEqual(guard.fates(), ['delivered', 'delivered', 'over-budget', 'inactive'])
    const until = '2026-12-01T00:00:00.000Z'
    const [change, ...more] = guard.rows('registry.changes')
    assert.equal(more.length, 0)
    assert.deepEqual([change?.action, change?.body], ['suspend', { until, kind: 'budget' }])
    assert.deepEqual(change?.by, { tenant: 'acme', kind: 'system', id: 'guard', roles: [] })
    assert.equal(guard.rows('notices').length, 1)
    guard.advance(Date.parse(until) - START)
    guard.send({ id: 'e5' })
    assert.equal(guard.row('e5')?.fate, 'delivered')
  })

  it("suspend nobody for somebody else's budget, and tell once a period", () => {
    const guard = given({ policy: { budgets: { owner: { activationsPerMonth: 1 } } } })
    for (const id of ['e1', 'e2', 'e3']) guard.send({ id })
    assert.deepEqual(guard.fates(), ['delivered', 'over-budget', 'over-budget'])
    assert.equal(guard.rows('registry.changes').length, 0)
    const [notice, ...more] = guard.rows('notices')
    assert.deepEqual([notice?.kind, notice?.owner, more.length], ['budget', 'user:ana', 0])
  })

  it('stop when tokens or money were used up elsewhere', () => {
    const guard = given({ limits: { budget: { tokensPerDay: 100, moneyPerDay: '1.5' } } })
    guard.store.counters.set('budget/subscription/s1/money/2026-11-30', 1_499_999)
    guard.send({ id: 'e1' })
    guard.store.counters.set('budget/subscription/s1/money/2026-11-30', 1_500_000)
    guard.send({ id: 'e2' })
    assert.deepEqual(guard.fates(), ['delivered', 'over-budget'])
  })
})

describe('pacing', () => {
  it('drops inside a cooldown, exactly until its end', () => {
    const guard = given({ limits: { cooldownMs: 60_000 } })
    guard.send({ id: 'e1' })
    guard.advance(59_999)
    guard.send({ id: 'e2' })
    guard.advance(1)
    guard.send({ id: 'e3' })
    assert.deepEqual(guard.fates(), ['delivered', 'cooldown', 'delivered'])
    assert.equal(guard.row('e2')?.stage, 'cooldown')
  })

  it('treats an exceeded rate like a cooldown', () => {
    const guard = given({ limits: { rate: { perMinute: 2 } } })
    for (const id of ['e1', 'e2', 'e3']) {
      guard.send({ id })
      guard.advance(10_000)
    }
    guard.advance(30_000)
    guard.send({ id: 'e4' })
    assert.deepEqual(guard.fates(), ['delivered', 'delivered', 'cooldown', 'delivered'])
    assert.equal(guard.row('e3')?.stage, 'rate')
  })

  it('skips while a run is going, and queues where that is the rule', () => {
    const skip = given({ limits: { concurrency: { max: 1, overlap: 'skip' } } })
    skip.send({ id: 'e1' })
    skip.send({ id: 'e2' })
    const messageId = skip.row('e1')?.messageId ?? ''
    skip.outcome({ messageId, state: 'failed', ok: false })
    skip.send({ id: 'e3' })
    skip.outcome({ messageId })
    skip.send({ id: 'e4' })
    assert.deepEqual(skip.fates(), ['delivered', 'overlap', 'overlap', 'delivered'])
    const queue = given({ limits: { concurrency: { max: 1, overlap: 'queue' } } })
    queue.send({ id: 'e1' })
    queue.send({ id: 'e2' })
    assert.deepEqual(queue.fates(), ['delivered', 'delivered'])
    assert.equal(queue.rows('mailbox')[0]?.concurrencyMax, 1)
  })
})

describe('a semantic condition', () => {
  it('is never an activation without a positive verdict', () => {
    const guard = given({ subscription: { condition } })
    guard.send({ id: 'e1', verdict: verdict('matched', 0.9) })
    guard.send({ id: 'e2', verdict: verdict('matched', 0.6) })
    guard.send({ id: 'e3', verdict: verdict('not-matched', 0.9) })
    guard.send({ id: 'e4', verdict: verdict('failed', 0) })
    guard.send({ id: 'e5' })
    assert.deepEqual(guard.fates(), [
      ...['delivered', 'rejected', 'rejected', 'evaluation-failed', 'evaluation-failed'],
    ])
    const [message] = guard.rows('mailbox')
    assert.deepEqual(message?.evidence, [
      { quote: 'money back', source: '/shop', pointer: '/text' },
    ])
  })

  it('that failed is judged again when the event is sent again', () => {
    const guard = given({ subscription: { condition } })
    guard.send({ id: 'e1', dedupkey: 'k', verdict: verdict('failed', 0) })
    guard.send({ id: 'e1', dedupkey: 'k', verdict: verdict('matched', 0.9) })
    guard.send({ id: 'e2', dedupkey: 'k', verdict: verdict('matched', 0.9) })
    const row = guard.row('e1')
    assert.deepEqual([row?.fate, row?.seq, row?.repeats], ['delivered', 2, 1])
    assert.equal(guard.row('e2')?.fate, 'duplicate')
  })

  it('that was rejected has claimed its occurrence', () => {
    const guard = given({ subscription: { condition } })
    guard.send({ id: 'e1', dedupkey: 'k', verdict: verdict('not-matched', 1) })
    guard.send({ id: 'e2', dedupkey: 'k', verdict: verdict('matched', 1) })
    assert.deepEqual(guard.fates(), ['rejected', 'duplicate'])
  })
})
