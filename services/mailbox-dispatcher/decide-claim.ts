import { needAll } from '#kernel/domain/need-all.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { LostState } from './lost-state.ts'
import { emitOutcome } from './mailbox-outputs.ts'
import {
  type MessageDocument,
  messageKey,
  parseQueueId,
  type QueueEntry,
  queueIdOf,
  queueOf,
} from './message-document.ts'
import { recordMove, releaseExpired, settle } from './message-lifecycle.ts'
import { type OpenMailbox, openMailbox } from './open-mailbox.ts'

/** Expired leases that one claim takes back. */
const RELEASES_MAX = 100
/** Messages that one claim looks at; a backlog of expired ones takes several claims. */
const LOOKS_MAX = 200
/** Entries whose documents are asked for together. */
const LOAD_AHEAD = 100

export interface ClaimInput {
  agent: { id: string; maxConcurrentLeases: number; maxAttempts: number }
  /** The agent or its tenant was stopped by a person. */
  isStopped: boolean
  executor: string
  leaseMs: number
  /** Messages wanted at most. */
  max: number
  /** Ids of due queue entries, first come first. */
  due: string[]
  /** Random names, at least `max`. */
  leaseIds: string[]
  /** Ids that a rebuild could not bring back; their entries are dropped. */
  forgotten: Pick<ReadonlySet<string>, 'has'>
}

/**
 * Leases messages in order of acceptance: at most `max`, one per session, within the bounds of
 * the agent and of each subscription. Expired leases are taken back first; a message past its
 * own expiry is settled instead (I7).
 */
export function decideClaim(unit: UnitOfWork, input: ClaimInput): MessageDocument[] {
  const mailbox = openMailbox(unit, input.agent.id)
  const released = takeBack(unit, mailbox, input.agent)
  if (input.isStopped) return []
  // A released message was accepted before what waits behind it; an entry may be named twice.
  const ids = [...new Set([...released, ...input.due])]
  const room = Math.min(
    input.max,
    input.agent.maxConcurrentLeases - Object.keys(mailbox.leases()).length,
  )
  const claimed: MessageDocument[] = []
  const waiting = ids.map(id => ({ id, entry: parseQueueId(id) }))
  const bounds = boundsOf(mailbox)
  let loadedTo = 0
  for (let looked = 0, at = 0; claimed.length < room && looked < LOOKS_MAX; looked++) {
    while (at < waiting.length && isBlocked(bounds, waiting[at]!.entry)) at++
    const next = waiting[at]
    if (!next) break
    if (at >= loadedTo) {
      loadedTo = loadAhead(unit, { waiting, at, bounds, room: room - claimed.length })
    }
    at++
    const doc = available(unit, mailbox, { ...next, input })
    const leaseId = input.leaseIds[claimed.length] ?? ''
    if (!doc) continue
    claimed.push(lease(unit, mailbox, { doc, leaseId, input }))
    occupy(bounds, doc)
  }
  return claimed
}

/** Takes expired leases back and answers the queue entries that became available now. */
function takeBack(unit: UnitOfWork, mailbox: OpenMailbox, agent: ClaimInput['agent']): string[] {
  const expired = Object.entries(mailbox.leases())
    .filter(([, held]) => held.expiresAt <= unit.now)
    .slice(0, RELEASES_MAX)
  needAll(
    unit,
    expired.map(([id]) => messageKey(id)),
  )
  const released = expired.flatMap(([id, held]) => {
    const doc = unit.get<MessageDocument>(messageKey(id))
    if (!doc?.lease || doc.lease.leaseId !== held.leaseId) {
      delete mailbox.change().leases[id]
      return []
    }
    const { maxAttempts } = agent
    const after = releaseExpired(unit, mailbox, { doc, lease: doc.lease, maxAttempts })
    return after.state === 'queued' ? [queueIdOf(after)] : []
  })
  return released.sort()
}

/** What leases occupy: counted once per claim, since a mailbox may hold thousands. */
interface Bounds {
  sessions: Set<string>
  running: Map<string, number>
}

function boundsOf(mailbox: OpenMailbox): Bounds {
  const bounds: Bounds = { sessions: new Set(), running: new Map() }
  for (const held of Object.values(mailbox.leases())) occupy(bounds, held)
  return bounds
}

function occupy(
  { sessions, running }: Bounds,
  { session, subscription }: { session: string | null; subscription: string | null },
): void {
  if (session !== null) sessions.add(session)
  if (subscription !== null) running.set(subscription, (running.get(subscription) ?? 0) + 1)
}

function isBlocked({ sessions, running }: Bounds, entry: QueueEntry): boolean {
  if (entry.session !== null && sessions.has(entry.session)) return true
  if (entry.concurrencyMax === 0 || entry.subscription === null) return false
  return (running.get(entry.subscription) ?? 0) >= entry.concurrencyMax
}

/**
 * Asks for the documents of the next free entries together, instead of one load for each; answers
 * where it stopped.
 */
function loadAhead(
  unit: UnitOfWork,
  ahead: { waiting: { entry: QueueEntry }[]; at: number; bounds: Bounds; room: number },
): number {
  const keys: string[] = []
  const last = Math.min(ahead.waiting.length, ahead.at + LOAD_AHEAD)
  let { at } = ahead
  for (; at < last && keys.length < ahead.room; at++) {
    const entry = ahead.waiting[at]?.entry
    if (entry && !isBlocked(ahead.bounds, entry)) keys.push(messageKey(entry.messageId))
  }
  needAll(unit, keys)
  return at
}

/** The message behind a queue entry when it can be leased now; repairs the entry otherwise. */
function available(
  unit: UnitOfWork,
  mailbox: OpenMailbox,
  { id, entry, input }: { id: string; entry: QueueEntry; input: ClaimInput },
): MessageDocument | null {
  const queue = queueOf(input.agent.id)
  const key = messageKey(entry.messageId)
  const doc = unit.get<MessageDocument>(key)
  if (!doc && !input.forgotten.has(entry.messageId)) {
    throw new LostState([{ key, version: 1 }], input.agent.id)
  }
  if (!doc?.message || queueIdOf(doc) !== id || doc.state === 'dead') {
    unit.due(queue, id, null)
    return null
  }
  if (doc.lease && doc.lease.expiresAt <= unit.now) {
    const { maxAttempts } = input.agent
    const after = releaseExpired(unit, mailbox, { doc, lease: doc.lease, maxAttempts })
    return after.state === 'queued' ? after : null
  }
  if (doc.state !== 'queued' || doc.availableAt > unit.now) {
    unit.due(queue, id, doc.lease?.expiresAt ?? doc.availableAt)
    return null
  }
  if (doc.message.expiresAt !== null && doc.message.expiresAt <= unit.now) {
    emitOutcome(unit, doc, { state: 'expired', ok: false, reason: 'expired' })
    settle(unit, mailbox, doc, { state: 'expired', reason: 'expired' })
    return null
  }
  return doc
}

function lease(
  unit: UnitOfWork,
  mailbox: OpenMailbox,
  { doc, leaseId, input }: { doc: MessageDocument; leaseId: string; input: ClaimInput },
): MessageDocument {
  const box = mailbox.change()
  const token = box.tokenNext
  const expiresAt = unit.now + input.leaseMs
  const { session, subscription } = doc
  box.tokenNext = token + 1
  box.leases[doc.id] = { token, leaseId, session, subscription, expiresAt }
  const leased: MessageDocument = {
    ...doc,
    state: 'leased',
    attempts: doc.attempts + 1,
    token,
    lease: { token, leaseId, executor: input.executor, issuedAt: unit.now, expiresAt },
  }
  unit.due(queueOf(doc.agent), queueIdOf(doc), expiresAt)
  recordMove(unit, mailbox, leased, { by: input.executor })
  return leased
}
