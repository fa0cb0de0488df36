import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { OPERATIONS_OUTBOX } from './message-document.ts'
import { createOperationRunner, type OperationRunner } from './operation-runner.ts'

const TENANT = 'local'

let clock: ManualClock
let isLogAway: boolean
/** Runs once, between the load and the commit of the next operation. */
let between: (() => Promise<void>) | undefined
let log: ReturnType<typeof createMemoryEventLog>
let store: ReturnType<typeof createMemoryStateStore>

beforeEach(() => {
  clock = createManualClock(Date.UTC(2026, 5, 1))
  isLogAway = false
  between = undefined
  const refuse = () => {
    if (isLogAway) throw new AmbitError('log-unavailable', 'The log is away.')
  }
  const hooks = {
    before: async ({ op, instance }: { op: string; instance: string }) => {
      const work = between
      if (op !== 'commit' || instance === 'other' || !work) return
      between = undefined
      await work()
    },
  }
  log = createMemoryEventLog({ clock, partitions: () => 1, hooks: { before: refuse } })
  store = createMemoryStateStore({ now: () => clock.now(), hooks })
})

function openRunner(name: string, durable: string[] = []): OperationRunner {
  let randoms = 0
  return createOperationRunner({
    store: store.open(name),
    log: log.open(name),
    clock,
    ids: { random: () => `${name}${++randoms}` },
    writer: { encode: ({ topic, key, id }) => ({ topic, key, value: Buffer.from(id) }) },
    logger: silentLogger,
    tenants: () => [TENANT],
    onDurable: outputs => void durable.push(...outputs.map(({ id }) => id)),
  })
}

const emits = (id: string) => (unit: UnitOfWork) => {
  unit.get('doc')
  unit.put('doc', id)
  unit.emit({ topic: 'mailbox.state', key: 'k', id, tenant: TENANT, value: {} })
}
const operation = (id: string) => ({
  tenant: TENANT,
  field: 'f',
  documents: ['doc'],
  decide: emits(id),
})
const appended = () =>
  log.records('mailbox.state').map(({ value }) => Buffer.from(value ?? []).toString())
const left = () => store.open('other').readOutbox(TENANT, OPERATIONS_OUTBOX)

describe('createOperationRunner', () => {
  it('has appended when durable, and empties the outbox a little later', async () => {
    const told: string[] = []
    const runner = openRunner('a', told)
    const { durable } = await runner.commit(operation('one'))
    await durable
    assert.deepEqual([appended(), told], [['one'], ['one']])
    assert.equal((await left()).length, 1)
    await clock.advance(200)
    assert.equal((await left()).length, 0)
    await runner.stop()
  })

  it('commits nothing while the log is away, and sends what was committed first (R2)', async () => {
    const runner = openRunner('a')
    isLogAway = true
    const { durable } = await runner.commit(operation('one'))
    await assert.rejects(durable)
    await assert.rejects(
      runner.commit(operation('two')),
      error => isAmbitError(error) && error.code === 'log-unavailable',
    )
    assert.equal((await left()).length, 1, 'the second operation did not happen')
    isLogAway = false
    await (await runner.commit(operation('two'))).durable
    assert.deepEqual(appended(), ['one', 'two'])
    await runner.stop()
  })

  it('appends what another process committed and could not send (R2)', async () => {
    isLogAway = true
    const dead = openRunner('dead')
    await assert.rejects((await dead.commit(operation('one'))).durable)
    const stopped = dead.stop()
    isLogAway = false
    const heir = openRunner('heir')
    await clock.advance(10_000)
    await stopped
    assert.deepEqual(appended(), ['one'])
    await clock.advance(200)
    assert.equal((await left()).length, 0)
    await heir.stop()
  })

  // A rebuild closes the partition between the load and the commit of an operation. Committing
  // anyway would be overwritten by what the log said before; the sign is a document of its own.
  it('does not commit on a document that was required and has gone', async () => {
    const other = store.open('other')
    const put = (body: string | null) =>
      other.commit({ tenant: TENANT, put: [{ key: 'ready', version: 7, body }] })
    await put('{}')
    const runner = openRunner('a')
    let version = 0
    between = async () => void (await put(null))
    const call = runner.commit({
      tenant: TENANT,
      field: 'f',
      documents: ['ready', 'doc'],
      decide: unit => {
        version = unit.version('ready')
        if (version === 0) throw new AmbitError('not-ready', 'Closed.')
        emits('one')(unit)
      },
      required: () => ({ ready: version }),
    })
    await assert.rejects(call, error => isAmbitError(error) && error.code === 'not-ready')
    const { documents } = await other.load({ tenant: TENANT, documents: ['doc'] })
    assert.equal(documents.size, 0)
    await runner.stop()
  })
})
