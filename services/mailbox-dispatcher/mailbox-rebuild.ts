/**
 * Mailboxes from the log (I5, I6, I18). Transitions come first and say how each message stands;
 * then the messages themselves bring bodies and order. A message without any transition was
 * never taken in, so its offset is not committed and intake reads it again.
 */
import type { Directory } from '#kernel/host/directory.ts'
import type { Rebuild, Restored } from '#kernel/host/step.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { MailboxTransition, Message } from '#schemas/generated/records.ts'
import type { ApprovalDocument } from './approval-document.ts'
import { REDRIVEN } from './decide-redrive.ts'
import {
  approvalKey,
  isSettled,
  type MailboxDocument,
  type MessageDocument,
  type MessageState,
  mailboxKey,
  messageKey,
  OPERATIONS_OUTBOX,
  queueIdOf,
  queueOf,
  readyKey,
  SETTLED_TTL_MS,
  toStoredMessage,
} from './message-document.ts'
import { tokenFloor } from './open-mailbox.ts'
import { blankSpending, noteRun, restoreSpending, type SpendingMemory } from './restore-spending.ts'
import type { Run } from './run-result.ts'

const DAY_MS = 24 * 3_600_000
/** Shortest time that a restored marker lives, ms. */
const TTL_MS_MIN = 3_600_000
/** More leases of one mailbox than can be in a store that is lost, and not in the log yet. */
const UNLOGGED_MAX = 10_000

/** What the step reads with, and where it finds the tenant's zone. */
export interface MailboxStepWorld {
  codec: RecordCodec
  directory: Pick<Directory, 'policy'>
}

type Held<T> = { version: number; value: T; ttlMs?: number }

export function createMailboxRebuild({ codec, directory }: MailboxStepWorld): Rebuild {
  const memories = new WeakMap<Restored, SpendingMemory>()
  const memoryOf = (restored: Restored) => {
    const memory = memories.get(restored) ?? blankSpending()
    memories.set(restored, memory)
    return memory
  }
  return {
    begin: partition => ({ remove: [readyKey(partition)], drain: [OPERATIONS_OUTBOX] }),
    sources: [
      { topic: 'mailbox.state', ageMs: 31 * DAY_MS },
      { topic: 'mailbox', ageMs: 30 * DAY_MS },
    ],
    fold(restored, record, now) {
      if (!record.value) return
      if (record.topic === 'mailbox') {
        const message = codec.decode('message', record.value)
        const into = restored(message.tenant)
        foldMessage(into, { message, record })
        const { zone } = directory.policy(message.tenant)
        restoreSpending(into, memoryOf(into), { message, zone })
        openAgain(into, record.partition, now)
      } else {
        const transition = codec.decode('mailbox-transition', record.value)
        const into = restored(transition.tenant)
        foldTransition(into, transition, now)
        noteRun(memoryOf(into), transition)
        openAgain(into, record.partition, now)
      }
    },
  }
}

/** Kept last in the order of writing: whoever sees it sees everything else. */
function openAgain({ documents }: Restored, partition: number, now: number): void {
  const key = readyKey(partition)
  documents.delete(key)
  documents.set(key, { version: now, value: { since: now } })
}

function held<T>({ documents }: Restored, key: string): Held<T> | undefined {
  return documents.get(key) as Held<T> | undefined
}

function foldTransition(into: Restored, transition: MailboxTransition, now: number): void {
  const key = messageKey(transition.messageId)
  const known = held<MessageDocument>(into, key)
  const rank = { version: transition.version, token: transition.token }
  const isNewest = !known || isHigher(rank, { version: known.version, token: known.value.token })
  const doc = mergedDocument(known?.value, transition, isNewest)
  const settledAt = doc.settledAt
  const ttlMs =
    settledAt === null ? undefined : Math.max(TTL_MS_MIN, SETTLED_TTL_MS - (now - settledAt))
  const version = Math.max(known?.version ?? 0, transition.version)
  into.documents.set(key, { version, value: doc, ttlMs })
  foldMailbox(into, transition, { isNewest, now })
  foldQuestion(into, transition)
}

/** A late append of an operation that lost its race has the same version and a lower token. */
function isHigher(
  a: { version: number; token: number },
  b: { version: number; token: number },
): boolean {
  return a.version > b.version || (a.version === b.version && a.token >= b.token)
}

function mergedDocument(
  known: MessageDocument | undefined,
  transition: MailboxTransition,
  isNewest: boolean,
): MessageDocument {
  const doc = isNewest ? documentOf(known, transition) : (known as MessageDocument)
  const run = transition.run as Run | null
  if (run && run.attempt >= (doc.run?.attempt ?? 0)) doc.run = run
  if (run && transition.leaseId && run.attempt === doc.attempts) {
    doc.last = { leaseId: transition.leaseId, op: opOf(transition.state, run) }
  }
  if (transition.reason === REDRIVEN) {
    doc.attemptsBase = Math.max(doc.attemptsBase, transition.attempt)
  }
  return doc
}

function opOf(state: string, run: Run): 'ask' | 'complete' | 'fail' {
  if (state === 'failed') return 'fail'
  return run.approvalId === undefined ? 'complete' : 'ask'
}

function documentOf(
  known: MessageDocument | undefined,
  transition: MailboxTransition,
): MessageDocument {
  const { leaseId, executor, expiresAt, at, token } = transition
  // The schema's states are written by this service only.
  const state = transition.state as MessageState
  const isLeased = state === 'leased' && leaseId !== null && expiresAt !== null
  const lease = { token, leaseId: leaseId ?? '', executor: executor ?? '', issuedAt: at }
  return {
    id: transition.messageId,
    agent: transition.agent,
    state: state === 'failed' ? 'queued' : state,
    message: null,
    order: 0,
    attempts: transition.attempt,
    attemptsBase: known?.attemptsBase ?? 0,
    availableAt: transition.availableAt ?? known?.availableAt ?? at,
    lease: isLeased ? { ...lease, expiresAt } : null,
    token: Math.max(known?.token ?? 0, token),
    last: known?.last ?? null,
    run: known?.run ?? null,
    session: transition.session,
    subscription: transition.subscription,
    settledAt: isSettled(state) ? at : null,
  }
}

/**
 * Tokens never fall: every token seen counts, also those of moves that were overtaken, and so do
 * those of leases whose records are still on their way.
 */
function foldMailbox(
  into: Restored,
  transition: MailboxTransition,
  { isNewest, now }: { isNewest: boolean; now: number },
): void {
  const { agent, messageId, token, leaseId, session, subscription, expiresAt } = transition
  const { mailboxVersion } = transition
  const key = mailboxKey(agent)
  const known = held<MailboxDocument>(into, key)
  if (!known && mailboxVersion === 0) return
  const box = known?.value ?? { tokenNext: tokenFloor(now), leases: {} }
  box.tokenNext = Math.max(box.tokenNext, token + 1 + UNLOGGED_MAX)
  if (isNewest) delete box.leases[messageId]
  if (isNewest && transition.state === 'leased' && leaseId !== null && expiresAt !== null) {
    box.leases[messageId] = { token, leaseId, session, subscription, expiresAt }
  }
  const version = Math.max(known?.version ?? 0, mailboxVersion, 1)
  into.documents.set(key, { version, value: box })
}

function foldQuestion(into: Restored, { run }: MailboxTransition): void {
  const approval = (run as { approval?: ApprovalDocument } | null)?.approval
  if (!approval) return
  const key = approvalKey(approval.id)
  if (into.documents.has(key)) return
  into.documents.set(key, { version: 1, value: approval, ttlMs: SETTLED_TTL_MS })
}

/** Gives a message its body and its place; a second record of the same message changes nothing. */
function foldMessage(
  into: Restored,
  { message, record }: { message: Message; record: LogRecord },
): void {
  foldAnswer(into, message)
  const known = held<MessageDocument>(into, messageKey(message.id))
  if (!known || known.value.message) return
  const doc = known.value
  if (isSettled(doc.state) && doc.state !== 'dead') return
  doc.message = toStoredMessage(message)
  if (doc.attemptsBase > 0) doc.message.expiresAt = null
  doc.order = record.offset
  if (doc.state === 'dead') return
  const due = {
    queue: queueOf(doc.agent),
    id: queueIdOf(doc),
    at: doc.lease?.expiresAt ?? doc.availableAt,
  }
  into.due.set(`${due.queue}\n${due.id}`, due)
}

/** The continuation that an answer made says that the question was answered, and how. */
function foldAnswer(into: Restored, message: Message): void {
  const input = message.input as Partial<ApprovalAnswerInput> | null
  if (message.kind !== 'continuation' || input?.kind !== 'answer' || !input.approvalId) return
  const known = held<ApprovalDocument>(into, approvalKey(input.approvalId))
  if (!known || known.value.answer || !input.decision) return
  const { decision, args, text, reason, by = '', at = message.createdAt } = input
  known.value.answer = { decision, args, text, reason, by, at, continuation: message.id }
  known.version = 2
}

interface ApprovalAnswerInput extends NonNullable<ApprovalDocument['answer']> {
  kind: string
  approvalId: string
}
