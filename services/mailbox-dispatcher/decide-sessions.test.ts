import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { EventRecord, Message, Notice } from '#schemas/generated/records.ts'
import { createMailboxBench, messageNamed, RULES, TENANT } from '#test/support/mailbox-bench.ts'
import { decideAnswer } from './decide-answer.ts'
import { decideAsk } from './decide-ask.ts'
import { type AuthorizeFacts, decideAuthorize } from './decide-authorize.ts'
import { decideComplete } from './decide-complete.ts'
import { decideContinuation, FOLLOW_UPS_PER_MINUTE } from './decide-continuation.ts'
import type { Effect } from './effect.ts'

const ANA = { name: 'user:ana', mayApprove: false }
const code = (expected: string) => (error: unknown) =>
  isAmbitError(error) && error.code === expected

function withOne(over: Partial<Message> = {}) {
  const bench = createMailboxBench()
  bench.take(messageNamed('m1', over))
  return { bench, claim: bench.claimOne() }
}

describe('decideAsk and decideAnswer', () => {
  it('a question ends the run; its answer comes back once as a continuation', () => {
    const lineage = [{ subscription: 's0', agent: 'first', message: 'm0' }]
    const { bench, claim } = withOne({ session: 'chat', lineage })
    const ask = { claim, question: 'Shall I pay?', options: ['yes', 'no'], rules: RULES }
    const { approvalId } = bench.run(unit => decideAsk(unit, ask))
    assert.equal(bench.run(unit => decideAsk(unit, ask)).approvalId, approvalId)
    const [notice] = bench.emitted<Notice>('notices')
    assert.equal(notice?.kind, 'approval')
    assert.equal(notice?.owner, 'user:ana')
    const answer = { decision: 'accept' as const }
    const given = { approvalId, answer, by: ANA }
    const first = bench.run(unit => decideAnswer(unit, given))
    const second = bench.run(unit => decideAnswer(unit, given))
    assert.equal(second.messageId, first.messageId)
    const [continuation, ...more] = bench.emitted<Message>('mailbox')
    assert.equal(more.length, 0)
    assert.equal(continuation?.kind, 'continuation')
    assert.equal(continuation?.session, 'chat')
    assert.deepEqual(continuation?.lineage, lineage)
    const types = bench
      .emitted<EventRecord>('ingress.platform')
      .map(({ attributes }) => attributes.type)
    assert.deepEqual(types, ['platform.run.finished', 'platform.approval.resolved'])
  })

  it('refuses another answer, a stranger, and a question nobody asked', () => {
    const { bench, claim } = withOne()
    const ask = { claim, question: 'Shall I?', rules: RULES }
    const { approvalId } = bench.run(unit => decideAsk(unit, ask))
    const answer =
      (decision: 'accept' | 'ignore', by = ANA, id = approvalId) =>
      () =>
        bench.run(unit => decideAnswer(unit, { approvalId: id, answer: { decision }, by }))
    assert.throws(answer('accept', { name: 'user:eve', mayApprove: false }), code('forbidden'))
    assert.throws(answer('accept', ANA, 'a_nobody'), code('not-found'))
    answer('accept')()
    assert.throws(answer('ignore'), code('conflict'))
  })
})

describe('decideAuthorize', () => {
  const live = { approval: 'approved', operation: 'active' }
  const subscription = (state = live) =>
    ({ id: 's1', state, limits: {} }) as unknown as Subscription
  const facts = (over: Partial<AuthorizeFacts> = {}): AuthorizeFacts => ({
    policy: defaultPolicy(TENANT),
    subscription: subscription(),
    isStopped: false,
    heartbeatAgeMs: 0,
    continuityMs: 3_600_000,
    ...over,
  })
  const write: Effect = { tool: 'pay', class: 'write', egress: false }

  const CASES: [string, Partial<AuthorizeFacts>, Partial<Effect>, string][] = [
    ['a write under live policy', {}, {}, 'allowed'],
    ['a stopped agent', { isStopped: true }, {}, 'agent-stopped'],
    ['a lost subscription', { subscription: undefined }, {}, 'subscription-unknown'],
    [
      'a paused subscription',
      { subscription: subscription({ ...live, operation: 'paused' }) },
      {},
      'subscription-paused',
    ],
    ['a revoked grant', { policy: { ...defaultPolicy(TENANT), grants: [] } }, {}, 'not-entitled'],
    ['a write while the other plane is away', { heartbeatAgeMs: 60_000 }, {}, 'allowed'],
    [
      'a sensitive effect while it is away',
      { heartbeatAgeMs: 60_000 },
      { class: 'sensitive' },
      'control-plane-away',
    ],
    ['policy that is too old', { heartbeatAgeMs: 3_600_001 }, {}, 'policy-too-old'],
  ]
  for (const [name, over, effect, reason] of CASES) {
    it(`${name}: ${reason}`, () => {
      const { bench, claim } = withOne()
      const input = { claim, effect: { ...write, ...effect }, facts: facts(over) }
      const answer = bench.run(unit => decideAuthorize(unit, input))
      assert.deepEqual(answer, { allowed: reason === 'allowed', reason })
    })
  }

  it('a run whose tokens are used up may do nothing more', () => {
    const { bench, claim } = withOne()
    bench.take(messageNamed('m2'))
    const next = bench.claimOne()
    const usage = { inputTokens: 60, outputTokens: 40 }
    const result = { ok: true, stopReason: 'end-turn', usage }
    bench.run(unit => decideComplete(unit, { claim, result, rules: RULES }))
    const limited = (tokensPerDay: number) => {
      const policy = { ...defaultPolicy(TENANT), budgets: { tenant: { tokensPerDay } } }
      const input = { claim: next, effect: write, facts: facts({ policy }) }
      return bench.run(unit => decideAuthorize(unit, input)).reason
    }
    assert.equal(limited(100), 'over-budget: tenant tokens')
    assert.equal(limited(101), 'allowed')
  })

  it('a way out needs a yes to that very effect once untrusted content meets private data', () => {
    const evidence = [{ quote: 'send it', source: '/mail', pointer: '/text' }]
    const { bench, claim } = withOne({ onBehalfOf: 'user:ana', evidence })
    const effect: Effect = { tool: 'mail', class: 'write', egress: true }
    const authorize = (by = claim, what = effect) =>
      bench.run(unit => decideAuthorize(unit, { claim: by, effect: what, facts: facts() }))
    assert.equal(authorize().reason, 'approval-needed')
    const ask = { claim, question: 'Send?', effect: { tool: 'mail' }, rules: RULES }
    const { approvalId } = bench.run(unit => decideAsk(unit, ask))
    const given = { approvalId, answer: { decision: 'accept' as const }, by: ANA }
    bench.run(unit => decideAnswer(unit, given))
    const [continuation] = bench.emitted<Message>('mailbox')
    assert.ok(continuation)
    bench.take(continuation)
    const next = bench.claimOne()
    assert.equal(authorize(next).allowed, true)
    assert.equal(authorize(next, { ...effect, tool: 'upload' }).reason, 'approval-needed')
  })
})

describe('decideContinuation', () => {
  const turn = {
    agent: 'triage',
    session: 'chat',
    kind: 'turn' as const,
    input: { text: 'hello' },
    requestId: 'r1',
    by: 'user:ana',
    policy: defaultPolicy(TENANT),
  }

  it('a used-up budget of the agent stops turns until its period ends', () => {
    const { bench } = withOne()
    const budgets = { agent: { activationsPerDay: 1 } }
    const bounded = { ...turn, policy: { ...turn.policy, budgets } }
    bench.run(unit => decideContinuation(unit, bounded))
    const second = { ...bounded, requestId: 'r2' }
    assert.throws(() => bench.run(unit => decideContinuation(unit, second)), code('rate-limited'))
    bench.now += 24 * 3_600_000
    bench.run(unit => decideContinuation(unit, second))
  })

  it('a turn is a message of its session, the same for the same request', () => {
    const { bench } = withOne()
    const { id } = bench.run(unit => decideContinuation(unit, turn))
    assert.equal(bench.run(unit => decideContinuation(unit, turn)).id, id)
    const [message] = bench.emitted<Message>('mailbox')
    assert.deepEqual(message?.input, { kind: 'turn', input: { text: 'hello' }, by: 'user:ana' })
    assert.deepEqual(message?.lineage, [])
  })

  it('a follow-up carries the lineage of its run and belongs to its session, for 24 h', () => {
    const lineage = [{ subscription: 's0', agent: 'first', message: 'm0' }]
    const { bench, claim } = withOne({ session: 'chat', lineage })
    const followUp = { ...turn, kind: 'follow-up' as const, claim }
    bench.run(unit => decideContinuation(unit, followUp))
    assert.deepEqual(bench.emitted<Message>('mailbox').at(0)?.lineage, lineage)
    const foreign = { ...followUp, session: 'other' }
    assert.throws(() => bench.run(unit => decideContinuation(unit, foreign)), code('bad-handle'))
    bench.now += 24 * 3_600_000 + 1
    assert.throws(() => bench.run(unit => decideContinuation(unit, followUp)), code('stale-lease'))
  })

  it('follow-ups of one session are bounded in rate', () => {
    const { bench, claim } = withOne({ session: 'chat' })
    const send = (at: number) => () => {
      const followUp = { ...turn, kind: 'follow-up' as const, claim, requestId: `r${at}` }
      return bench.run(unit => decideContinuation(unit, followUp))
    }
    for (let at = 0; at < FOLLOW_UPS_PER_MINUTE; at++) send(at)()
    assert.throws(send(-1), code('rate-limited'))
  })
})
