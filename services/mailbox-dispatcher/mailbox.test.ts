import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Principal } from '#kernel/domain/principal.ts'
import { type ErrorCode, isAmbitError } from '#kernel/errors.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type { Message } from '#schemas/generated/records.ts'
import { AGENT, messageNamed, TENANT } from '#test/support/mailbox-bench.ts'
import { type MailboxTestWorld, openMailboxWorld } from '#test/support/mailbox-world.ts'
import type { ClaimedItem } from './claim-messages.ts'

const ONE = { executor: 'worker', leaseMs: 1000, waitMs: 0, max: 1 }
const OK = { ok: true, stopReason: 'end-turn' }
const ANA: Principal = { tenant: TENANT, kind: 'person', id: 'ana', roles: ['admin'] }

let world: MailboxTestWorld

async function claimOne(over = {}): Promise<ClaimedItem> {
  const [item] = await world.mailbox.claim(TENANT, AGENT, { ...ONE, ...over })
  assert.ok(item, 'a message is there to claim')
  return item
}

const fails = (call: Promise<unknown>, code: ErrorCode) =>
  assert.rejects(call, error => isAmbitError(error) && error.code === code)

for (const isAtomic of [false, true]) {
  describe(`a mailbox, store and log ${isAtomic ? 'in one transaction' : 'apart'}`, () => {
    beforeEach(async () => {
      world = await openMailboxWorld({ isAtomic })
    })
    afterEach(() => world.stop())
    leases()
    waits()
    people()
  })
}

function leases(): void {
  it('shows a message once, whole, with its lease', async () => {
    const evidence = [{ quote: 'refund', source: '/mail', pointer: '/text' }]
    await world.deliver(messageNamed('m1', { evidence }))
    const item = await claimOne()
    assert.equal(item.attempt, 1)
    assert.equal(item.message.state, 'leased')
    assert.equal(item.message.createdAt, '2026-06-01T00:00:00.000Z')
    assert.equal(item.message.evidence[0]?.untrusted, true)
    assert.deepEqual(await world.mailbox.claim(TENANT, AGENT, ONE), [])
  })

  it('a second worker takes over, and the first one settles nothing (I7)', async () => {
    await world.deliver(messageNamed('m1'))
    const first = await claimOne()
    await world.clock.advance(1000)
    const second = await claimOne()
    assert.ok(second.lease.token > first.lease.token)
    const body = (item: ClaimedItem) => ({ handle: item.lease.handle, result: OK })
    await fails(world.mailbox.complete(TENANT, 'm1', body(first)), 'stale-lease')
    const done = await world.mailbox.complete(TENANT, 'm1', body(second))
    assert.equal(done.state, 'done')
    const again = await world.mailbox.complete(TENANT, 'm1', body(second))
    assert.deepEqual({ ...again, isRepeat: false }, done)
  })

  it('refuses handles that were never issued, or for another message', async () => {
    await world.deliver(messageNamed('m1'))
    const { lease } = await claimOne()
    const renew = (id: string, handle: string, agent?: string) =>
      world.mailbox.renew(TENANT, id, { handle, leaseMs: 1000, agent })
    await fails(renew('m1', 'invented.handle'), 'bad-handle')
    await fails(renew('m2', lease.handle), 'bad-handle')
    await fails(renew('m1', lease.handle, 'other-agent'), 'bad-handle')
    assert.equal((await renew('m1', lease.handle, AGENT)).lease.token, lease.token)
  })

  it('puts bodies that travel by reference back before it answers', async () => {
    const body = { attributes: {}, json: '{"text":"long"}', bytes: null, ref: null }
    const value = createRecordCodec().encode('event', body)
    const [position] = await world.log
      .open('ingest')
      .append([{ topic: 'ingress.webhook', key: 'k', value }])
    assert.ok(position)
    const attributes = { specversion: '1.0', id: 'e1', source: '/s', type: 't' }
    const event = { attributes, json: null, bytes: null, ref: position }
    await world.deliver(messageNamed('m1', { events: [event] } satisfies Partial<Message>))
    const { message } = await claimOne()
    assert.deepEqual(message.events[0], { ...attributes, data: { text: 'long' } })
  })
}

function waits(): void {
  it('a waiting claim wakes when a message comes, within 250 ms', async () => {
    const waiting = world.mailbox.claim(TENANT, AGENT, { ...ONE, waitMs: 60_000 })
    await world.clock.advance(1000)
    const before = world.clock.now()
    await world.deliver(messageNamed('m1'))
    const [item] = await world.during(waiting)
    assert.equal(item?.message.id, 'm1')
    assert.ok(world.clock.now() - before <= 250)
  })

  it('a waiting claim ends with its time, or with its caller', async () => {
    const waiting = world.mailbox.claim(TENANT, AGENT, { ...ONE, waitMs: 1000 })
    const before = world.clock.now()
    assert.deepEqual(await world.during(waiting), [])
    assert.equal(world.clock.now() - before, 1000)
    const gone = new AbortController()
    const left = world.mailbox.claim(TENANT, AGENT, { ...ONE, waitMs: 60_000 }, gone.signal)
    gone.abort()
    assert.deepEqual(await left, [])
  })

  it('a settled run makes room for a waiting claim of the same session', async () => {
    await world.deliver(messageNamed('m1', { session: 'chat' }))
    await world.deliver(messageNamed('m2', { session: 'chat' }))
    const first = await claimOne({ leaseMs: 60_000 })
    const waiting = world.mailbox.claim(TENANT, AGENT, { ...ONE, waitMs: 60_000 })
    await world.clock.advance(500)
    await world.mailbox.complete(TENANT, 'm1', { handle: first.lease.handle, result: OK })
    const [second] = await world.during(waiting)
    assert.equal(second?.message.id, 'm2')
  })
}

function people(): void {
  it('gives up after its attempts, tells a person, and comes back when redriven', async () => {
    const agent = world.agents.get(AGENT)
    assert.ok(agent)
    world.agents.set(AGENT, { ...agent, maxAttempts: 1 })
    await world.deliver(messageNamed('m1'))
    const { lease } = await claimOne()
    const failure = { handle: lease.handle, error: 'no answer', retryable: true }
    assert.equal((await world.mailbox.fail(TENANT, 'm1', failure)).state, 'dead')
    assert.equal(world.values('notices', 'notice').at(0)?.kind, 'message-dead')
    assert.equal((await world.mailbox.redrive(ANA, 'm1')).state, 'queued')
    assert.equal((await claimOne()).attempt, 2)
    assert.equal((await world.mailbox.cancel(ANA, 'm1', 'enough')).state, 'cancelled')
  })

  it("a question's answer and a person's turn come as messages of the session", async () => {
    await world.deliver(messageNamed('m1', { session: 'chat' }))
    const { lease } = await claimOne()
    const ask = { handle: lease.handle, question: 'Shall I?' }
    const { approvalId } = await world.mailbox.ask(TENANT, 'm1', ask)
    const answer = { decision: 'accept' as const }
    await world.mailbox.answerApproval(ANA, approvalId, answer)
    const answered = await world.during(claimOne({ waitMs: 1000 }))
    assert.equal((answered.message.input as { decision: string }).decision, 'accept')
    const turn = { session: 'other', kind: 'turn' as const, input: 'hello' }
    const { id } = await world.mailbox.continueSession(ANA, AGENT, turn)
    assert.equal((await world.during(claimOne({ waitMs: 1000 }))).message.id, id)
    const agent: Principal = { tenant: TENANT, kind: 'agent', id: AGENT, roles: [] }
    await fails(world.mailbox.continueSession(agent, AGENT, turn), 'forbidden')
    await fails(world.mailbox.answerApproval(agent, approvalId, answer), 'forbidden')
  })
}
