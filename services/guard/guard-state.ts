/**
 * What the guard remembers, as documents of the store.
 *
 * - `guard/<subscription>`: one small document, journalled whole in `guard.state`.
 * - `candidate/<subscription>/<candidate>`: the fate of a candidate, so that the same event never
 *   gets a second one (I2).
 * - `claim/<subscription>/<occurrence>`: who claimed an occurrence. Written only where a producer
 *   sent a `dedupkey`: without one, occurrence and candidate are the same thing.
 * - `group/<subscription>/<key>` and `member/…`: waiting groups. Their record is in `decisions`.
 */

import type { Fate, Stage } from '#kernel/domain/fate.ts'
import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'
import type { Limits } from '#kernel/domain/limits.ts'
import type { EventRef } from '#schemas/generated/records.ts'
import { addTo, type SlidingWindow } from './sliding-window.ts'

export { candidateKey, claimKey, guardKey } from '#kernel/domain/guard-keys.ts'

/** Stops a subscription at once, before the registry has heard of it. */
export interface Latch {
  kind: 'storm' | 'budget'
  /** Void for versions above this one. */
  version: number
  /** When a used-up period ends; `null` for a storm. */
  until: number | null
}

/** Lifecycle parts that a change marker announced. */
export interface KnownLifecycle {
  version: number
  operation: string
  approval: string
}

export interface GuardState {
  lifecycle: KnownLifecycle | null
  latch: Latch | null
  /** Store time of the last delivery; 0 before the first. Cooldowns count from here (I9). */
  deliveredAt: number
  /** Deliveries in the subscription's life. */
  delivered: number
  /** Highest opening number given to a group; never given twice. */
  opening: number
  /** Deliveries of the last minute, kept where a rate is set. */
  rate: SlidingWindow
  /** Candidates that passed stage 3 within the storm window. */
  arrivals: SlidingWindow
  /** Failed runs within the storm window. */
  failures: SlidingWindow
  /** The newest candidates past stage 3, for the causal history of a storm. */
  recent: string[]
  /** Messages without a final outcome, newest last; bounded. */
  open: string[]
  /** Used-up budgets a notice was sent for, and when their period ends. */
  told: Record<string, number>
  /** The outcome read last, so that reading it again counts nothing. */
  lastOutcome: { offset: number; at: number } | null
  /** The newest decision that this state includes: `<candidate>/<seq>`. */
  lastDecision: string | null
}

export const BLANK_STATE: GuardState = {
  lifecycle: null,
  latch: null,
  deliveredAt: 0,
  delivered: 0,
  opening: 0,
  rate: [],
  arrivals: [],
  failures: [],
  recent: [],
  open: [],
  told: {},
  lastOutcome: null,
  lastDecision: null,
}

/** Place of a candidate in a group. */
export interface Membership {
  hash: string
  opening: number
  member: number
}

/** Everything a decision record says, kept while the same event may come again. */
export interface CandidateMemory {
  occurrenceId: string
  fate: Fate
  stage: Stage
  reason: string
  details: Record<string, unknown>
  messageId: string | null
  groupKey: string | null
  verdictId: string | null
  version: number
  policyVersion: number
  agent: string
  owner: string
  seq: number
  repeats: number
  at: number
  group: Membership | null
  /** Highest event position seen per topic and partition; empty when a rebuild forgot it. */
  positions: [topic: string, partition: number, offset: number][]
}

export interface Claim {
  candidateId: string
}

/** Fates of stage 0, of duplicates and of failed evaluations leave the occurrence free. */
export function claims({ fate, stage }: Pick<CandidateMemory, 'fate' | 'stage'>): boolean {
  return stage !== 'state' && fate !== 'duplicate' && fate !== 'evaluation-failed'
}

export interface Opening {
  id: number
  openedAt: number
  flushAt: number
  members: number
  isFull: boolean
  /** Counters in which this opening holds one reserved activation. */
  charges: string[]
}

export interface GroupDocument {
  key: string
  lastFlushAt: number
  /** Oldest first; all but the last are full. */
  openings: Opening[]
}

export interface MemberDocument {
  candidateId: string
  /** Encoded event record, base64. */
  event: string
  recordedAt: number | null
  evidence: { quote: string; source: string; pointer: string }[]
}

/** Dedup memory outlives the ingress retention of 7 days (I5). */
export const CANDIDATE_TTL_MS = 9 * 86_400_000
/** How much longer than its interval an empty group is remembered. */
export const FORGET_MS = 60_000
/** Candidates named in the history of a storm. */
const RECENT_MAX = 5
/** Open messages remembered where no overlap rule asks for more. */
const OPEN_MAX = 32
export const RATE_WINDOW_MS = 60_000

export const groupDocumentKey = (subscription: string, hash: string) =>
  `group/${subscription}/${hash}`

/** Document of the nth member of an opening, counted from 1. */
export function memberKey(subscription: string, place: Membership): string {
  return `member/${subscription}/${place.hash}/${place.opening}/${place.member}`
}

export interface FlushName {
  subscription: string
  hash: string
  opening: number
}

/** Due id of a flush. Openings are numbered by time, so equal instants flush oldest first. */
export function flushId({ subscription, hash, opening }: FlushName): string {
  return tenantKey('flush', String(opening), subscription, hash)
}

/** Reads what `flushId` wrote. */
export function parseFlushId(id: string): FlushName {
  const [, opening = '', subscription = '', hash = ''] = splitTenantKey(id)
  return { subscription, hash, opening: Number(opening) }
}

/** After a delivery: cooldown, rate, lifetime count and open runs move on together. */
export function withDelivery(
  state: GuardState,
  limits: Limits,
  { messageId, now }: { messageId: string; now: number },
): GuardState {
  const { rate, concurrency } = limits
  const openMax = concurrency?.overlap === 'skip' ? (concurrency.max ?? 1) : OPEN_MAX
  const open = state.open.filter(id => id !== messageId)
  return {
    ...state,
    deliveredAt: now,
    delivered: state.delivered + 1,
    rate: rate ? addTo(state.rate, now, RATE_WINDOW_MS) : state.rate,
    open: [...open, messageId].slice(-Math.max(openMax, OPEN_MAX)),
  }
}

/** After a candidate passed stage 3: it counts for storm detection, whatever becomes of it. */
export function withArrival(
  state: GuardState,
  limits: Limits,
  { candidateId, now }: { candidateId: string; now: number },
): GuardState {
  if (!limits.storm) return state
  return {
    ...state,
    arrivals: addTo(state.arrivals, now, limits.storm.windowMs),
    recent: [...state.recent, candidateId].slice(-RECENT_MAX),
  }
}

/** A resume starts storm detection anew (exact meaning 12). */
export function withEmptyWindows(state: GuardState): GuardState {
  return { ...state, latch: null, arrivals: [], failures: [], recent: [] }
}

/** Was the event read at this place, or beyond it, before? Unknown places count as read. */
export function isReplay(memory: CandidateMemory, position: EventRef | null): boolean {
  if (!position || memory.positions.length === 0) return true
  return memory.positions.some(
    ([topic, partition, offset]) =>
      topic === position.topic && partition === position.partition && offset >= position.offset,
  )
}

/** Positions with one more read; the newest eight topic partitions are kept. */
export function withPosition(
  positions: CandidateMemory['positions'],
  position: EventRef | null,
): CandidateMemory['positions'] {
  if (!position) return positions
  const { topic, partition, offset } = position
  const others = positions.filter(([t, p]) => t !== topic || p !== partition)
  return [...others.slice(-7), [topic, partition, offset]]
}
