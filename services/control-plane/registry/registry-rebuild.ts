/** The registry's documents from its own tables, after the store was lost. */

import { isNewestOf } from '#kernel/domain/overtaken.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { isLive } from '#kernel/domain/subscription.ts'
import type { TopicName } from '#kernel/domain/topic-name.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { OWN_QUEUE, type Rebuild, type Restored } from '#kernel/host/step.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { TableDocument } from '#schemas/generated/records.ts'

const DAY_MS = 24 * 3_600_000
/** A clock that is a day ahead must not hide that a change was answered. */
const AUDIT_AGE_MS = 2 * DAY_MS
/** Shortest time that a restored answer is kept, ms. */
const TTL_MS_MIN = 3_600_000

/** Folds the highest version of every object, and the answers of the last day. */
export function registryRebuild(codec: RecordCodec): Rebuild {
  return {
    sources: [
      { topic: 'subscriptions' },
      { topic: 'policies' },
      { topic: 'sources' },
      { topic: 'audit', ageMs: AUDIT_AGE_MS },
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
        const ttlMs = Math.max(TTL_MS_MIN, at + DAY_MS - now)
        restored(tenant).documents.set(`answered/${changeId}`, { version: 1, value, ttlMs })
        return
      }
      const document = codec.decode('table-document', record.value)
      if (document.kind === 'heartbeat') return
      const mine = restored(document.tenant)
      const output = tableOutput(record, document)
      if (isNewestOf(mine, output, document.version)) foldDocument(mine, document)
    },
  }
}

function foldDocument(restored: Restored, document: TableDocument): void {
  const { kind, id, version, deleted, doc } = document
  restored.documents.set(`reg/${kind}/${id}`, { version, value: { version, deleted, doc } })
  if (kind !== 'subscription') return
  const { state, limits } = doc as Subscription
  const ends = deleted ? undefined : (state.until ?? (isLive(state) ? limits.expiresAt : undefined))
  const due = `subscription/${id}`
  if (ends) restored.due.set(due, { queue: OWN_QUEUE, id: due, at: Date.parse(ends) })
  else restored.due.delete(due)
}

/** The record as it is, also of a kind that another writer keeps in a table. */
function tableOutput({ topic, key }: LogRecord, value: TableDocument): Output {
  const { tenant, kind, id, version } = value
  const name = Buffer.from(key ?? []).toString()
  return { topic: topic as TopicName, key: name, id: `${kind}/${id}/${version}`, tenant, value }
}
