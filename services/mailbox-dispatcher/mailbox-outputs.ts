/** The records that leave a mailbox, with ids that are the same whenever they are made again. */
import type { BudgetPayer } from '#kernel/domain/budget-counters.ts'
import { type CloudEvent, formatLineage, type Hop } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { MailboxTransition, Notice, Outcome, Usage } from '#schemas/generated/records.ts'
import type { MessageDocument, StoredMessage } from './message-document.ts'
import type { Run, RunUsage } from './run-result.ts'

/** Largest `output` of a run that its `platform.run.finished` event carries, in characters. */
const EVENT_OUTPUT_MAX = 32 * 1024

/** Why and by whom a message moved. */
export interface TransitionNote {
  reason?: string | null
  by?: string | null
  leaseId?: string | null
  executor?: string | null
}

/** One step of a message, at the versions that this unit writes. */
export function transitionOutput(
  unit: UnitOfWork,
  doc: MessageDocument,
  versions: { message: number; mailbox: number },
  note: TransitionNote,
): Output {
  const value: MailboxTransition = {
    tenant: unit.tenant,
    agent: doc.agent,
    messageId: doc.id,
    subscription: doc.subscription,
    state: doc.state,
    version: versions.message,
    mailboxVersion: versions.mailbox,
    attempt: doc.attempts,
    token: doc.token,
    leaseId: doc.lease?.leaseId ?? note.leaseId ?? null,
    executor: doc.lease?.executor ?? note.executor ?? null,
    session: doc.session,
    availableAt: doc.state === 'queued' ? doc.availableAt : null,
    expiresAt: doc.lease?.expiresAt ?? null,
    reason: note.reason ?? null,
    run: doc.state === 'done' || doc.state === 'failed' ? doc.run : null,
    by: note.by ?? null,
    at: unit.now,
  }
  return {
    topic: 'mailbox.state',
    key: tenantKey(unit.tenant, doc.agent),
    id: `${doc.id}/${versions.message}/${doc.token}`,
    tenant: unit.tenant,
    value,
  }
}

/** Tells the guard how a message of a subscription stands; continuations have nobody to tell. */
export function emitOutcome(
  unit: UnitOfWork,
  doc: MessageDocument,
  end: { state: 'done' | 'failed' | 'dead' | 'cancelled' | 'expired'; ok: boolean; reason: string },
): void {
  const { subscription } = doc
  if (subscription === null || doc.message?.kind !== 'activation') return
  const value: Outcome = {
    tenant: unit.tenant,
    subscription,
    agent: doc.agent,
    messageId: doc.id,
    state: end.state,
    ok: end.ok,
    stopReason: end.reason,
    attempt: doc.attempts,
    at: unit.now,
  }
  const key = tenantKey(unit.tenant, subscription)
  const id = `${doc.id}/${doc.attempts}/${end.state}`
  unit.emit({ topic: 'outcomes', key, id, tenant: unit.tenant, value })
}

/** Writes a notice; the same cause gives the same id. */
export function emitNotice(unit: UnitOfWork, notice: Omit<Notice, 'tenant' | 'id' | 'at'>): void {
  const id = hashId('n', unit.tenant, notice.kind, notice.cause)
  unit.emit({
    topic: 'notices',
    key: tenantKey(unit.tenant, notice.owner ?? ''),
    id,
    tenant: unit.tenant,
    value: { ...notice, id, tenant: unit.tenant, at: unit.now } satisfies Notice,
  })
}

/** A message that was given up; one notice per giving up. */
export function emitDeadNotice(unit: UnitOfWork, doc: MessageDocument, reason: string): void {
  const name = doc.message?.subscription?.name
  emitNotice(unit, {
    kind: 'message-dead',
    severity: 'warning',
    cause: `message-dead ${doc.id} ${doc.attempts}`,
    owner: doc.message?.subscription?.owner ?? doc.message?.onBehalfOf ?? null,
    subscription: doc.subscription,
    agent: doc.agent,
    messageId: doc.id,
    text: `A message${name ? ` of "${name}"` : ''} was given up after ${doc.attempts} attempts.`,
    details: { reason, attempts: doc.attempts },
  })
}

/** The hop that a message adds to the lineage it came with. */
export function ownHop(message: StoredMessage): Hop {
  const { subscription, kind, agent, id } = message
  return { subscription: subscription?.id ?? kind, agent, message: id }
}

/** Lineage of everything that is caused by a run of the message (I10). */
export function lineageOf(message: StoredMessage): Hop[] {
  return [...message.lineage, ownHop(message)]
}

/** `platform.run.finished`: one per attempt. */
export function emitRunFinished(
  unit: UnitOfWork,
  doc: MessageDocument,
  message: StoredMessage,
  run: Run,
): void {
  const { output, approval: _approval, ...summary } = run
  const isSmall = (JSON.stringify(output) ?? '').length <= EVENT_OUTPUT_MAX
  emitPlatformEvent(unit, message, {
    id: hashId('e', unit.tenant, 'run', doc.id, run.attempt),
    type: 'platform.run.finished',
    data: {
      ...summary,
      messageId: doc.id,
      agent: doc.agent,
      subscription: doc.subscription,
      session: doc.session,
      ...(output !== undefined && isSmall ? { output } : {}),
    },
  })
}

/** Appends an event of the platform, with the lineage of the message that caused it. */
export function emitPlatformEvent(
  unit: UnitOfWork,
  message: StoredMessage,
  event: { id: string; type: string; data: unknown },
): void {
  const source = `/ambit/mailboxes/${encodeURIComponent(message.agent)}`
  const subject = message.subscription?.id
  const full: CloudEvent = {
    specversion: '1.0',
    id: event.id,
    source,
    type: event.type,
    ...(subject ? { subject } : {}),
    time: instantOf(unit.now),
    datacontenttype: 'application/json',
    recordedtime: instantOf(unit.now),
    tenant: unit.tenant,
    ...(message.onBehalfOf ? { onbehalfof: message.onBehalfOf } : {}),
    causationid: message.id,
    lineage: formatLineage(lineageOf(message)),
    data: event.data,
  }
  unit.emit({
    topic: 'ingress.platform',
    key: tenantKey(unit.tenant, subject ? `${source}/${subject}` : source),
    id: event.id,
    tenant: unit.tenant,
    value: toEventRecord(full),
  })
}

/** What something cost; the same attempt gives the same id, so it is counted once (I8). */
export function emitUsage(
  unit: UnitOfWork,
  payer: BudgetPayer,
  spent: {
    /** Message id. */
    subject: string
    stage: 'run' | 'continuation'
    attempt: number
    activations?: number
    usage?: RunUsage
    zone: string
  },
): void {
  const { subject, stage, attempt, activations = 0, usage = {}, zone } = spent
  const value: Usage = {
    tenant: unit.tenant,
    subscription: payer.subscription,
    owner: payer.owner,
    agent: payer.agent,
    subject,
    stage,
    attempt,
    activations,
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    calls: usage.calls ?? 0,
    cost: usage.cost ?? '0',
    day: dayOf(unit.now, zone),
    at: unit.now,
  }
  const key = tenantKey(unit.tenant, payer.subscription)
  const id = `${subject}/${stage}/${attempt}`
  unit.emit({ topic: 'usage', key, id, tenant: unit.tenant, value })
}
