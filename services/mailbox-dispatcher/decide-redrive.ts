import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import { storedMessage } from './decide-cancel.ts'
import type { MessageDocument } from './message-document.ts'
import { enqueue } from './message-lifecycle.ts'
import { openMailbox } from './open-mailbox.ts'

/** The reason of the transition that begins a new count of attempts; a rebuild reads it. */
export const REDRIVEN = 'redriven'

/**
 * Puts a dead message back into its mailbox with all its attempts. Attempt numbers go on, so a
 * run keeps a name of its own. Any other state is a `conflict`.
 */
export function decideRedrive(
  unit: UnitOfWork,
  { messageId, by }: { messageId: string; by: string },
): MessageDocument {
  const doc = storedMessage(unit, messageId)
  if (doc.state !== 'dead' || !doc.message) {
    throw new AmbitError('conflict', `Expected a dead message; it is ${doc.state}.`)
  }
  const mailbox = openMailbox(unit, doc.agent)
  const message = { ...doc.message, expiresAt: null }
  const { attempts } = doc
  const again = { ...doc, message, attemptsBase: attempts, availableAt: unit.now, settledAt: null }
  return enqueue(unit, mailbox, again, { reason: REDRIVEN, by })
}
