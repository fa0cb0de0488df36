/** The registry's documents from its own tables, after the store was lost. */
import type { Subscription } from '#kernel/domain/subscription.ts'
import { isLive } from '#kernel/domain/subscription.ts'
import { OWN_QUEUE, type Rebuild, type Restored } from '#kernel/host/step.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { TableDocument } from '#schemas/generated/records.ts'

const DAY_MS = 24 * 3_600_000

/** Folds the highest version of every object, and the answers of the last day. */
export function registryRebuild(codec: RecordCodec): Rebuild {
  return {
    sources: [
      { topic: 'subscriptions' },
      { topic: 'policies' },
      { topic: 'sources' },
      { topic: 'audit', ageMs: DAY_MS },
    ],
    fold(restored, record, now) {
      if (!record.value) return
      if (record.topic === 'audit') {
        const { tenant, changeId, outcome, at } = codec.decode('audit-entry', record.value)
        // The body is gone with the store; the status alone stops a second application.
        const value = {
          changeId,
          tenant,
          status: outcome === 'applied' ? 200 : 409,
          code: null,
          body: null,
          at,
        }
        const ttlMs = Math.max(1000, at + DAY_MS - now)
        restored(tenant).documents.set(`answered/${changeId}`, { version: 1, value, ttlMs })
        return
      }
      const document = codec.decode('table-document', record.value)
      if (document.kind !== 'heartbeat') foldDocument(restored(document.tenant), document)
    },
  }
}

function foldDocument(restored: Restored, document: TableDocument): void {
  const { kind, id, version, deleted, doc } = document
  const key = `reg/${kind}/${id}`
  if ((restored.documents.get(key)?.version ?? -1) >= version) return
  restored.documents.set(key, { version, value: { version, deleted, doc } })
  if (kind !== 'subscription') return
  const { state, limits } = doc as Subscription
  const ends = deleted ? undefined : (state.until ?? (isLive(state) ? limits.expiresAt : undefined))
  const due = `subscription/${id}`
  if (ends) restored.due.set(due, { queue: OWN_QUEUE, id: due, at: Date.parse(ends) })
  else restored.due.delete(due)
}
