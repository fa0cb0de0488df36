import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import { createLateRecords } from './late-records.ts'
import type { PartitionOwner } from './partition-owner.ts'
import { FENCE_HEADER, type Step } from './step.ts'

const TENANT = 'acme'

/** What an owner of epoch 4 appends again after it heard records. */
async function repairedAfter(heard: readonly { key: string; epoch: number; seq: number }[]) {
  const repaired: string[] = []
  const step = {
    name: 'registry',
    reassert: (_unit: UnitOfWork, key: string) => void repaired.push(key),
  } as unknown as Step<unknown>
  const owner = {
    epochOf: () => 4,
    run: async ({ decide }: { decide(unit: UnitOfWork): void }) => decide({} as UnitOfWork),
  } as unknown as PartitionOwner
  const late = createLateRecords(step)
  for (const [offset, { key, epoch, seq }] of heard.entries()) {
    const headers = {
      ce_tenant: Buffer.from(TENANT),
      [FENCE_HEADER]: Buffer.from(`store ${epoch} ${seq} registry/1`),
    }
    const place = { topic: 'subscriptions', partition: 1, offset, timestamp: 0 }
    const record: LogRecord = { ...place, key: Buffer.from(key), value: null, headers }
    late.heard(owner, record)
  }
  await late.repair(owner)
  return repaired
}

test('records in the order of their commits need no repair', async () => {
  const heard = [
    { key: 'a', epoch: 4, seq: 2 },
    { key: 'a', epoch: 4, seq: 3 },
    { key: 'b', epoch: 4, seq: 3 },
  ]
  assert.deepEqual(await repairedAfter(heard), [])
})

test('a record of an older owner is repaired (F28)', async () => {
  assert.deepEqual(await repairedAfter([{ key: 'a', epoch: 3, seq: 9 }]), ['a'])
})

test('a request of the same owner that was given up and arrives late is repaired', async () => {
  const heard = [
    { key: 'a', epoch: 4, seq: 3 },
    { key: 'a', epoch: 4, seq: 2 },
  ]
  assert.deepEqual(await repairedAfter(heard), ['a'])
})
