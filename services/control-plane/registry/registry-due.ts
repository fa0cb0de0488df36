/** What ends by itself: pauses, suspensions for a used-up period, subscriptions that expire. */
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { OWN_QUEUE } from '#kernel/host/step.ts'
import type { DueEntry } from '#kernel/ports/state-store.ts'
import type { RegistryObject } from './change-request.ts'

const documentOf = (entry: DueEntry) => `reg/${entry.id}`

export function dueHints(entry: DueEntry): { documents: string[]; counters: string[] } {
  return { documents: [documentOf(entry)], counters: [] }
}

/**
 * Asks for the change through the registry's own door, so that a timer is one more writer and no
 * second way in. The change id comes from the version it ends, so asking twice is one change.
 */
export function requestDue(unit: UnitOfWork, entry: DueEntry): void {
  unit.due(OWN_QUEUE, entry.id, null)
  const doc = unit.get<RegistryObject<Subscription>>(documentOf(entry))?.doc
  if (!doc || doc.state.operation === 'deleted') return
  const { operation, until } = doc.state
  const isResume = until !== undefined && operation !== 'active'
  if (!isResume && operation !== 'active') return
  const action = isResume ? 'resume' : 'expire'
  const changeId = hashId('x', doc.tenant, doc.id, doc.version, action)
  unit.emit({
    topic: 'registry.changes',
    key: tenantKey(doc.tenant, 'subscription', doc.id),
    id: changeId,
    tenant: doc.tenant,
    value: {
      changeId,
      tenant: doc.tenant,
      kind: 'subscription',
      id: doc.id,
      action,
      body: null,
      by: { tenant: doc.tenant, kind: 'system', id: 'registry', roles: [] },
      reason: isResume ? `ended at ${until}` : 'expiresAt was reached',
      ifVersion: doc.state.version,
      at: unit.now,
    },
  })
}
