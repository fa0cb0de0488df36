import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { isAmbitError } from '#kernel/errors.ts'
import { AGENT, messageNamed, TENANT } from '#test/support/mailbox-bench.ts'
import { type MailboxTestWorld, openMailboxWorld } from '#test/support/mailbox-world.ts'
import type { ClaimedItem } from './claim-messages.ts'
import type { Mailbox } from './mailbox.ts'

const ONE = { executor: 'worker', leaseMs: 60_000, waitMs: 0, max: 1 }
const OK = { ok: true, stopReason: 'end-turn' }

let world: MailboxTestWorld

/** Retries as an executor does: 503 means come again. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 20; tries++) {
    try {
      return await world.during(call())
    } catch (error) {
      if (!isAmbitError(error) || error.status !== 503) throw error
      await world.clock.advance(500)
    }
  }
  throw new Error('the mailbox never came back')
}

function claim(mailbox = world.mailbox): Promise<ClaimedItem[]> {
  return patiently(() => mailbox.claim(TENANT, AGENT, { ...ONE, waitMs: 5000 }))
}

const complete = (mailbox: Mailbox, { message, lease }: ClaimedItem) =>
  mailbox.complete(TENANT, message.id, { handle: lease.handle, result: OK })

beforeEach(async () => {
  world = await openMailboxWorld()
})
afterEach(() => world.stop())

describe('a mailbox whose store is lost', () => {
  it('gives no smaller token after the store was flushed, and keeps live leases (I6)', async () => {
    for (const id of ['m1', 'm2', 'm3']) await world.deliver(messageNamed(id))
    const [first] = await claim()
    const [second] = await claim()
    assert.ok(first && second)
    world.store.flush()
    const [third] = await claim()
    assert.equal(third?.message.id, 'm3')
    assert.ok((third?.lease.token ?? 0) > second.lease.token)
    assert.equal((await patiently(() => complete(world.mailbox, first))).state, 'done')
    assert.deepEqual(await claim(), [])
  })

  it('never brings back what was settled, and answers the same lease again (I7)', async () => {
    await world.deliver(messageNamed('m1'))
    const [item] = await claim()
    assert.ok(item)
    const done = await complete(world.mailbox, item)
    world.store.flush()
    const again = await patiently(() => complete(world.mailbox, item))
    assert.deepEqual({ ...again, isRepeat: false }, done)
    await world.clock.advance(120_000)
    assert.deepEqual(await claim(), [])
  })

  it('notices a store that rolled back behind what the log has shown', async () => {
    await world.deliver(messageNamed('m1'))
    const before = world.store.snapshot()
    const [item] = await claim()
    assert.ok(item)
    await complete(world.mailbox, item)
    world.store.restore(before)
    assert.deepEqual(await claim(), [], 'the finished message is not leased again')
    await world.deliver(messageNamed('m2'))
    const [next] = await claim()
    assert.ok((next?.lease.token ?? 0) > item.lease.token)
  })

  it('a process that starts later with its clock ahead notices that too', async () => {
    for (const id of ['m1', 'm2']) await world.deliver(messageNamed(id))
    const before = world.store.snapshot()
    const [item] = await claim()
    assert.ok(item)
    world.store.restore(before)
    const [next] = await claim(await world.openHost('later', 5 * 3_600_000))
    assert.equal(next?.message.id, 'm2')
    assert.ok(next.lease.token > item.lease.token)
  })

  it('a message leased elsewhere is found again although this store never had it', async () => {
    const empty = world.store.snapshot()
    await world.deliver(messageNamed('m1'))
    const [item] = await claim()
    assert.ok(item)
    world.store.restore(empty)
    const other = await world.openHost('second')
    assert.equal((await patiently(() => complete(other, item))).state, 'done')
  })
})

describe('a mailbox rebuilt from the log', () => {
  it('keeps questions: the answer still comes back after a loss', async () => {
    await world.deliver(messageNamed('m1'))
    const [item] = await claim()
    assert.ok(item)
    const ask = { handle: item.lease.handle, question: 'Shall I?' }
    const { approvalId } = await world.mailbox.ask(TENANT, 'm1', ask)
    world.store.flush()
    await world.clock.advance(3000)
    const ana = { tenant: TENANT, kind: 'person' as const, id: 'ana', roles: [] }
    const answer = { decision: 'respond' as const, text: 'yes' }
    await patiently(() => world.mailbox.answerApproval(ana, approvalId, answer))
    const [continuation] = await claim()
    assert.equal(continuation?.message.kind, 'continuation')
  })

  it('forgets no spend: tokens of runs are counted once again', async () => {
    await world.deliver(messageNamed('m1'))
    const [item] = await claim()
    assert.ok(item)
    const usage = { inputTokens: 60, outputTokens: 40 }
    const { handle } = item.lease
    const result = { ok: true, stopReason: 'end-turn', usage }
    await world.mailbox.complete(TENANT, 'm1', { handle, result })
    const counter = 'budget/tenant/local/tokens/2026-06-01'
    const spent = async () => {
      const request = { tenant: TENANT, documents: [], counters: [counter] }
      return (await world.store.open('look').load(request)).counters.get(counter)
    }
    assert.equal(await spent(), 100)
    for (const _ of [1, 2]) {
      world.store.flush()
      await world.clock.advance(3000)
      assert.equal(await spent(), 100)
    }
  })

  it('keeps the one lease per session', async () => {
    for (const id of ['m1', 'm2']) await world.deliver(messageNamed(id, { session: 'chat' }))
    const [item] = await claim()
    assert.ok(item)
    world.store.flush()
    await world.clock.advance(3000)
    assert.deepEqual(await claim(), [])
    await complete(world.mailbox, item)
    assert.equal((await claim()).at(0)?.message.id, 'm2')
  })

  it('rebuilding twice gives the same documents (I18)', async () => {
    for (const id of ['m1', 'm2', 'm3']) await world.deliver(messageNamed(id))
    const [item] = await claim()
    assert.ok(item)
    await complete(world.mailbox, item)
    await claim()
    const states = async () => {
      world.store.flush()
      await world.clock.advance(3000)
      const documents = ['m1', 'm2', 'm3'].map(id => `msg/${id}`)
      const { documents: found } = await world.store
        .open('look')
        .load({ tenant: TENANT, documents })
      return [...found].map(([key, { version, body }]) => [key, version, body])
    }
    assert.deepEqual(await states(), await states())
  })
})

describe('two hosts of one mailbox', () => {
  it('never lease the same message, and tokens grow across them (I6, I7)', async () => {
    const other = await world.openHost('second')
    for (let at = 0; at < 6; at++) await world.deliver(messageNamed(`m${at}`))
    const both = [world.mailbox, other, world.mailbox, other]
    const claimed = await world.during(
      Promise.all(both.map(host => host.claim(TENANT, AGENT, { ...ONE, max: 2 }))),
    )
    const ids = claimed.flat().map(({ message }) => message.id)
    assert.equal(new Set(ids).size, ids.length)
    assert.equal(ids.length, 6)
    const leased = world
      .values('mailbox.state', 'mailbox-transition')
      .filter(({ state }) => state === 'leased')
    const tokens = leased.map(({ token }) => token)
    assert.equal(new Set(tokens).size, tokens.length)
  })
})
