/** Operations on `agent.operations`, with an index by session that follows the topic. */
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { SessionKey } from '../loop/session-store.ts'
import type { Operation } from '../operations/operation.ts'
import type { OperationStore } from '../operations/operation-store.ts'
import { type Place, type SessionTable, sessionPartitionKey } from './session-table.ts'

/** Operations of one session that are kept for people; the oldest told ones go. */
const KEPT_PER_SESSION = 200

export interface LogOperationStore extends OperationStore {
  /** Without a barrier: what this process has read so far. */
  known(key: SessionKey): Operation[]
  /** Of all sessions. */
  everything(): Operation[]
}

export function createLogOperationStore(
  table: SessionTable,
  tables: LiveTables,
): LogOperationStore {
  const bySession = new Map<string, Map<string, Place>>()
  tables.onChange(({ topic, document }) => {
    if (topic !== 'agent.operations' || document.kind !== 'operation') return
    const { value } = document.doc as { value: Operation }
    const index = bySession.get(sessionPartitionKey(value)) ?? new Map<string, Place>()
    bySession.set(sessionPartitionKey(value), index.set(value.id, placeOf(value)))
  })
  const known = (key: SessionKey) =>
    [...(bySession.get(sessionPartitionKey(key))?.values() ?? [])].flatMap(
      place => table.get<Operation>(place) ?? [],
    )
  return {
    known,
    everything: () =>
      [...bySession.values()].flatMap(index =>
        [...index.values()].flatMap(place => table.get<Operation>(place) ?? []),
      ),
    async ofSession(key) {
      await table.barrier()
      return known(key)
    },
    async accept(operations) {
      await Promise.all(
        operations.map(operation =>
          table.update<Operation>(placeOf(operation), now => (now ? undefined : operation)),
        ),
      )
    },
    async change(operation, next) {
      const changed = await table.update<Operation>(placeOf(operation), now => now && next(now))
      if (changed?.deliveredBy) await forgetOldest(table, known(changed), bySession)
      return changed
    },
  }
}

function placeOf({ tenant, session, id }: Operation): Place {
  return { tenant, session, id, topic: 'agent.operations', kind: 'operation' }
}

async function forgetOldest(
  table: SessionTable,
  operations: Operation[],
  bySession: Map<string, Map<string, Place>>,
): Promise<void> {
  const surplus = operations.length - KEPT_PER_SESSION
  if (surplus <= 0) return
  const told = operations
    .filter(({ deliveredBy }) => deliveredBy !== null)
    .toSorted((a, b) => a.acceptedAt - b.acceptedAt)
  for (const operation of told.slice(0, surplus)) {
    await table.remove(placeOf(operation))
    bySession.get(sessionPartitionKey(operation))?.delete(operation.id)
  }
}
