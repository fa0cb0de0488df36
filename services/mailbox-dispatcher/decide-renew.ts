import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { heldMessage } from './current-lease.ts'
import { type Lease, type MessageDocument, queueIdOf, queueOf } from './message-document.ts'
import { recordMove } from './message-lifecycle.ts'
import { openMailbox } from './open-mailbox.ts'

/** Holds the message for `leaseMs` more, from now. Throws `stale-lease` when it is over. */
export function decideRenew(
  unit: UnitOfWork,
  { claim, leaseMs }: { claim: LeaseClaim; leaseMs: number },
): Lease {
  const { doc, lease } = heldMessage(unit, claim)
  const mailbox = openMailbox(unit, doc.agent)
  const { token, leaseId } = lease
  const { session, subscription } = doc
  const expiresAt = unit.now + leaseMs
  const renewed: MessageDocument = { ...doc, lease: { ...lease, expiresAt } }
  mailbox.change().leases[doc.id] = { token, leaseId, session, subscription, expiresAt }
  unit.due(queueOf(doc.agent), queueIdOf(doc), expiresAt)
  recordMove(unit, mailbox, renewed, { reason: 'renewed', by: lease.executor })
  return { ...lease, expiresAt }
}
