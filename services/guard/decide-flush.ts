/**
 * The end of a group's timer. Stages 0, 3 and 6 run again, for the group and, where they concern
 * one event, for every member; then all members move on together (I11).
 */
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { messageIdOf } from '#kernel/domain/ids.ts'
import { needAll } from '#kernel/domain/need-all.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import { currentSubscription } from './decide-candidate.ts'
import { deliver, giveBack } from './deliver.ts'
import { groupRule } from './group-placement.ts'
import {
  type GuardFacts,
  type GuardWorld,
  gatherFacts,
  isRefusal,
  NEXT,
  type Refusal,
  type StageVerdict,
} from './guard-facts.ts'
import { readState, saveState, writeFate } from './guard-outputs.ts'
import {
  type CandidateMemory,
  candidateKey,
  type FlushName,
  FORGET_MS,
  flushId,
  type GroupDocument,
  type GuardState,
  groupDocumentKey,
  type MemberDocument,
  memberKey,
  type Opening,
} from './guard-state.ts'
import { DUE_QUEUE } from './join-group.ts'
import { judgeBudgets, judgeEntitlement } from './stages/budget.ts'
import { heldUntil } from './stages/cooldown.ts'
import { judgeOverlap } from './stages/delivery.ts'
import { judgeEvent, judgeSubscription } from './stages/state.ts'
import { afterRefusal } from './stop-subscription.ts'

const DELETED: Refusal = { fate: 'inactive', stage: 'state', reason: 'deleted', details: {} }

/** Flushes an opening whose time has come, or moves its time behind the cooldown. */
export function decideFlush(unit: UnitOfWork, world: GuardWorld, name: FlushName): void {
  const { subscription: id, hash } = name
  const group = unit.get<GroupDocument>(groupDocumentKey(id, hash))
  const opening = group?.openings.find(o => o.id === name.opening)
  if (!group || !opening) {
    unit.due(DUE_QUEUE, flushId(name), null)
    return
  }
  const state = readState(unit, id)
  const subscription = currentSubscription(unit, world, id, state)
  const facts = subscription && gatherFacts(unit, world, subscription, state)
  const lifecycle = facts ? judgeSubscription(facts) : DELETED
  if (facts && !isRefusal(lifecycle)) {
    const held = heldUntil(facts.subscription.limits, state, unit.now)
    const at = Math.max(held, opening.flushAt)
    if (at > unit.now) {
      unit.due(DUE_QUEUE, flushId(name), at)
      return
    }
  }
  const members = membersOf(unit, world, name, opening)
  const rule = subscription && groupRule(subscription.limits)
  const waiting: Waiting = { name, group, opening, members, intervalMs: rule?.intervalMs ?? 0 }
  const next = facts
    ? flush(unit, world, facts, waiting)
    : endAll(unit, state, waiting, { refusal: DELETED, settled: waiting.members })
  saveState(unit, id, next)
}

interface Member {
  candidateId: string
  document: MemberDocument
  memory: CandidateMemory
  event: EventRecord
}

interface Waiting {
  name: FlushName
  group: GroupDocument
  opening: Opening
  members: Member[]
  /** How long a flush is remembered. */
  intervalMs: number
}

/** Loads all members; a member whose memory is gone cannot be decided and is left out. */
function membersOf(
  unit: UnitOfWork,
  { codec }: GuardWorld,
  { subscription, hash }: FlushName,
  { id, members }: Opening,
): Member[] {
  const numbers = Array.from({ length: members }, (_, at) => at + 1)
  const keys = numbers.map(member => memberKey(subscription, { hash, opening: id, member }))
  needAll(unit, keys)
  const documents = keys.flatMap(key => unit.get<MemberDocument>(key) ?? [])
  needAll(
    unit,
    documents.map(({ candidateId }) => candidateKey(subscription, candidateId)),
  )
  return documents.flatMap(document => {
    const { candidateId } = document
    const memory = unit.get<CandidateMemory>(candidateKey(subscription, candidateId))
    if (memory?.fate !== 'grouped') return []
    const event = codec.decode('event', Uint8Array.fromBase64(document.event))
    return [{ candidateId, document, memory, event }]
  })
}

function flush(
  unit: UnitOfWork,
  world: GuardWorld,
  facts: GuardFacts,
  waiting: Waiting,
): GuardState {
  const { opening, members } = waiting
  const verdict = judgeGroup(facts, opening)
  if (isRefusal(verdict)) {
    const state = afterRefusal(unit, facts, verdict)
    return endAll(unit, state, waiting, { refusal: verdict, settled: members })
  }
  const judged = members.map(member => ({ member, verdict: judgeMember(world, facts, member) }))
  const alive = judged.flatMap(({ member, verdict: v }) => (isRefusal(v) ? [] : [member]))
  let { state } = facts
  for (const { member, verdict: v } of judged) {
    if (isRefusal(v)) state = move(unit, state, { waiting, member, facts }, v)
  }
  if (alive.length === 0) return endAll(unit, state, waiting, { settled: [] })
  return deliverGroup(unit, world, { ...facts, state }, { ...waiting, members: alive })
}

function judgeGroup(facts: GuardFacts, { charges }: Opening): StageVerdict {
  const checks = [
    () => judgeSubscription(facts),
    () => judgeEntitlement(facts),
    () => judgeBudgets(facts, { activations: 1, held: charges }),
    () => judgeOverlap(facts),
  ]
  for (const check of checks) {
    const verdict = check()
    if (isRefusal(verdict)) return verdict
  }
  return NEXT
}

function judgeMember(world: GuardWorld, facts: GuardFacts, member: Member): StageVerdict {
  const { event, document, memory } = member
  return judgeEvent(facts, {
    record: event,
    recordedAt: document.recordedAt,
    version: memory.version,
    matches: () => world.compile(facts.subscription).test(toCloudEvent(event)),
  })
}

function deliverGroup(
  unit: UnitOfWork,
  world: GuardWorld,
  facts: GuardFacts,
  waiting: Waiting,
): GuardState {
  const { name, group, opening, members } = waiting
  const messageId = messageIdOf(unit.tenant, 'group', name.subscription, group.key, opening.id)
  const { state: delivered, encoded } = deliver(unit, world, facts, {
    messageId,
    groupKey: group.key,
    items: members.map(({ candidateId, event, document: { evidence } }) => {
      return { candidateId, event, evidence }
    }),
    held: opening.charges,
  })
  const details = { opening: opening.id, events: members.length }
  const fate: Refusal = { fate: 'delivered', stage: 'delivery', reason: 'group-flushed', details }
  let state = delivered
  for (const [at, member] of members.entries()) {
    const emit = at === 0 ? encoded : undefined
    state = move(unit, state, { waiting, member, facts, messageId, emit }, fate)
  }
  close(unit, waiting, unit.now)
  return state
}

interface Move {
  waiting: Waiting
  member: Member
  facts?: GuardFacts
  messageId?: string
  emit?: Uint8Array
}

/** One member leaves its waiting place: same candidate, next `seq`. */
function move(
  unit: UnitOfWork,
  state: GuardState,
  { waiting, member, facts, messageId, emit }: Move,
  { fate, stage, reason, details }: Refusal,
): GuardState {
  const { candidateId, event, memory: before } = member
  const memory: CandidateMemory = {
    ...before,
    ...{ fate, stage, reason, details, group: null },
    messageId: messageId ?? null,
    // An edit may have changed who is woken and who pays, between joining and the flush.
    version: facts?.subscription.version ?? before.version,
    agent: facts?.subscription.agent ?? before.agent,
    owner: facts?.subscription.owner ?? before.owner,
    policyVersion: facts?.policy.version ?? before.policyVersion,
    seq: before.seq + 1,
    at: unit.now,
  }
  const { subscription } = waiting.name
  return writeFate(unit, state, { subscription, candidateId, event, memory, emit })
}

/** Nothing is delivered: what was reserved is given back. */
function endAll(
  unit: UnitOfWork,
  state: GuardState,
  waiting: Waiting,
  end: { refusal?: Refusal; settled: Member[] },
): GuardState {
  let next = state
  for (const member of end.settled) {
    if (end.refusal) next = move(unit, next, { waiting, member }, end.refusal)
  }
  giveBack(unit, waiting.opening.charges)
  close(unit, waiting, waiting.group.lastFlushAt)
  return next
}

/** A group closes once: its opening, its members and its due entry go in one commit (I11). */
function close(unit: UnitOfWork, waiting: Waiting, lastFlushAt: number): void {
  const { name, group, opening, intervalMs } = waiting
  const { subscription, hash } = name
  const openings = group.openings.filter(({ id }) => id !== opening.id)
  const key = groupDocumentKey(subscription, hash)
  const ttlMs = openings.length > 0 ? undefined : intervalMs + FORGET_MS
  unit.put(key, { ...group, openings, lastFlushAt }, { ttlMs })
  for (let member = 1; member <= opening.members; member++) {
    unit.remove(memberKey(subscription, { hash, opening: opening.id, member }))
  }
  unit.due(DUE_QUEUE, flushId(name), null)
}
