/**
 * Repairs compacted topics after a former owner's record arrived late (F28): readers of the table
 * hold the newest version already, but the next compaction would keep the late one.
 *
 * - Heard while owned: records below the owner's epoch, or below what was heard before.
 * - Found in the tail when the partition came here, for what arrived while nobody watched.
 * - A late record stays noted until the newest one was appended after it.
 */
import type { LogRecord } from '#kernel/ports/event-log.ts'
import { createSignatureOrder, isSignedBy, signatureOf } from './fence-signature.ts'
import type { PartitionOwner } from './partition-owner.ts'
import type { LoggedFence } from './rebuild.ts'
import type { Step } from './step.ts'

export interface LateRecords {
  /** Looks at a record that was appended while this process owns its partition. */
  heard(owner: PartitionOwner, record: LogRecord): void
  /** Notes what was overtaken before the partition came here. */
  found(owner: PartitionOwner, logged: LoggedFence): void
  /** Appends the newest records again; rejects like `owner.run`, and then keeps the rest noted. */
  repair(owner: PartitionOwner): Promise<void>
}

export function createLateRecords<T>(step: Step<T>): LateRecords {
  const noted = new WeakMap<PartitionOwner, Map<string, Set<string>>>()
  const order = createSignatureOrder()
  const note = (owner: PartitionOwner, tenant: string, key: string) => {
    const tenants = noted.get(owner) ?? new Map<string, Set<string>>()
    noted.set(owner, tenants)
    tenants.set(tenant, (tenants.get(tenant) ?? new Set()).add(key))
  }
  return {
    heard(owner, record) {
      const signed = signatureOf(record)
      if (!signed || !record.key || !isSignedBy(signed, step.name, record.partition)) return
      const { tenant, epoch } = signed
      if (order.isLate(record, signed) || epoch < owner.epochOf(tenant)) {
        note(owner, tenant, Buffer.from(record.key).toString())
      }
    },
    found(owner, { tenant, overtaken }) {
      for (const key of overtaken) note(owner, tenant, key)
    },
    async repair(owner) {
      for (const [tenant, keys] of noted.get(owner) ?? []) {
        for (const key of [...keys]) {
          await owner.run({
            tenant,
            hints: step.reassertHints?.(tenant, key) ?? { documents: [], counters: [] },
            decide: unit => step.reassert?.(unit, key),
            isOwned: () => true,
          })
          keys.delete(key)
        }
      }
    },
  }
}
