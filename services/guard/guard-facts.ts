/** What stages are given: everything was loaded before, so a stage only compares. */
import type { Agent } from '#kernel/domain/agent.ts'
import { type BudgetLimit, limitsOf } from '#kernel/domain/budget-counters.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import type { Fate, Stage } from '#kernel/domain/fate.ts'
import { needCounters } from '#kernel/domain/need-all.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, EventRecord, Skipped, Verdict } from '#schemas/generated/records.ts'
import type { GroupPlacement } from './group-placement.ts'
import type { GuardState } from './guard-state.ts'

/** What decisions need besides their unit of work; reading it has no effect. */
export interface GuardWorld {
  directory: Pick<Directory, 'subscription' | 'policy' | 'agent' | 'tenant'>
  codec: RecordCodec
  /** The declarative condition of a subscription, ready to be asked. */
  compile(subscription: Subscription): { test(event: CloudEvent): boolean }
}

/** Facts about a subscription: enough for the stages that run again at a flush. */
export interface GuardFacts {
  readonly tenant: string
  /** Store time, ms since the epoch. */
  readonly now: number
  readonly subscription: Subscription
  readonly policy: Policy
  readonly agent: Agent | undefined
  readonly isTenantStopped: boolean
  readonly state: GuardState
  readonly budgets: readonly BudgetLimit[]
  counter(name: string): number
}

/** A candidate whose event is there, with its body where that travels by reference. */
export interface Arrival {
  candidate: Candidate & { event: EventRecord }
  body?: CloudEvent
}

/** One event as stages see it. */
export interface EventFacts {
  readonly record: EventRecord
  /** Reception, ms since the epoch. */
  readonly recordedAt: number | null
  /** Subscription version at which it was matched. */
  readonly version: number
  /** Where it lies in the log, for candidates that arrive; members of a group are in already. */
  readonly position?: Candidate['position']
  /** Does the current version of the subscription take it? */
  matches(): boolean
}

/** Activations that a delivery has to reserve, and where it holds one already. */
export interface Reservation {
  /** 1, or 0 for a candidate that joins an open group. */
  activations: 0 | 1
  held: readonly string[]
}

export interface StageContext {
  readonly facts: GuardFacts
  readonly event: EventFacts
  readonly verdict: Verdict | null
  /** Why the evaluator asked no model. */
  readonly skipped: Skipped | null
  /** Another candidate that claimed the occurrence before. */
  readonly claimant: { candidateId: string; messageId: string | null } | undefined
  readonly reservation: Reservation
  readonly placement: GroupPlacement | undefined
}

/** The fate of a candidate, and why. */
export interface Refusal {
  fate: Fate
  stage: Stage
  /** A plain fact, stable enough to be counted: `paused`, `outside-filter`. */
  reason: string
  details: Record<string, unknown>
}

export type StageVerdict = { next: true } | Refusal

export const NEXT: StageVerdict = { next: true }

/** Did a stage end the candidate's way? */
export function isRefusal(verdict: StageVerdict): verdict is Refusal {
  return 'fate' in verdict
}

/** Gathers the facts of a subscription that exists. */
export function gatherFacts(
  unit: UnitOfWork,
  { directory }: GuardWorld,
  subscription: Subscription,
  state: GuardState,
): GuardFacts {
  const { tenant, now } = unit
  const policy = directory.policy(tenant)
  const budgets = limitsOf(subscription, policy, now)
  needCounters(unit, budgets)
  return {
    tenant,
    now,
    subscription,
    policy,
    agent: directory.agent(tenant, subscription.agent),
    isTenantStopped: directory.tenant(tenant)?.stopped !== undefined,
    state,
    budgets,
    counter: name => unit.counter(name),
  }
}
