/**
 * One candidate, one fate. What was decided before is recognised first, then the stages are asked
 * in order, then exactly one effect is written: refused, grouped or delivered.
 */
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { messageIdOf } from '#kernel/domain/ids.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import { deliver } from './deliver.ts'
import { evidenceOf } from './evidence.ts'
import { groupHash, groupKeyOf, groupRule, needsData, placeInGroup } from './group-placement.ts'
import {
  type Arrival,
  type GuardFacts,
  type GuardWorld,
  gatherFacts,
  isRefusal,
  type Refusal,
  type StageContext,
} from './guard-facts.ts'
import {
  attributesOf,
  emitDecision,
  putMemory,
  readState,
  saveState,
  writeFate,
} from './guard-outputs.ts'
import {
  CANDIDATE_TTL_MS,
  type CandidateMemory,
  type Claim,
  candidateKey,
  claimKey,
  claims,
  FORGET_MS,
  type GroupDocument,
  type GuardState,
  groupDocumentKey,
  isReplay,
  withArrival,
  withPosition,
} from './guard-state.ts'
import { joinGroup } from './join-group.ts'
import { runPipeline } from './pipeline.ts'
import { afterRefusal } from './stop-subscription.ts'

export function decideCandidate(unit: UnitOfWork, world: GuardWorld, arrival: Arrival): void {
  const { candidate } = arrival
  const id = candidate.subscription
  const known = unit.get<CandidateMemory>(candidateKey(id, candidate.candidateId))
  if (known && recogniseAgain(unit, candidate, known)) return
  const state = readState(unit, id)
  const subscription = currentSubscription(unit, world, id, state)
  if (!subscription) {
    refuseOrphan(unit, arrival, state, known)
    return
  }
  const facts = gatherFacts(unit, world, subscription, state)
  const context = contextOf(unit, world, facts, arrival)
  const { verdict, hasArrived } = runPipeline(context)
  const { limits } = subscription
  const moment = { candidateId: candidate.candidateId, now: unit.now }
  const counted = hasArrived ? { ...facts, state: withArrival(state, limits, moment) } : facts
  const next = isRefusal(verdict)
    ? settle(unit, world, { facts: counted, context, arrival, known }, verdict)
    : deliverOne(unit, world, { facts: counted, context, arrival, known })
  saveState(unit, id, next)
}

interface Case {
  facts: GuardFacts
  context: StageContext
  arrival: Arrival
  known: CandidateMemory | undefined
}

/**
 * The same candidate again gets no second fate (I2). Read twice from the same place it is a
 * replay and counts nothing; sent again it is a repeat. A failed evaluation is judged again.
 */
function recogniseAgain(
  unit: UnitOfWork,
  candidate: Arrival['candidate'],
  known: CandidateMemory,
): boolean {
  const { subscription, candidateId, event, position } = candidate
  const positions = withPosition(known.positions, position)
  const fated = { subscription, candidateId, event }
  if (isReplay(known, position)) {
    // The message itself went through the outbox with the decision, or comes from the rebuild.
    emitDecision(unit, { ...fated, memory: known }, 'replay')
    if (known.positions.length === 0 && position) {
      putMemory(unit, subscription, { candidateId, memory: { ...known, positions } })
    }
    return true
  }
  if (known.fate === 'evaluation-failed') return false
  const memory = { ...known, positions, seq: known.seq + 1, repeats: known.repeats + 1 }
  const state = writeFate(unit, readState(unit, subscription), { ...fated, memory }, 'repeat')
  saveState(unit, subscription, state)
  return true
}

/**
 * The subscription as the table has it. A marker that is newer than the table and announces a
 * live subscription means that the table lags: the batch comes again after the next barrier.
 */
export function currentSubscription(
  unit: UnitOfWork,
  { directory }: GuardWorld,
  id: string,
  { lifecycle }: GuardState,
): Subscription | undefined {
  const found = directory.subscription(unit.tenant, id)
  if (lifecycle?.operation !== 'active') return found
  if ((found?.version ?? 0) >= lifecycle.version) return found
  const expected = String(lifecycle.version)
  const actual = String(found?.version ?? 0)
  const text = `Expected subscription version ${expected} in the table, got ${actual}; read again.`
  throw new AmbitError('not-ready', text, { expected, actual })
}

function contextOf(
  unit: UnitOfWork,
  world: GuardWorld,
  facts: GuardFacts,
  { candidate, body }: Arrival,
): StageContext {
  const { event: record, recordedAt, version, position, verdict, skipped } = candidate
  const placement = placementOf(unit, facts.subscription, { candidate, body })
  return {
    facts,
    event: {
      record,
      recordedAt,
      version,
      position,
      matches: () => world.compile(facts.subscription).test(body ?? toCloudEvent(record)),
    },
    verdict,
    skipped,
    claimant: claimantOf(unit, candidate),
    reservation: { activations: placement?.joining ? 0 : 1, held: [] },
    placement,
  }
}

/** The key of the group document that a candidate waits in, for hints and for placing. */
export function groupOf({ limits }: Subscription, { candidate, body }: Arrival) {
  const rule = groupRule(limits)
  if (!rule) return undefined
  const { event } = candidate
  const key = groupKeyOf(
    rule,
    needsData(rule) ? (body ?? toCloudEvent(event)) : attributesOf(event),
  )
  return { rule, key, documentKey: groupDocumentKey(candidate.subscription, groupHash(key)) }
}

function placementOf(unit: UnitOfWork, subscription: Subscription, arrival: Arrival) {
  const group = groupOf(subscription, arrival)
  if (!group) return undefined
  return placeInGroup(group.rule, group.key, unit.get<GroupDocument>(group.documentKey))
}

/** Only a `dedupkey` of its own makes an occurrence something else than its candidate. */
export function hasOwnDedupKey({ event }: Arrival['candidate']): boolean {
  const key = event.attributes.dedupkey
  return typeof key === 'string' && key !== ''
}

function claimantOf(unit: UnitOfWork, candidate: Arrival['candidate']) {
  if (!hasOwnDedupKey(candidate)) return undefined
  const { subscription, occurrenceId } = candidate
  const claim = unit.get<Claim>(claimKey(subscription, occurrenceId))
  if (!claim || claim.candidateId === candidate.candidateId) return undefined
  const { candidateId } = claim
  const memory = unit.get<CandidateMemory>(candidateKey(subscription, candidateId))
  return { candidateId, messageId: memory?.messageId ?? null }
}

function memoryOf({ facts, arrival, known }: Case, refusal: Refusal): CandidateMemory {
  const { candidate } = arrival
  const { subscription, policy, now } = facts
  return {
    occurrenceId: candidate.occurrenceId,
    ...refusal,
    messageId: null,
    groupKey: null,
    verdictId: candidate.verdict?.id ?? null,
    version: subscription.version,
    policyVersion: policy.version,
    agent: subscription.agent,
    owner: subscription.owner,
    ...again(known),
    at: now,
    group: null,
    positions: withPosition(known?.positions ?? [], candidate.position),
  }
}

function again(known: CandidateMemory | undefined) {
  return known ? { seq: known.seq + 1, repeats: known.repeats + 1 } : { seq: 1, repeats: 0 }
}

function finish(
  unit: UnitOfWork,
  { arrival }: Case,
  result: {
    state: GuardState
    memory: CandidateMemory
    emit?: Uint8Array
  },
): GuardState {
  const { subscription, candidateId, occurrenceId, event } = arrival.candidate
  if (hasOwnDedupKey(arrival.candidate) && claims(result.memory)) {
    unit.put(claimKey(subscription, occurrenceId), { candidateId }, { ttlMs: CANDIDATE_TTL_MS })
  }
  const { state, memory, emit } = result
  return writeFate(unit, state, { subscription, candidateId, event, memory, emit })
}

function settle(unit: UnitOfWork, world: GuardWorld, at: Case, refusal: Refusal): GuardState {
  const { facts, context, arrival } = at
  const { event } = arrival.candidate
  const memory = memoryOf(at, refusal)
  if (refusal.fate === 'grouped' && context.placement) {
    const joined = joinGroup(unit, world, { facts, placement: context.placement, arrival }, refusal)
    return finish(unit, at, { ...joined, memory: { ...memory, ...joined.part } })
  }
  return finish(unit, at, { state: afterRefusal(unit, facts, refusal, event), memory })
}

function deliverOne(unit: UnitOfWork, world: GuardWorld, at: Case): GuardState {
  const { facts, context, arrival } = at
  const { candidate } = arrival
  const { candidateId, occurrenceId, event } = candidate
  const messageId = messageIdOf(unit.tenant, 'occurrence', occurrenceId)
  const groupKey = context.placement?.key ?? null
  const evidence = evidenceOf(candidate.verdict, event)
  const items = [{ candidateId, event, evidence }]
  const { state, encoded } = deliver(unit, world, facts, { messageId, groupKey, items, held: [] })
  if (context.placement) {
    const { rule, hash, document } = context.placement
    const key = groupDocumentKey(candidate.subscription, hash)
    const ttlMs = rule.intervalMs + FORGET_MS
    unit.put(key, { ...document, lastFlushAt: unit.now }, { ttlMs })
  }
  const fate: Refusal = { fate: 'delivered', stage: 'delivery', reason: 'delivered', details: {} }
  const memory = { ...memoryOf(at, fate), messageId, groupKey }
  return finish(unit, at, { state, memory, emit: encoded })
}

/** A candidate of a subscription that nobody knows any more. */
function refuseOrphan(
  unit: UnitOfWork,
  { candidate }: Arrival,
  state: GuardState,
  known: CandidateMemory | undefined,
): void {
  const { subscription, candidateId, occurrenceId, event, position } = candidate
  const memory: CandidateMemory = {
    occurrenceId,
    ...{ fate: 'inactive', stage: 'state', reason: 'deleted', details: {} },
    ...{ messageId: null, groupKey: null, verdictId: null, group: null },
    ...{ version: candidate.version, policyVersion: 0, agent: '', owner: '' },
    ...again(known),
    at: unit.now,
    positions: withPosition([], position),
  }
  saveState(
    unit,
    subscription,
    writeFate(unit, state, { subscription, candidateId, event, memory }),
  )
}
