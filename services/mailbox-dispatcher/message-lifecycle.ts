/** The moves that deciders share. Each writes the document, its queue entry and its transition. */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import {
  emitDeadNotice,
  emitOutcome,
  type TransitionNote,
  transitionOutput,
} from './mailbox-outputs.ts'
import {
  type Lease,
  type MessageDocument,
  messageKey,
  queueIdOf,
  queueOf,
  SETTLED_TTL_MS,
} from './message-document.ts'
import type { OpenMailbox } from './open-mailbox.ts'

/** Writes the document with the next version and tells the log. */
export function recordMove(
  unit: UnitOfWork,
  mailbox: OpenMailbox | null,
  doc: MessageDocument,
  note: TransitionNote & { ttlMs?: number } = {},
): void {
  mailbox?.change()
  const key = messageKey(doc.id)
  unit.put(key, doc, { ttlMs: note.ttlMs })
  const versions = { message: unit.version(key), mailbox: mailbox?.version() ?? 0 }
  unit.emit(transitionOutput(unit, doc, versions, note))
}

/** Makes the message available from `availableAt` on, in its old place of the order. */
export function enqueue(
  unit: UnitOfWork,
  mailbox: OpenMailbox,
  doc: MessageDocument,
  note: TransitionNote,
): MessageDocument {
  delete mailbox.change().leases[doc.id]
  const queued: MessageDocument = { ...doc, state: 'queued', lease: null }
  unit.due(queueOf(doc.agent), queueIdOf(queued), queued.availableAt)
  recordMove(unit, mailbox, queued, note)
  return queued
}

/** Ends a message for good and shrinks its document to a marker. Dead ones keep their body. */
export function settle(
  unit: UnitOfWork,
  mailbox: OpenMailbox,
  doc: MessageDocument,
  end: TransitionNote & { state: 'done' | 'dead' | 'cancelled' | 'expired' },
): MessageDocument {
  delete mailbox.change().leases[doc.id]
  unit.due(queueOf(doc.agent), queueIdOf(doc), null)
  const { state } = end
  const message = state === 'dead' ? doc.message : null
  const settled = { ...doc, state, message, lease: null, settledAt: unit.now }
  recordMove(unit, mailbox, settled, { ...end, ttlMs: SETTLED_TTL_MS })
  return settled
}

/** Gives a message up: visible, with a notice, until somebody redrives it. */
export function giveUp(
  unit: UnitOfWork,
  mailbox: OpenMailbox,
  doc: MessageDocument,
  note: TransitionNote & { reason: string },
): MessageDocument {
  emitOutcome(unit, doc, { state: 'dead', ok: false, reason: note.reason })
  emitDeadNotice(unit, doc, note.reason)
  return settle(unit, mailbox, doc, { ...note, state: 'dead' })
}

/** Attempts since the message was new or redriven. */
export function attemptsUsed(doc: MessageDocument): number {
  return doc.attempts - doc.attemptsBase
}

/** Takes back a lease whose time is over; the attempt counts. */
export function releaseExpired(
  unit: UnitOfWork,
  mailbox: OpenMailbox,
  { doc, lease, maxAttempts }: { doc: MessageDocument; lease: Lease; maxAttempts: number },
): MessageDocument {
  const note = { reason: 'lease-expired', leaseId: lease.leaseId, executor: lease.executor }
  if (attemptsUsed(doc) >= maxAttempts) return giveUp(unit, mailbox, doc, note)
  emitOutcome(unit, doc, { state: 'failed', ok: false, reason: 'lease-expired' })
  return enqueue(unit, mailbox, doc, note)
}
