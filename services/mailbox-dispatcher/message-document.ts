/**
 * What the store holds of a mailbox.
 *
 * - `msg/<id>`: one message, its state and lease; after settling a marker that outlives the
 *   mailbox topic, so that a replayed record is recognised (I2, I7).
 * - `mailbox/<agent>`: next token and live leases. Every operation but intake writes it, so it is
 *   the one compare-and-set point of a mailbox and tokens strictly grow (I6).
 * - `mailbox-ready/<partition>`: present while the documents of a partition can be trusted.
 */
import { tenantKey } from '#kernel/domain/ids.ts'
import type { EventRecord, Message } from '#schemas/generated/records.ts'
import type { Run } from './run-result.ts'

/** Consumer group, and name of fences and outboxes of intake. */
export const MAILBOX_STEP = 'mailbox-dispatcher'

/** Outbox of the operations of executors and people, one per tenant. */
export const OPERATIONS_OUTBOX = 'outbox/mailbox'

/** Settled ids are remembered longer than the mailbox topic keeps messages (30 days). */
export const SETTLED_TTL_MS = 33 * 24 * 3_600_000

export type MessageState =
  | 'queued'
  | 'leased'
  | 'failed'
  | 'done'
  | 'dead'
  | 'cancelled'
  | 'expired'

/** An event whose bytes are Base64, so that the document is JSON. */
export type StoredEvent = Omit<EventRecord, 'bytes'> & { bytes: string | null }
export type StoredMessage = Omit<Message, 'events'> & { events: StoredEvent[] }

export interface Lease {
  /** Fencing number. */
  token: number
  leaseId: string
  executor: string
  /** Ms since the epoch, by the store's clock. */
  issuedAt: number
  expiresAt: number
}

/** How a lease was given back; answers the same call again. */
export interface LastLease {
  leaseId: string
  op: 'complete' | 'fail' | 'ask'
}

export interface MessageDocument {
  id: string
  agent: string
  state: MessageState
  /** `null` once settled; kept while dead, because a dead message can be redriven. */
  message: StoredMessage | null
  /** Offset in the mailbox partition: acceptance order. */
  order: number
  /** Attempts begun, ever. */
  attempts: number
  /** Attempts before the last redrive; the bound counts from here. */
  attemptsBase: number
  availableAt: number
  lease: Lease | null
  /** Highest token ever given for this message. */
  token: number
  last: LastLease | null
  run: Run | null
  session: string | null
  subscription: string | null
  settledAt: number | null
}

export interface MailboxLease {
  token: number
  leaseId: string
  session: string | null
  subscription: string | null
  expiresAt: number
}

export interface MailboxDocument {
  tokenNext: number
  leases: Record<string, MailboxLease>
}

export const messageKey = (id: string): string => `msg/${id}`
export const mailboxKey = (agent: string): string => `mailbox/${agent}`
export const approvalKey = (id: string): string => `approval/${id}`
export const readyKey = (partition: number): string => `mailbox-ready/${partition}`
export const queueOf = (agent: string): string => `mbx/${agent}`

/** Log key of everything that belongs to one mailbox. */
export const mailboxRecordKey = (tenant: string, agent: string): string => tenantKey(tenant, agent)

/** Messages in these states never come back by themselves. */
export function isSettled(state: MessageState): boolean {
  return state !== 'queued' && state !== 'leased' && state !== 'failed'
}

/** A JSON-safe copy of the appended message. */
export function toStoredMessage(message: Message): StoredMessage {
  const events = message.events.map(event => ({
    ...event,
    bytes: event.bytes === null ? null : Buffer.from(event.bytes).toString('base64'),
  }))
  return { ...message, events }
}

/** Reads what `toStoredMessage` wrote. */
export function fromStoredMessage(stored: StoredMessage): Message {
  const events = stored.events.map(event => ({
    ...event,
    bytes: event.bytes === null ? null : Buffer.from(event.bytes, 'base64'),
  }))
  return { ...stored, events }
}

/** A message nobody has leased yet. */
export function newMessageDocument(
  message: Message,
  { order, availableAt }: { order: number; availableAt: number },
): MessageDocument {
  return {
    id: message.id,
    agent: message.agent,
    state: 'queued',
    message: toStoredMessage(message),
    order,
    attempts: 0,
    attemptsBase: 0,
    availableAt,
    lease: null,
    token: 0,
    last: null,
    run: null,
    session: message.session,
    subscription: message.subscription?.id ?? null,
    settledAt: null,
  }
}

/** Digits that hold every safe integer, so that text order is offset order. */
const ORDER_DIGITS = 16

/** What choosing a message needs to know about a queue entry without loading it. */
export interface QueueEntry {
  messageId: string
  session: string | null
  subscription: string | null
  /** Runs of this subscription at once; 0 means no bound. */
  concurrencyMax: number
}

/** Id in the due queue: acceptance order first, then everything that can block the message. */
export function queueIdOf(doc: MessageDocument): string {
  const order = String(doc.order).padStart(ORDER_DIGITS, '0')
  const blockers = [doc.session ?? '', doc.subscription ?? ''].map(encodeURIComponent)
  return [order, doc.id, ...blockers, doc.message?.concurrencyMax ?? 0].join(':')
}

/** Reads what `queueIdOf` wrote. */
export function parseQueueId(id: string): QueueEntry {
  const [, messageId = '', session = '', subscription = '', concurrencyMax = '0'] = id.split(':')
  return {
    messageId,
    session: decodeURIComponent(session) || null,
    subscription: decodeURIComponent(subscription) || null,
    concurrencyMax: Number(concurrencyMax),
  }
}
