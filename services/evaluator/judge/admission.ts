/**
 * Is a candidate worth a call? Where the answer could not lead to a delivery, nobody is asked, and
 * the candidate goes on with the reason. The guard decides: what it finds itself comes first, and
 * this reason counts where its own look would have let the candidate pass a moment later.
 */
import type { Agent } from '#kernel/domain/agent.ts'
import { type BudgetLimit, budgetEnd, limitsOf } from '#kernel/domain/budget-counters.ts'
import { LINEAGE_HOPS_MAX, parseLineage } from '#kernel/domain/event.ts'
import type { Fate, Stage } from '#kernel/domain/fate.ts'
import { isEntitled, type Policy, reentriesOf } from '#kernel/domain/policy.ts'
import { parseRfc3339 } from '#kernel/domain/rfc3339.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'
import type { Candidate, EventRecord } from '#schemas/generated/records.ts'

/** What the guard remembers of a subscription, as far as it is looked at here. */
export interface GuardGlance {
  deliveredAt?: number
  delivered?: number
  latch?: { version: number; until: number | null } | null
}

export interface AdmissionFacts {
  /** Store time, ms since the epoch. */
  now: number
  subscription: Subscription | undefined
  policy: Policy
  agent: Agent | undefined
  isTenantStopped: boolean
  guard: GuardGlance | undefined
  counter(name: string): number
}

export interface Applicant {
  candidate: Candidate & { event: EventRecord }
  /** The fate that the guard gave this candidate before, where it did. */
  knownFate: string | undefined
  /** The candidate that claimed the occurrence, where one did. */
  claimant: string | undefined
  /** Does the subscription, as it is now, take the event? */
  matches(): boolean
}

/** Why nobody is asked. */
export interface Skip {
  fate: Fate
  stage: Stage
  reason: string
  details: Record<string, unknown>
}

type Check = (facts: AdmissionFacts & { subscription: Subscription }, one: Applicant) => Skip | null

const CHECKS: readonly Check[] = [lifecycle, event, repeated, cycle, entitlement, budgets, cooldown]

/** The first reason not to ask; null when the question is worth its money. */
export function admit(facts: AdmissionFacts, applicant: Applicant): Skip | null {
  const { subscription } = facts
  if (!subscription) return skip('inactive', 'state', 'deleted')
  for (const check of CHECKS) {
    const found = check({ ...facts, subscription }, applicant)
    if (found) return found
  }
  return null
}

function lifecycle(facts: AdmissionFacts & { subscription: Subscription }): Skip | null {
  const { subscription, now, guard, agent, isTenantStopped } = facts
  const { state, limits, version } = subscription
  if (isTenantStopped || agent?.stopped) return skip('inactive', 'state', 'stopped')
  if (!isLive(state)) return skip('inactive', 'state', state.operation)
  const latch = guard?.latch
  if (latch && version <= latch.version && now < (latch.until ?? Number.POSITIVE_INFINITY)) {
    return skip('inactive', 'state', 'suspended')
  }
  const { notBefore, expiresAt, maxOccurrences } = limits
  if (notBefore !== null && now < instant(notBefore)) return skip('inactive', 'state', 'not-before')
  if (expiresAt !== null && now >= instant(expiresAt)) return skip('inactive', 'state', 'expired')
  const isExhausted = maxOccurrences !== null && (guard?.delivered ?? 0) >= maxOccurrences
  return isExhausted ? skip('inactive', 'state', 'exhausted') : null
}

function event(
  { subscription, now }: { subscription: Subscription; now: number },
  { candidate, matches }: Applicant,
): Skip | null {
  const { maxEventAgeMs } = subscription.limits
  const at = happenedAt(candidate)
  if (maxEventAgeMs !== null && at !== undefined && now - at > maxEventAgeMs) {
    return skip('stale', 'state', 'too-old', { ageMs: now - at, maxEventAgeMs })
  }
  if (candidate.version >= subscription.version) return null
  const { position } = candidate
  const start = position && subscription.startsAt[position.topic]?.[position.partition]
  if (position && position.offset < (start ?? 0)) return skip('inactive', 'state', 'before-start')
  return matches() ? null : skip('inactive', 'state', 'superseded')
}

/** When the event happened, else when it was received. */
export function happenedAt({ event, recordedAt }: Candidate): number | undefined {
  const { time, recordedtime } = event?.attributes ?? {}
  const told = typeof time === 'string' ? parseRfc3339(time) : undefined
  const received = typeof recordedtime === 'string' ? parseRfc3339(recordedtime) : undefined
  return told ?? received ?? recordedAt ?? undefined
}

/** Only a failed evaluation is judged again. */
function repeated(_facts: unknown, { knownFate, claimant, candidate }: Applicant): Skip | null {
  if (knownFate !== undefined && knownFate !== 'evaluation-failed') {
    return skip('duplicate', 'dedup', 'decided-before')
  }
  if (claimant === undefined || claimant === candidate.candidateId) return null
  return skip('duplicate', 'dedup', 'occurrence-claimed', { candidateId: claimant })
}

function cycle(
  { subscription, policy }: AdmissionFacts & { subscription: Subscription },
  { candidate }: Applicant,
): Skip | null {
  const hops = parseLineage(candidate.event.attributes.lineage)
  if (hops.length > LINEAGE_HOPS_MAX) return skip('cycle', 'cycle', 'too-deep')
  const wakes = hops.filter(({ agent }) => agent === subscription.agent).length
  const from = hops.at(-1)?.agent
  if (wakes === 0 || from === undefined) return null
  const allowed = reentriesOf(policy, from, subscription.agent)
  return wakes <= allowed ? null : skip('cycle', 'cycle', 'agent-in-lineage')
}

function entitlement({
  subscription,
  policy,
  agent,
}: AdmissionFacts & { subscription: Subscription }): Skip | null {
  if (!agent) return skip('not-entitled', 'entitlement', 'unknown-agent')
  if (isEntitled(policy, subscription.owner, subscription.agent)) return null
  return skip('not-entitled', 'entitlement', 'no-grant')
}

/** A budget that is used up already; one without room for the call is found when it is reserved. */
function budgets(facts: AdmissionFacts & { subscription: Subscription }): Skip | null {
  const { subscription, policy, now, counter } = facts
  const isGrouped = subscription.limits.group !== null
  const full = limitsOf(subscription, policy, now).find(limit => {
    // A candidate that joins an open group needs no activation.
    if (limit.what === 'activations' && isGrouped) return false
    return counter(limit.counter) >= limit.limit
  })
  return full ? overBudget(full, { now, zone: policy.zone }) : null
}

/** The fate of a candidate whose call has no room in a budget. */
export function overBudget(full: BudgetLimit, moment: { now: number; zone: string }): Skip {
  const { scope, what, period, limit, counter } = full
  const until = new Date(budgetEnd(full, moment.now, moment.zone)).toISOString()
  const details = { scope, what, period, limit, until, counter }
  return skip('over-budget', 'budget', `${scope}-budget-used-up`, details)
}

function cooldown({
  subscription,
  guard,
  now,
}: AdmissionFacts & { subscription: Subscription }): Skip | null {
  const { cooldownMs, cooldownRule } = subscription.limits
  const deliveredAt = guard?.deliveredAt ?? 0
  if (cooldownRule !== 'drop' || !cooldownMs || deliveredAt === 0) return null
  const until = deliveredAt + cooldownMs
  if (now >= until) return null
  const details = { cooldownMs, until: new Date(until).toISOString() }
  return skip('cooldown', 'cooldown', 'inside-cooldown', details)
}

/** A reason not to ask. */
export function skip(
  fate: Fate,
  stage: Stage,
  reason: string,
  details: Record<string, unknown> = {},
): Skip {
  return { fate, stage, reason, details }
}

const instant = (text: string) => parseRfc3339(text) ?? 0
