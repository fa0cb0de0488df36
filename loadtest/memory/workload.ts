/** Subscriptions as people write them, and the records they lie in. */
import { resolveLimits } from '#kernel/domain/limits.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'

const TENANTS = 20
const TYPES = 200
const SINCE = '2026-11-01T00:00:00.000Z'

/** The record of the n-th subscription: one type, one place, two filters over data. */
export function subscriptionRecord(codec: RecordCodec, n: number): OutgoingRecord {
  const tenant = `tenant-${n % TENANTS}`
  const id = `s_${n.toString(16).padStart(32, '0')}`
  const doc: Subscription = {
    ...{ id, tenant, version: 1, schedule: null, observe: null, scheduled: null },
    ...{ name: `orders-${n}`, agent: `agent-${n % 50}`, owner: `user:u${n % 500}` },
    ...{ onBehalfOf: null, session: null, workspace: null, managedBy: null, condition: null },
    instruction: 'Read the order and tell the customer what happens next.',
    on: { types: [`com.shop.type${n % TYPES}`], sources: [`/region/${n % 5}/*`] },
    filters: [
      { exact: { 'data.service': `svc-${n % 2000}` } },
      { cel: `data.total > ${n % 90}.0` },
    ],
    limits: resolveLimits({ cooldownMs: 600_000, cooldownRule: 'group' }, {}),
    origin: { kind: 'person', id: `u${n % 500}` },
    state: {
      ...{ approval: 'not-required', operation: 'active', reason: '' },
      ...{ by: `user:u${n % 500}`, at: SINCE, version: 1 },
    },
    startsAt: { 'ingress.webhook': [0, 0, 0, 0, 0, 0], 'ingress.platform': [0, 0, 0, 0, 0, 0] },
    ...{ createdAt: SINCE, updatedAt: SINCE },
  }
  const key = objectKey(tenant, 'subscription', id)
  const facts = { tenant, kind: 'subscription', id, version: 1, deleted: false, updatedAt: 0 }
  return createRecordWriter(codec, 'bench').encode({
    ...{ topic: 'subscriptions', key, id, tenant },
    value: { ...facts, doc },
  })
}
