import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { type MailboxDocument, type MailboxLease, mailboxKey } from './message-document.ts'

/** Tokens of a mailbox whose store was lost start at the ms since this instant, or above. */
const TOKEN_EPOCH_MS = Date.UTC(2026, 0, 1)

/**
 * The lowest token a mailbox without a document may give. Counting milliseconds keeps it above
 * every token of a mailbox that was idle longer than the log remembers, and above those of leases
 * that were in the lost store and whose records are still on their way to the log (I6).
 */
export function tokenFloor(now: number): number {
  return Math.max(1, now - TOKEN_EPOCH_MS)
}

/** A mailbox document in one unit of work. */
export interface OpenMailbox {
  leases(): Readonly<Record<string, MailboxLease>>
  /** Version that was loaded, or that this unit writes. */
  version(): number
  /** Marks the document as written once, so that concurrent operations meet, and gives it. */
  change(): MailboxDocument
}

/** Mailboxes that a unit has opened: operations decided together share one working copy. */
const opened = new WeakMap<UnitOfWork, Map<string, OpenMailbox>>()

/** Opens the mailbox of an agent; an absent one is empty. */
export function openMailbox(unit: UnitOfWork, agent: string): OpenMailbox {
  const own = opened.get(unit) ?? new Map<string, OpenMailbox>()
  opened.set(unit, own)
  const known = own.get(agent)
  if (known) return known
  const mailbox = openNow(unit, agent)
  own.set(agent, mailbox)
  return mailbox
}

function openNow(unit: UnitOfWork, agent: string): OpenMailbox {
  const key = mailboxKey(agent)
  const found = unit.get<MailboxDocument>(key)
  const doc: MailboxDocument = found
    ? { tokenNext: found.tokenNext, leases: { ...found.leases } }
    : { tokenNext: tokenFloor(unit.now), leases: {} }
  let isChanged = false
  return {
    leases: () => doc.leases,
    version: () => unit.version(key),
    change() {
      if (!isChanged) unit.put(key, doc)
      isChanged = true
      return doc
    },
  }
}
