import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MailboxTransition } from '#schemas/generated/records.ts'
import { createMailboxBench, messageNamed, RULES, START } from '#test/support/mailbox-bench.ts'
import { decideComplete } from './decide-complete.ts'
import { type MessageDocument, messageKey, queueOf, readyKey } from './message-document.ts'

describe('decideIntake', () => {
  it('queues a message once and tells the log', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1'))
    assert.equal(bench.document<MessageDocument>(messageKey('m1'))?.state, 'queued')
    assert.deepEqual([...bench.due(queueOf('triage')).values()], [START])
    const [queued] = bench.emitted<MailboxTransition>('mailbox.state')
    assert.equal(queued?.state, 'queued')
    assert.equal(queued?.version, 1)
    assert.equal(queued?.mailboxVersion, 0)
    assert.ok(bench.document(readyKey(0)))
  })

  it('a second record of the same message changes nothing (I2)', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1'))
    bench.take(messageNamed('m1'))
    assert.equal(bench.outputs.length, 1)
    assert.equal(bench.due(queueOf('triage')).size, 1)
  })

  it('a record of a settled message never brings it back (I7)', () => {
    const bench = createMailboxBench()
    bench.take(messageNamed('m1'))
    const claim = bench.claimOne()
    const result = { ok: true, stopReason: 'end-turn' }
    bench.run(unit => decideComplete(unit, { claim, result, rules: RULES }))
    bench.take(messageNamed('m1'))
    assert.equal(bench.document<MessageDocument>(messageKey('m1'))?.state, 'done')
    assert.deepEqual(bench.claim(), [])
  })
})
