import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import type { MailboxTransition } from '#schemas/generated/records.ts'
import { AGENT, TENANT } from '#test/support/mailbox-bench.ts'
import { createLossDetector, type LossDetector } from './loss-detector.ts'
import { LostState } from './lost-state.ts'
import { mailboxKey, messageKey, readyKey } from './message-document.ts'

const KEY = messageKey('m1')
const LOST = new LostState([{ key: KEY, version: 3 }], AGENT)

let store: StateStore
let detector: LossDetector

/** What a rebuild writes last. */
const open = (at: number) =>
  store.commit({ tenant: TENANT, put: [{ key: readyKey(0), version: at, body: '{}' }] })
const resolve = () => detector.resolve(TENANT, LOST, 0)

beforeEach(async () => {
  store = createMemoryStateStore({ now: () => 0 }).open('one')
  detector = createLossDetector({ store, logger: silentLogger })
  detector.note({
    ...{ tenant: TENANT, agent: AGENT, messageId: 'm1', version: 3, mailboxVersion: 7 },
    run: null,
  } as MailboxTransition)
  await open(1)
})

describe('a document that the log has shown and the store lacks', () => {
  it('nobody goes on without it before a rebuild, however many miss it at once', async () => {
    assert.deepEqual(await Promise.all([resolve(), resolve()]), ['rebuilding', 'rebuilding'])
    assert.equal(await resolve(), 'rebuilding')
    assert.equal(detector.isForgotten(TENANT, KEY, 1), false)
  })
  it('is forgotten when a rebuild did not bring it back', async () => {
    await resolve()
    await open(2)
    assert.equal(detector.isForgotten(TENANT, KEY, 2), true)
    assert.equal(await resolve(), 'forgotten')
    assert.equal(detector.agentOf(TENANT, KEY), undefined)
  })
  it('others that are missed later are asked for anew', async () => {
    await resolve()
    await open(2)
    const both = new LostState([...LOST.missing, { key: mailboxKey(AGENT), version: 7 }], AGENT)
    assert.equal(await detector.resolve(TENANT, both, 0), 'rebuilding')
    await open(3)
    assert.equal(await detector.resolve(TENANT, both, 0), 'forgotten')
  })
})
