/** What all parts of a rebuild share: the fold's memory, candidates, and counters. */
import { BUDGET_COUNTER_TTL_MS, budgetCounters } from '#kernel/domain/budget-counters.ts'
import type { Fate, Stage } from '#kernel/domain/fate.ts'
import { occurrenceIdOf } from '#kernel/domain/ids.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { Restored } from '#kernel/host/step.ts'
import type { Decision, Usage } from '#schemas/generated/records.ts'
import { groupHash } from './group-placement.ts'
import type { GuardWorld } from './guard-facts.ts'
import {
  CANDIDATE_TTL_MS,
  type CandidateMemory,
  candidateKey,
  claimKey,
  claims,
} from './guard-state.ts'
import type { GroupedDetails } from './join-group.ts'

const DAY_MS = 86_400_000

/** What folding remembers besides the restored documents. */
export interface RebuildMemory {
  /** Messages and usage counted already. */
  charged: Set<string>
  /** Candidates still waiting, by group and opening. */
  waiting: Map<string, Set<string>>
  /** Deliveries of the newest minutes, for state records that are missing. */
  deliveries: { subscription: string; messageId: string; at: number }[]
  /** Decisions that only the message of a flush tells about, by candidate document. */
  implied: Map<string, Restored['outputs'][number]>
  outputTimes: WeakMap<Restored['outputs'][number], number>
}

/** One fold over the journal and the tails that complete it. */
export interface Folding {
  world: GuardWorld
  restored: Restored
  memory: RebuildMemory
  now: number
}

/** Nothing folded yet. */
export function blankMemory(): RebuildMemory {
  return {
    charged: new Set(),
    waiting: new Map(),
    deliveries: [],
    implied: new Map(),
    outputTimes: new WeakMap(),
  }
}

/** The candidate's memory and its claim, as the live guard wrote them. */
export function rememberDecision(folding: Folding, decision: Decision): CandidateMemory {
  const { restored, now } = folding
  const { tenant, subscription, candidateId, event, emit: _emit, ...row } = decision
  const details = decision.details as Record<string, unknown>
  const candidate: CandidateMemory = {
    ...row,
    fate: decision.fate as Fate,
    stage: decision.stage as Stage,
    details,
    group: placeOf(decision, details),
    positions: [],
  }
  const ttlMs = Math.max(1, decision.at + CANDIDATE_TTL_MS - now)
  const key = candidateKey(subscription, candidateId)
  const kept = candidate.group ? undefined : ttlMs
  restored.documents.set(key, { version: decision.seq, value: candidate, ttlMs: kept })
  const { occurrenceId } = decision
  const plain = occurrenceIdOf(tenant, subscription, `${event.source}\n${event.id}`)
  const claim = claimKey(subscription, occurrenceId)
  if (occurrenceId !== plain && claims(candidate) && !restored.documents.has(claim)) {
    restored.documents.set(claim, { version: 1, value: { candidateId }, ttlMs })
  }
  return candidate
}

function placeOf({ fate, groupKey }: Decision, details: Record<string, unknown>) {
  if (fate !== 'grouped' || groupKey === null) return null
  const { opening, member } = details as unknown as GroupedDetails
  return { hash: groupHash(groupKey), opening, member }
}

/** One activation per message in the counters of the periods that are still counted (I8). */
export function charge(
  { restored, memory, now, world }: Folding,
  spent: Pick<Usage, 'tenant' | 'subscription' | 'owner' | 'agent' | 'subject' | 'at'>,
): void {
  if (memory.charged.has(spent.subject)) return
  memory.charged.add(spent.subject)
  const day = dayOf(spent.at, world.directory.policy(spent.tenant).zone)
  for (const { counter, period, ttlMs } of budgetCounters(spent, 'activations', day)) {
    if (period === 'day' && spent.at < now - 2 * DAY_MS) continue
    count(restored, counter, { amount: 1, ttlMs })
  }
}

/** Adds to a restored counter. */
export function count(
  restored: Restored,
  counter: string,
  { amount, ttlMs }: { amount: number; ttlMs: number } = {
    amount: 1,
    ttlMs: BUDGET_COUNTER_TTL_MS.month,
  },
): void {
  const known = restored.counters.get(counter)?.amount ?? 0
  restored.counters.set(counter, { amount: known + amount, ttlMs })
}
