/** `claim`: leases what is there, or waits for it. */
import { tenantKey } from '#kernel/domain/ids.ts'
import { instantOf, type MessageView, messageView } from '#kernel/domain/message-view.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { createEventReader } from '#kernel/host/event-reader.ts'
import { decideClaim } from './decide-claim.ts'
import { withBodies } from './event-bodies.ts'
import type { LossDetector } from './loss-detector.ts'
import type { MailboxBell } from './mailbox-bell.ts'
import { lineageOf } from './mailbox-outputs.ts'
import { agentOf, isStopped, type MailboxWorld } from './mailbox-world.ts'
import {
  fromStoredMessage,
  type MessageDocument,
  mailboxKey,
  messageKey,
  parseQueueId,
  queueOf,
  readyKey,
} from './message-document.ts'
import type { Performer } from './performer.ts'

/** Ms between two looks of a claim that waits and hears nothing. */
const POLL_MS = 200
/** Queue entries looked at: a few first, many when all of these are blocked. */
const WINDOWS = [100, 2000, 20_000]

export interface ClaimRequest {
  executor: string
  leaseMs: number
  /** How long to wait for a first message, ms. */
  waitMs: number
  max: number
}

export interface ClaimedItem {
  message: MessageView
  lease: { token: number; handle: string; expiresAt: string }
  attempt: number
}

export interface ClaimParts {
  world: MailboxWorld
  performer: Performer
  detector: LossDetector
  bell: MailboxBell
}

/** Answers as soon as something was leased; empty when the time is over or the signal aborts. */
export async function claimMessages(
  parts: ClaimParts,
  { tenant, agent }: { tenant: string; agent: string },
  request: ClaimRequest,
  signal?: AbortSignal,
): Promise<ClaimedItem[]> {
  const { clock } = parts.world
  const answered = new AbortController()
  const timeUp = new AbortController()
  const given = signal ? [signal] : []
  if (request.waitMs <= 0) timeUp.abort()
  else {
    void clock.sleep(request.waitMs, AbortSignal.any([answered.signal, ...given])).then(
      () => timeUp.abort(),
      () => {},
    )
  }
  const ends = AbortSignal.any([timeUp.signal, ...given])
  try {
    for (;;) {
      if (signal?.aborted) return []
      const isOver = timeUp.signal.aborted
      const items = await claimNow(parts, { tenant, agent }, request).catch(error =>
        emptyUnlessLost(parts, { tenant, agent, error, isOver }),
      )
      if (items.length > 0 || isOver) return items
      await parts.bell.wait(tenantKey(tenant, agent), POLL_MS, ends)
    }
  } finally {
    answered.abort()
  }
}

/** A partition that nobody opened holds no messages; one that is rebuilt does. */
function emptyUnlessLost(
  { detector }: ClaimParts,
  at: { tenant: string; agent: string; error: unknown; isOver: boolean },
): [] {
  const isNotReady = isAmbitError(at.error) && at.error.code === 'not-ready'
  const isKnown = detector.agentOf(at.tenant, mailboxKey(at.agent)) !== undefined
  if (isNotReady && !(isKnown && at.isOver)) return []
  throw at.error
}

async function claimNow(
  parts: ClaimParts,
  at: { tenant: string; agent: string },
  request: ClaimRequest,
): Promise<ClaimedItem[]> {
  for (const window of WINDOWS) {
    const { due } = await parts.world.store.peekDue(at.tenant, queueOf(at.agent), window)
    if (due.length === 0) return []
    const items = await leaseDue(parts, { ...at, due: due.map(({ id }) => id) }, request)
    if (items.length > 0 || due.length < window) return items
  }
  return []
}

async function leaseDue(
  { world, performer, detector }: ClaimParts,
  { tenant, agent, due }: { tenant: string; agent: string; due: string[] },
  { executor, leaseMs, max }: ClaimRequest,
): Promise<ClaimedItem[]> {
  const { directory, ids, log, codec } = world
  const leaseIds = Array.from({ length: max }, () => ids.random())
  const ready = readyKey(performer.partition(tenant, agent))
  const { value: leased, durable } = await performer.begin({
    tenant,
    agent,
    lane: agent,
    documents: due.slice(0, max).map(id => messageKey(parseQueueId(id).messageId)),
    decide: unit =>
      decideClaim(unit, {
        agent: agentOf(directory, tenant, agent),
        isStopped: isStopped(directory, tenant, agent),
        executor,
        leaseMs,
        max,
        due,
        leaseIds,
        forgotten: {
          has: id => detector.isForgotten(tenant, messageKey(id), unit.version(ready)),
        },
      }),
  })
  const readEvent = world.readEvent ?? createEventReader({ codec }).read
  const bare = leased.flatMap(({ message }) => (message ? [fromStoredMessage(message)] : []))
  const [messages] = await Promise.all([withBodies(bare, { log, readEvent }), durable])
  return leased.flatMap((doc, at) => {
    const message = messages[at]
    return message ? [itemOf(world, doc, messageView(message, doc))] : []
  })
}

function itemOf({ signer }: MailboxWorld, doc: MessageDocument, message: MessageView): ClaimedItem {
  const { lease, message: stored } = doc
  if (!lease || !stored) throw new Error(`${doc.id} was claimed without a lease`)
  const { token, leaseId, expiresAt } = lease
  const handle = signer.sign({
    tenant: stored.tenant,
    agent: doc.agent,
    messageId: doc.id,
    subscription: doc.subscription,
    token,
    leaseId,
    session: doc.session,
    onBehalfOf: stored.onBehalfOf,
    lineage: lineageOf(stored),
    issuedAt: lease.issuedAt,
  })
  return {
    message,
    lease: { token, handle, expiresAt: instantOf(expiresAt) },
    attempt: doc.attempts,
  }
}
