import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import { LostState } from './lost-state.ts'
import {
  type Lease,
  type MessageDocument,
  messageKey,
  type StoredMessage,
} from './message-document.ts'

/** A message with the lease that its caller proved to hold now. */
export interface HeldMessage {
  doc: MessageDocument
  message: StoredMessage
  lease: Lease
}

/**
 * The message under the caller's lease.
 *
 * @throws AmbitError `stale-lease` with the holder's token and expiry when it is not current.
 * @throws LostState when the store does not know a message that was leased from it.
 */
export function heldMessage(unit: UnitOfWork, claim: LeaseClaim): HeldMessage {
  const doc = claimedMessage(unit, claim)
  const { lease, message } = doc
  const isMine = lease?.leaseId === claim.leaseId && lease.token === claim.token
  if (!isMine || !message || lease.expiresAt <= unit.now) throw staleLease(doc, unit.now)
  return { doc, message, lease }
}

/** The document a handle was issued for. Whether the lease is current is not looked at. */
export function claimedMessage(unit: UnitOfWork, claim: LeaseClaim): MessageDocument {
  const key = messageKey(claim.messageId)
  const doc = unit.get<MessageDocument>(key)
  if (!doc) throw new LostState([{ key, version: 1 }], claim.agent)
  return doc
}

function staleLease(doc: MessageDocument, now: number): AmbitError {
  const holder = doc.lease && doc.lease.expiresAt > now ? doc.lease : null
  return new AmbitError(
    'stale-lease',
    `Expected the current lease of ${doc.id}, which is ${doc.state}; this one is over. ` +
      'Stop the work and claim again.',
    {
      extra: {
        state: doc.state,
        token: holder?.token ?? null,
        expiresAt: holder ? instantOf(holder.expiresAt) : null,
      },
    },
  )
}
