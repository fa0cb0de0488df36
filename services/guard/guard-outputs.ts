/** Everything the guard writes besides its documents: one function per noun. */
import type { CloudEvent } from '#kernel/domain/event.ts'
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type {
  Change,
  Decision,
  EventRecord,
  GuardStateRecord,
  Message,
  Notice,
  Usage,
} from '#schemas/generated/records.ts'
import type { GuardFacts } from './guard-facts.ts'
import {
  BLANK_STATE,
  CANDIDATE_TTL_MS,
  type CandidateMemory,
  candidateKey,
  type GuardState,
  guardKey,
} from './guard-state.ts'

/** The state of a subscription; blank where nothing was remembered yet. */
export function readState(unit: UnitOfWork, subscription: string): GuardState {
  const stored = unit.get<GuardState>(guardKey(subscription))
  return stored ? { ...BLANK_STATE, ...stored } : BLANK_STATE
}

/** Journal records of a unit, so that each subscription is journalled once, with its last state. */
const journalled = new WeakMap<UnitOfWork, Map<string, GuardStateRecord>>()

export function saveState(unit: UnitOfWork, subscription: string, state: GuardState): void {
  const key = guardKey(subscription)
  unit.put(key, state)
  journal(unit, subscription, { version: unit.version(key), state })
}

/** Emits the state of a subscription as its newest journal record. */
export function journal(
  unit: UnitOfWork,
  subscription: string,
  { version, state }: { version: number; state: GuardState },
): void {
  const { tenant, now } = unit
  const records = journalled.get(unit) ?? new Map<string, GuardStateRecord>()
  journalled.set(unit, records)
  const known = records.get(subscription)
  if (known) {
    known.version = version
    known.state = state
    return
  }
  const value: GuardStateRecord = { tenant, subscription, version, state, at: now }
  records.set(subscription, value)
  const key = tenantKey(tenant, subscription)
  unit.emit({ topic: 'guard.state', key, id: `${subscription}/${version}`, tenant, value })
}

export interface Fated {
  subscription: string
  candidateId: string
  event: EventRecord
  memory: CandidateMemory
  /** Encoded message or group member: what a rebuild needs to emit it again. */
  emit?: Uint8Array
}

/** Keeps a fate as long as its event may come again; a waiting one until its group is flushed. */
export function putMemory(
  unit: UnitOfWork,
  subscription: string,
  { candidateId, memory }: { candidateId: string; memory: CandidateMemory },
): void {
  const ttlMs = memory.group ? undefined : CANDIDATE_TTL_MS
  unit.put(candidateKey(subscription, candidateId), memory, { ttlMs })
}

/** Why a decision record was written: only `fate` is news about the candidate. */
export type DecisionKind = 'fate' | 'repeat' | 'replay'

const kinds = new WeakMap<object, DecisionKind>()

/** The kind of a decision that this process wrote. */
export function kindOf(decision: Decision): DecisionKind {
  return kinds.get(decision) ?? 'fate'
}

/** Remembers a fate and writes its decision; answers the state that includes it. */
export function writeFate(
  unit: UnitOfWork,
  state: GuardState,
  fated: Fated,
  kind: DecisionKind = 'fate',
): GuardState {
  const { subscription, candidateId, memory } = fated
  putMemory(unit, subscription, { candidateId, memory })
  emitDecision(unit, fated, kind)
  return { ...state, lastDecision: `${candidateId}/${memory.seq}` }
}

/** Writes the decision record of a remembered fate. */
export function emitDecision(unit: UnitOfWork, fated: Fated, kind: DecisionKind): void {
  const { subscription, candidateId, event } = fated
  const { positions: _positions, group: _group, ...row } = fated.memory
  const { source, id, type, time, traceparent } = event.attributes
  const value: Decision = {
    tenant: unit.tenant,
    candidateId,
    subscription,
    event: {
      source: String(source),
      id: String(id),
      type: String(type),
      time: time === undefined ? null : String(time),
    },
    ...row,
    emit: fated.emit ?? null,
  }
  kinds.set(value, kind)
  unit.emit({
    topic: 'decisions',
    key: tenantKey(unit.tenant, subscription),
    id: `${candidateId}/${row.seq}`,
    tenant: unit.tenant,
    value,
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
  })
}

/** Puts an activation into the target's mailbox topic and writes down that it was spent. */
export function emitMessage(unit: UnitOfWork, facts: GuardFacts, message: Message): void {
  const { tenant, agent, id } = message
  const traceparent = message.events[0]?.attributes.traceparent
  unit.emit({
    topic: 'mailbox',
    key: tenantKey(tenant, agent),
    id,
    tenant,
    value: message,
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
  })
  const { subscription, policy, now } = facts
  const value: Usage = {
    tenant,
    subscription: subscription.id,
    owner: subscription.owner,
    agent,
    subject: id,
    stage: 'activation',
    attempt: 0,
    activations: 1,
    inputTokens: 0,
    outputTokens: 0,
    calls: 0,
    cost: '0',
    day: dayOf(now, policy.zone),
    at: now,
  }
  const key = tenantKey(tenant, subscription.id)
  unit.emit({ topic: 'usage', key, id: `${id}/activation`, tenant, value })
}

/**
 * Asks the registry for a change of the operation part. The same cause asks with the same change
 * id; the registry refuses it where the operation part is newer than the version seen.
 */
export function requestChange(
  unit: UnitOfWork,
  { subscription }: Pick<GuardFacts, 'subscription'>,
  change: { action: 'suspend' | 'exhaust'; body: Record<string, unknown>; reason: string },
): void {
  const { tenant, now } = unit
  const { id, version } = subscription
  const kind = String(change.body.kind ?? '')
  const changeId = hashId('x', tenant, 'guard', change.action, id, version, kind)
  const value: Change = {
    changeId,
    tenant,
    kind: 'subscription',
    id,
    ...change,
    by: { tenant, kind: 'system', id: 'guard', roles: [] },
    ifVersion: version,
    at: now,
  }
  const key = objectKey(tenant, 'subscription', id)
  unit.emit({ topic: 'registry.changes', key, id: changeId, tenant, value })
}

/** Tells the owner; the same cause gives the same notice. */
export function emitNotice(
  unit: UnitOfWork,
  { subscription }: Pick<GuardFacts, 'subscription'>,
  notice: Pick<Notice, 'kind' | 'severity' | 'cause' | 'text' | 'details'>,
): void {
  const { tenant, now } = unit
  const id = hashId('n', tenant, notice.cause)
  const value: Notice = {
    id,
    tenant,
    ...notice,
    owner: subscription.owner,
    subscription: subscription.id,
    agent: subscription.agent,
    messageId: null,
    at: now,
  }
  const key = tenantKey(tenant, subscription.owner)
  unit.emit({ topic: 'notices', key, id, tenant, value })
}

/** The attributes of an event as a CloudEvent without its body. */
export function attributesOf(event: EventRecord): CloudEvent {
  return event.attributes as CloudEvent
}
