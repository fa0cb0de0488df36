import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MailboxTransition, Notice, Outcome } from '#schemas/generated/records.ts'
import { createMailboxBench, messageNamed } from '#test/support/mailbox-bench.ts'
import { LostState } from './lost-state.ts'
import { type MessageDocument, messageKey, queueOf } from './message-document.ts'

const ids = (docs: MessageDocument[]) => docs.map(({ id }) => id)

describe('decideClaim', () => {
  it('leases in order of acceptance, with growing tokens', () => {
    const bench = createMailboxBench()
    for (const id of ['m3', 'm1', 'm2']) bench.take(messageNamed(id))
    const claimed = bench.claim({ max: 2 })
    assert.deepEqual(ids(claimed), ['m3', 'm1'])
    const [first = 0, second = 0] = claimed.map(({ token }) => token)
    assert.ok(second > first)
    assert.equal(bench.claim().at(0)?.token, second + 1)
  })

  it('never has more leases than the agent allows', () => {
    const bench = createMailboxBench({ maxConcurrentLeases: 2 })
    for (const id of ['m1', 'm2', 'm3']) bench.take(messageNamed(id))
    assert.equal(bench.claim({ max: 3 }).length, 2)
    assert.equal(bench.claim({ max: 3 }).length, 0)
  })

  it('gives one lease per session and goes on to the next session', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1', { session: 'a' }))
    bench.take(messageNamed('m2', { session: 'a' }))
    bench.take(messageNamed('m3', { session: 'b:/ ' }))
    assert.deepEqual(ids(bench.claim({ max: 3 })), ['m1', 'm3'])
    assert.deepEqual(bench.claim({ max: 3 }), [])
  })

  it('keeps the concurrency of a subscription', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1', { concurrencyMax: 1 }))
    bench.take(messageNamed('m2', { concurrencyMax: 1 }))
    const other = { id: 's2', version: 1, name: 'other', owner: 'user:ana' }
    bench.take(messageNamed('m3', { concurrencyMax: 1, subscription: other }))
    assert.deepEqual(ids(bench.claim({ max: 3 })), ['m1', 'm3'])
  })

  it('leases nothing while the agent is stopped', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1'))
    assert.deepEqual(bench.claim({ isStopped: true }), [])
    assert.equal(bench.claim().length, 1)
  })
})

describe('decideClaim, when something is over', () => {
  it('takes over an expired lease under a higher token and counts the attempt', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1'))
    const before = bench.claimOne({ leaseMs: 1000 })
    bench.now += 999
    assert.deepEqual(bench.claim(), [])
    bench.now += 1
    const [again] = bench.claim()
    assert.equal(again?.id, 'm1')
    assert.equal(again?.attempts, 2)
    assert.ok((again?.token ?? 0) > before.token)
    const states = bench.emitted<MailboxTransition>('mailbox.state').map(({ state }) => state)
    assert.deepEqual(states, ['queued', 'leased', 'queued', 'leased'])
    assert.equal(bench.emitted<Outcome>('outcomes').at(-1)?.state, 'failed')
  })

  it('gives up a message whose last attempt expired, with one notice', () => {
    const bench = createMailboxBench({ maxAttempts: 2 })
    bench.take(messageNamed('m1'))
    for (const _ of [1, 2]) {
      bench.claimOne({ leaseMs: 1000 })
      bench.now += 1000
    }
    assert.deepEqual(bench.claim(), [])
    const doc = bench.document<MessageDocument>(messageKey('m1'))
    assert.equal(doc?.state, 'dead')
    assert.ok(doc?.message, 'a dead message keeps its body for a redrive')
    assert.equal(bench.emitted<Outcome>('outcomes').at(-1)?.state, 'dead')
    assert.deepEqual(
      bench.emitted<Notice>('notices').map(({ kind }) => kind),
      ['message-dead'],
    )
    assert.equal(bench.due(queueOf('triage')).size, 0)
  })

  it('settles a message past its own expiry instead of leasing it', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1', { expiresAt: bench.now + 10 }))
    bench.take(messageNamed('m2'))
    bench.now += 10
    assert.deepEqual(ids(bench.claim()), ['m2'])
    assert.equal(bench.document<MessageDocument>(messageKey('m1'))?.state, 'expired')
    assert.equal(bench.emitted<Outcome>('outcomes').at(0)?.state, 'expired')
  })

  it('finds a free message behind many that are blocked', () => {
    const bench = createMailboxBench()
    for (let at = 0; at < 300; at++) bench.take(messageNamed(`m${at}`, { session: 'busy' }))
    bench.take(messageNamed('free'))
    assert.deepEqual(ids(bench.claim({ max: 2 })), ['m0', 'free'])
  })

  it('a queue entry without its document is a loss, and is dropped once forgotten', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1'))
    bench.run(unit => unit.get(messageKey('m1')) && unit.remove(messageKey('m1')))
    assert.throws(() => bench.claim(), LostState)
    assert.deepEqual(bench.claim({ forgotten: new Set(['m1']) }), [])
    assert.equal(bench.due(queueOf('triage')).size, 0)
  })
})
