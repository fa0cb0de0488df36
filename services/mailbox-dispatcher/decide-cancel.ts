import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import { emitOutcome } from './mailbox-outputs.ts'
import { isSettled, type MessageDocument, messageKey } from './message-document.ts'
import { settle } from './message-lifecycle.ts'
import { openMailbox } from './open-mailbox.ts'

/**
 * Takes a message out of its mailbox. A run under way loses its lease and cannot settle any more.
 * Cancelling twice is one cancelling; another settled state is a `conflict`.
 */
export function decideCancel(
  unit: UnitOfWork,
  { messageId, by, reason }: { messageId: string; by: string; reason: string },
): MessageDocument {
  const doc = storedMessage(unit, messageId)
  if (doc.state === 'cancelled') return doc
  if (isSettled(doc.state)) {
    throw new AmbitError('conflict', `Expected a queued or leased message; it is ${doc.state}.`)
  }
  const mailbox = openMailbox(unit, doc.agent)
  emitOutcome(unit, doc, { state: 'cancelled', ok: false, reason: 'cancelled' })
  const { leaseId, executor } = doc.lease ?? {}
  return settle(unit, mailbox, doc, { state: 'cancelled', reason, by, leaseId, executor })
}

/** @throws AmbitError `not-found`. */
export function storedMessage(unit: UnitOfWork, messageId: string): MessageDocument {
  const doc = unit.get<MessageDocument>(messageKey(messageId))
  if (!doc) throw new AmbitError('not-found', `There is no message ${messageId} in any mailbox.`)
  return doc
}
