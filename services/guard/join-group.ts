/** A candidate starts to wait: in the open group of its key, or in one that it opens. */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { OWN_QUEUE } from '#kernel/host/step.ts'
import { reserve } from './deliver.ts'
import { evidenceOf } from './evidence.ts'
import type { GroupPlacement } from './group-placement.ts'
import type { Arrival, GuardFacts, GuardWorld, Refusal } from './guard-facts.ts'
import {
  type CandidateMemory,
  flushId,
  type GuardState,
  groupDocumentKey,
  type MemberDocument,
  memberKey,
  type Opening,
} from './guard-state.ts'

/** The host's name for the due queue of this partition; the type keeps it the same word. */
export const DUE_QUEUE: typeof OWN_QUEUE = 'own'

export interface Joining {
  facts: GuardFacts
  placement: GroupPlacement
  arrival: Arrival
}

export interface Joined {
  state: GuardState
  part: Pick<CandidateMemory, 'groupKey' | 'group' | 'details'>
  /** Encoded event: what a rebuild needs to restore the member. */
  emit: Uint8Array
}

/** Writes member, group and flush time. Opening reserves one activation, joining none (I8). */
export function joinGroup(
  unit: UnitOfWork,
  { codec }: GuardWorld,
  { facts, placement, arrival }: Joining,
  { details }: Refusal,
): Joined {
  const { candidate } = arrival
  const { subscription } = candidate
  const place = details as { opening: number; member: number; flushAt: number }
  const { hash, document, joining } = placement
  const opening = joining ?? openingOf(unit, facts, place)
  const isFull = place.member >= placement.rule.max
  const changed: Opening = { ...opening, flushAt: place.flushAt, members: place.member, isFull }
  const openings = [...document.openings.filter(({ id }) => id !== opening.id), changed]
  // No time to live: behind cooldowns a group may wait for long, and its flush removes it.
  unit.put(groupDocumentKey(subscription, hash), { ...document, openings })
  unit.due(DUE_QUEUE, flushId({ subscription, hash, opening: opening.id }), place.flushAt)
  const group = { hash, opening: opening.id, member: place.member }
  const emit = codec.encode('event', candidate.event)
  const member: MemberDocument = {
    candidateId: candidate.candidateId,
    event: emit.toBase64(),
    recordedAt: candidate.recordedAt,
    evidence: evidenceOf(candidate.verdict, candidate.event),
  }
  unit.put(memberKey(subscription, group), member, { isNew: true })
  const { state } = facts
  return {
    state: { ...state, opening: Math.max(state.opening, opening.id) },
    part: { groupKey: placement.key, group, details: shown(changed, place.member) },
    emit,
  }
}

function openingOf(
  unit: UnitOfWork,
  facts: GuardFacts,
  { opening, flushAt }: { opening: number; flushAt: number },
): Opening {
  const charges = reserve(unit, facts, [])
  return { id: opening, openedAt: unit.now, flushAt, members: 0, isFull: false, charges }
}

/** What people see of a waiting candidate; a rebuild reads it too. */
export interface GroupedDetails {
  opening: number
  member: number
  openedAt: number
  flushAt: string
  isFull: boolean
  charges: string[]
}

function shown({ id, openedAt, flushAt, isFull, charges }: Opening, member: number) {
  const at = new Date(flushAt).toISOString()
  return { opening: id, member, openedAt, flushAt: at, isFull, charges } satisfies GroupedDetails
}
