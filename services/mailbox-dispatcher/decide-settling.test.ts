import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseLineage } from '#kernel/domain/event.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { EventRecord, Outcome, Usage } from '#schemas/generated/records.ts'
import { createMailboxBench, messageNamed, RULES } from '#test/support/mailbox-bench.ts'
import { decideCancel } from './decide-cancel.ts'
import { decideComplete } from './decide-complete.ts'
import { backoffOf, decideFail } from './decide-fail.ts'
import { decideRedrive } from './decide-redrive.ts'
import { decideRenew } from './decide-renew.ts'
import { type MessageDocument, messageKey, queueOf } from './message-document.ts'

const OK = { ok: true, stopReason: 'end-turn', usage: { inputTokens: 10, outputTokens: 5 } }
const AGENT = { maxAttempts: 2, backoffMs: 1000 }

function withOne(over = {}) {
  const bench = createMailboxBench()
  bench.take(messageNamed('m1', over))
  return { bench, claim: bench.claimOne({ leaseMs: 1000 }) }
}

const code = (expected: string) => (error: unknown) =>
  isAmbitError(error) && error.code === expected

describe('decideComplete', () => {
  it('settles with the run, and tells guard, subscribers and accounts', () => {
    const lineage = [{ subscription: 's0', agent: 'first', message: 'm0' }]
    const { bench, claim } = withOne({ lineage })
    bench.run(unit => decideComplete(unit, { claim, result: OK, rules: RULES }))
    const doc = bench.document<MessageDocument>(messageKey('m1'))
    assert.equal(doc?.state, 'done')
    assert.equal(doc?.message, null)
    assert.equal(bench.due(queueOf('triage')).size, 0)
    assert.equal(bench.emitted<Outcome>('outcomes').at(0)?.ok, true)
    assert.equal(bench.emitted<Usage>('usage').at(0)?.inputTokens, 10)
    const [finished] = bench.emitted<EventRecord>('ingress.platform')
    assert.equal(finished?.attributes.type, 'platform.run.finished')
    assert.equal(finished?.attributes.subject, 's1')
    const hops = parseLineage(finished?.attributes.lineage).map(({ agent }) => agent)
    assert.deepEqual(hops, ['first', 'triage'])
  })

  it('answers the stored result to the same lease, and writes nothing more', () => {
    const { bench, claim } = withOne()
    bench.run(unit => decideComplete(unit, { claim, result: OK, rules: RULES }))
    const count = bench.outputs.length
    bench.now += 100_000
    const other = { ok: false, stopReason: 'other' }
    const again = bench.run(unit => decideComplete(unit, { claim, result: other, rules: RULES }))
    assert.equal(again.isRepeat, true)
    assert.equal(again.run?.ok, true)
    assert.equal(bench.outputs.length, count)
  })

  it('refuses an expired lease even when nobody else has the message (I7)', () => {
    const { bench, claim } = withOne()
    bench.now += 1000
    const complete = (unit: UnitOfWork) => decideComplete(unit, { claim, result: OK, rules: RULES })
    assert.throws(() => bench.run(complete), code('stale-lease'))
  })

  it('tells a stale holder the token and expiry of the current one', () => {
    const { bench, claim } = withOne()
    bench.now += 1000
    const current = bench.claimOne()
    assert.throws(
      () => bench.run(unit => decideComplete(unit, { claim, result: OK, rules: RULES })),
      (error: unknown) =>
        isAmbitError(error) &&
        error.code === 'stale-lease' &&
        error.facts.extra?.token === current.token &&
        typeof error.facts.extra.expiresAt === 'string',
    )
  })
})

describe('decideRenew', () => {
  it('holds the message longer, and keeps the token', () => {
    const { bench, claim } = withOne()
    bench.now += 900
    const lease = bench.run(unit => decideRenew(unit, { claim, leaseMs: 5000 }))
    assert.equal(lease.token, claim.token)
    bench.now += 4999
    assert.deepEqual(bench.claim(), [])
    bench.now += 1
    assert.throws(
      () => bench.run(unit => decideRenew(unit, { claim, leaseMs: 5000 })),
      code('stale-lease'),
    )
    assert.equal(bench.claim().length, 1)
  })
})

describe('decideFail', () => {
  const fail = (claim: ReturnType<typeof withOne>['claim'], retryable = true) => ({
    claim,
    error: 'no answer',
    retryable,
    agent: AGENT,
    rules: RULES,
  })

  it('comes back after a backoff, then is dead', () => {
    const { bench, claim } = withOne()
    const first = bench.run(unit => decideFail(unit, fail(claim)))
    assert.equal(first.state, 'queued')
    assert.equal(first.availableAt, bench.now + 1000)
    bench.now += 999
    assert.deepEqual(bench.claim(), [])
    bench.now += 1
    const second = bench.claimOne()
    assert.equal(bench.run(unit => decideFail(unit, fail(second))).state, 'dead')
    const states = bench.emitted<Outcome>('outcomes').map(({ state }) => state)
    assert.deepEqual(states, ['failed', 'dead'])
    const runs = bench.outputs.filter(({ topic }) => topic === 'ingress.platform')
    assert.equal(new Set(runs.map(({ id }) => id)).size, 2)
  })

  it('is dead at once when it must not be tried again', () => {
    const { bench, claim } = withOne()
    assert.equal(bench.run(unit => decideFail(unit, fail(claim, false))).state, 'dead')
  })

  it('answers the same lease again without a second failure', () => {
    const { bench, claim } = withOne()
    bench.run(unit => decideFail(unit, fail(claim)))
    const count = bench.outputs.length
    assert.equal(bench.run(unit => decideFail(unit, fail(claim))).isRepeat, true)
    assert.equal(bench.outputs.length, count)
  })

  it('doubles the backoff up to a minute', () => {
    assert.deepEqual(
      [1, 2, 3, 7, 50].map(attempt => backoffOf(1000, attempt)),
      [1000, 2000, 4000, 60_000, 60_000],
    )
  })

  it('redrive gives a dead message all its attempts again, under new numbers', () => {
    const { bench, claim } = withOne()
    bench.run(unit => decideFail(unit, fail(claim, false)))
    bench.run(unit => decideRedrive(unit, { messageId: 'm1', by: 'user:ana' }))
    const [doc] = bench.claim()
    assert.equal(doc?.attempts, 2)
    assert.equal(doc?.attemptsBase, 1)
    assert.throws(
      () => bench.run(unit => decideRedrive(unit, { messageId: 'm1', by: 'user:ana' })),
      code('conflict'),
    )
  })
})

describe('decideCancel', () => {
  it('ends a run under way: its lease settles nothing any more', () => {
    const { bench, claim } = withOne()
    const cancel = { messageId: 'm1', by: 'user:ana', reason: 'not needed' }
    bench.run(unit => decideCancel(unit, cancel))
    bench.run(unit => decideCancel(unit, cancel))
    assert.equal(bench.emitted<Outcome>('outcomes').length, 1)
    assert.throws(
      () => bench.run(unit => decideComplete(unit, { claim, result: OK, rules: RULES })),
      code('stale-lease'),
    )
    assert.deepEqual(bench.claim(), [])
  })

  it('refuses what is settled or unknown', () => {
    const { bench, claim } = withOne()
    bench.run(unit => decideComplete(unit, { claim, result: OK, rules: RULES }))
    const cancel = (messageId: string) => () =>
      bench.run(unit => decideCancel(unit, { messageId, by: 'user:ana', reason: '' }))
    assert.throws(cancel('m1'), code('conflict'))
    assert.throws(cancel('nobody'), code('not-found'))
  })
})
