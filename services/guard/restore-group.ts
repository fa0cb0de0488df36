/** Waiting groups from their decisions: who joined, who left, when a key was flushed last. */
import { BUDGET_COUNTER_TTL_MS } from '#kernel/domain/budget-counters.ts'
import { parseRfc3339 } from '#kernel/domain/rfc3339.ts'
import type { Decision } from '#schemas/generated/records.ts'
import { groupHash } from './group-placement.ts'
import {
  CANDIDATE_TTL_MS,
  flushId,
  type GroupDocument,
  groupDocumentKey,
  type MemberDocument,
  type Membership,
  memberKey,
  type Opening,
} from './guard-state.ts'
import { DUE_QUEUE, type GroupedDetails } from './join-group.ts'
import { count, type Folding } from './rebuild-memory.ts'

const waitingKey = (subscription: string, { hash, opening }: Membership) =>
  `${subscription}/${hash}/${opening}`

/** A `grouped` decision with its event: the member, its opening and its flush time. */
export function enterGroup(folding: Folding, decision: Decision, place: Membership): void {
  const { restored, memory } = folding
  const { subscription, candidateId, emit, groupKey } = decision
  const details = decision.details as GroupedDetails
  const flushAt = parseRfc3339(details.flushAt) ?? decision.at
  const member: MemberDocument = {
    candidateId,
    event: (emit ?? new Uint8Array()).toBase64(),
    recordedAt: decision.at,
    evidence: [],
  }
  restored.documents.set(memberKey(subscription, place), { version: 1, value: member })
  const { openings, ...group } = groupAt(folding, subscription, groupKey ?? '')
  const { openedAt, isFull, charges } = details
  const opening: Opening = {
    ...{ id: place.opening, openedAt, flushAt, members: place.member, isFull, charges },
  }
  const isNew = !openings.some(({ id }) => id === opening.id)
  for (const counter of isNew ? charges : []) count(restored, counter)
  const others = openings.filter(({ id }) => id !== opening.id)
  putGroup(folding, subscription, { ...group, openings: [...others, opening] })
  const id = flushId({ subscription, ...place })
  restored.due.set(id, { queue: DUE_QUEUE, id, at: flushAt })
  const key = waitingKey(subscription, place)
  memory.waiting.set(key, (memory.waiting.get(key) ?? new Set()).add(candidateId))
}

/** A member got its final fate; the opening goes with the last one. */
export function leaveGroup(folding: Folding, decision: Decision, place: Membership): void {
  const { restored, memory } = folding
  const { subscription, candidateId, groupKey } = decision
  const key = waitingKey(subscription, place)
  const waiting = memory.waiting.get(key)
  restored.documents.delete(memberKey(subscription, place))
  if (!waiting?.delete(candidateId) || waiting.size > 0) return
  memory.waiting.delete(key)
  restored.due.delete(flushId({ subscription, ...place }))
  const { openings, ...group } = groupAt(folding, subscription, groupKey ?? '')
  const closed = openings.find(({ id }) => id === place.opening)
  const ttlMs = BUDGET_COUNTER_TTL_MS.month
  for (const counter of closed?.charges ?? []) count(restored, counter, { amount: -1, ttlMs })
  const rest = openings.filter(({ id }) => id !== place.opening)
  putGroup(folding, subscription, { ...group, openings: rest })
}

/** A delivery of a group key, through a group or at once. */
export function noteFlush(folding: Folding, { subscription, at }: Decision, key: string): void {
  const group = groupAt(folding, subscription, key)
  putGroup(folding, subscription, { ...group, lastFlushAt: Math.max(group.lastFlushAt, at) })
}

function groupAt({ restored }: Folding, subscription: string, key: string): GroupDocument {
  const held = restored.documents.get(groupDocumentKey(subscription, groupHash(key)))
  return (held?.value as GroupDocument | undefined) ?? { key, lastFlushAt: 0, openings: [] }
}

function putGroup({ restored }: Folding, subscription: string, group: GroupDocument): void {
  const key = groupDocumentKey(subscription, groupHash(group.key))
  const version = (restored.documents.get(key)?.version ?? 0) + 1
  const ttlMs = group.openings.length > 0 ? undefined : CANDIDATE_TTL_MS
  restored.documents.set(key, { version, value: group, ttlMs })
}
