import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import { encodeOutbox } from '#kernel/host/outbox.ts'
import { rebuildTenant } from '#kernel/host/rebuild.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type { MailboxTransition } from '#schemas/generated/records.ts'
import { AGENT, messageNamed, START, TENANT } from '#test/support/mailbox-bench.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { createMailboxStep } from './mailbox-step.ts'
import {
  type MailboxDocument,
  type MessageDocument,
  OPERATIONS_OUTBOX,
  readyKey,
} from './message-document.ts'
import { tokenFloor } from './open-mailbox.ts'

const codec = createRecordCodec()
const step = createMailboxStep({ codec, directory: { policy: defaultPolicy } })
const key = tenantKey(TENANT, AGENT)

let clock: ManualClock
let log: ReturnType<typeof createMemoryEventLog>
let store: ReturnType<typeof createMemoryStateStore>

beforeEach(() => {
  clock = createManualClock(START)
  log = createMemoryEventLog({ clock, partitions: () => 1 })
  store = createMemoryStateStore({ now: () => clock.now() })
})

function transition(over: Partial<MailboxTransition>): OutgoingRecord {
  const value: MailboxTransition = {
    tenant: TENANT,
    agent: AGENT,
    messageId: 'm1',
    subscription: 's1',
    state: 'queued',
    version: 1,
    mailboxVersion: 0,
    attempt: 0,
    token: 0,
    leaseId: null,
    executor: null,
    session: null,
    availableAt: START,
    expiresAt: null,
    reason: null,
    run: null,
    by: null,
    at: START,
    ...over,
  }
  return { topic: 'mailbox.state', key, value: codec.encode('mailbox-transition', value) }
}

const lease = (version: number, token: number, over: Partial<MailboxTransition> = {}) =>
  transition({
    state: 'leased',
    version,
    mailboxVersion: version - 1,
    attempt: 1,
    token,
    leaseId: `lease-${token}`,
    executor: 'worker',
    expiresAt: START + 60_000,
    ...over,
  })

async function rebuild(...records: OutgoingRecord[]) {
  const value = codec.encode('message', messageNamed('m1', { session: 'chat' }))
  await log.open('writer').append([{ topic: 'mailbox', key, value }, ...records])
  const fence = { key: `fence/${step.name}/0`, incarnation: 'i', epoch: 1, seq: 0 }
  const opened = store.open('owner')
  await opened.takeFence(TENANT, fence)
  const world = {
    log: log.open('owner'),
    store: opened,
    clock,
    ids: { random: () => '0' },
    logger: silentLogger,
    writer: createRecordWriter(codec, 'test'),
    gate: async () => {},
    knownTenants: () => [TENANT],
  }
  await clock.during(rebuildTenant(step, world, { partition: 0, tenant: TENANT, fence }))
}

async function stored<T>(name: string): Promise<{ version: number; value: T } | undefined> {
  const { documents } = await store.open('look').load({ tenant: TENANT, documents: [name] })
  const found = documents.get(name)
  return found && { version: found.version, value: JSON.parse(found.body) as T }
}

describe('a rebuild of mailboxes', () => {
  // An operation committed and died before its append: its outbox is all that knows of it.
  it('closes the partition and appends what operations had committed before it reads', async () => {
    const run = { ok: true, stopReason: 'end-turn', attempt: 1, at: '2026-06-01T00:00:00.000Z' }
    const end = { state: 'done', version: 3, mailboxVersion: 2, attempt: 1, token: 7, run }
    const body = encodeOutbox([transition({ ...end, leaseId: 'lease-7', availableAt: null })])
    const writer = store.open('writer')
    const outbox = [{ outbox: OPERATIONS_OUTBOX, id: '1', body }]
    const ready = { key: readyKey(0), version: 1, body: '{}' }
    await writer.commit({ tenant: TENANT, put: [ready], outbox })
    await rebuild(transition({}), lease(2, 7))
    const message = await stored<MessageDocument>('msg/m1')
    assert.equal(message?.value.state, 'done')
    assert.deepEqual(message?.value.last, { leaseId: 'lease-7', op: 'complete' })
    const isOpen = await stored(readyKey(0))
    assert.ok((isOpen?.version ?? 0) > 1, 'opened anew, so that older readers cannot commit')
    assert.deepEqual(await writer.readOutbox(TENANT, OPERATIONS_OUTBOX), [])
  })

  it('of two leases with one version the higher token holds, and none comes again', async () => {
    await rebuild(transition({}), lease(2, 9), lease(2, 8))
    const message = await stored<MessageDocument>('msg/m1')
    assert.equal(message?.value.lease?.token, 9)
    const mailbox = await stored<MailboxDocument>(`mailbox/${AGENT}`)
    assert.ok((mailbox?.value.tokenNext ?? 0) > 9)
    assert.deepEqual(Object.keys(mailbox?.value.leases ?? {}), ['m1'])
  })

  // Their records come after those of the new owner, and an executor may hold one of them.
  it('gives no token of leases that the log does not know yet (I6)', async () => {
    const known = tokenFloor(START + 3_600_000)
    await rebuild(transition({}), lease(2, known))
    const mailbox = await stored<MailboxDocument>(`mailbox/${AGENT}`)
    assert.ok((mailbox?.value.tokenNext ?? 0) > known + 1000)
  })

  it('gives another first token a moment later (I6)', () => {
    assert.ok(tokenFloor(START + 100) > tokenFloor(START) + 10)
  })

  it('keeps the count of attempts that a redrive began', async () => {
    const dead = { state: 'dead', version: 3, attempt: 5, token: 7, availableAt: null }
    await rebuild(
      transition({}),
      lease(2, 7, { attempt: 5 }),
      transition(dead),
      transition({ version: 4, attempt: 5, token: 7, reason: 'redriven' }),
    )
    const message = await stored<MessageDocument>('msg/m1')
    assert.equal(message?.value.state, 'queued')
    assert.equal(message?.value.attemptsBase, 5)
  })

  it('leaves a message without any transition to intake, which has not committed it', async () => {
    await rebuild()
    assert.equal(await stored('msg/m1'), undefined)
  })
})
