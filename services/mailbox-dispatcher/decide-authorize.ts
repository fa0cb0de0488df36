import type { BudgetWhat } from '#kernel/domain/budget-counters.ts'
import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import { isEntitled, type Policy } from '#kernel/domain/policy.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { payerOf, usedUpBudget } from './charge-run.ts'
import { heldMessage } from './current-lease.ts'
import type { Effect } from './effect.ts'
import type { StoredMessage } from './message-document.ts'

/** `sensitive` effects need a sign of the control plane that is younger than this. */
export const SENSITIVE_HEARTBEAT_MS = 30_000

/** Activations were paid when the message was made; a run spends these. */
const SPENT_BY_RUNS: BudgetWhat[] = ['tokens', 'money']

/** The surroundings of the effect, as they are now. */
export interface AuthorizeFacts {
  policy: Policy
  /** Undefined when the message has none, or it is not known any more. */
  subscription: Subscription | undefined
  isStopped: boolean
  heartbeatAgeMs: number
  /** How long execution may go on without the control plane, ms. */
  continuityMs: number
}

export interface Authorization {
  allowed: boolean
  reason: string
}

type Rule = (message: StoredMessage, effect: Effect, facts: AuthorizeFacts) => string | null

/** Each rule answers why not, or null. The first refusal is the answer. */
const RULES: Rule[] = [
  (_, __, { isStopped }) => (isStopped ? 'agent-stopped' : null),
  subscriptionRefusal,
  ({ agent, subscription }, _, { policy }) =>
    subscription && !isEntitled(policy, subscription.owner, agent) ? 'not-entitled' : null,
  heartbeatRefusal,
  egressRefusal,
]

/**
 * Revalidates an effect at the moment it would happen: lease, subscription, current policy, budget.
 * Throws `stale-lease` when the lease is over; every other refusal is an answer with a reason.
 */
export function decideAuthorize(
  unit: UnitOfWork,
  input: { claim: LeaseClaim; effect: Effect; facts: AuthorizeFacts },
): Authorization {
  const { claim, effect, facts } = input
  const { message } = heldMessage(unit, claim)
  for (const rule of RULES) {
    const reason = rule(message, effect, facts)
    if (reason !== null) return { allowed: false, reason }
  }
  const { policy, subscription } = facts
  const rules = { policy, limits: subscription?.limits, whats: SPENT_BY_RUNS }
  const usedUp = usedUpBudget(unit, payerOf(message), rules)
  if (usedUp) return { allowed: false, reason: `over-budget: ${usedUp.scope} ${usedUp.what}` }
  return { allowed: true, reason: 'allowed' }
}

function subscriptionRefusal(
  { subscription: named }: StoredMessage,
  _: Effect,
  { subscription }: AuthorizeFacts,
): string | null {
  if (named === null) return null
  if (!subscription) return 'subscription-unknown'
  if (isLive(subscription.state)) return null
  const { approval, operation } = subscription.state
  return operation === 'active' ? `subscription-${approval}` : `subscription-${operation}`
}

function heartbeatRefusal(
  _: StoredMessage,
  effect: Effect,
  { heartbeatAgeMs, continuityMs }: AuthorizeFacts,
): string | null {
  if (effect.class === 'sensitive' && heartbeatAgeMs > SENSITIVE_HEARTBEAT_MS) {
    return 'control-plane-away'
  }
  return heartbeatAgeMs > continuityMs ? 'policy-too-old' : null
}

/**
 * A run that has read untrusted content and acts for somebody holds their private data; it may
 * not carry it out unless a person allowed that very effect.
 */
function egressRefusal(message: StoredMessage, effect: Effect): string | null {
  if (!effect.egress || message.onBehalfOf === null) return null
  const hasUntrusted = message.events.length > 0 || message.evidence.length > 0
  const isContinuation = message.kind === 'continuation'
  if (!hasUntrusted && !isContinuation) return null
  return isApproved(message.input, effect) ? null : 'approval-needed'
}

/** Does the message bring a person's yes to this effect? Only the dispatcher writes this input. */
function isApproved(input: unknown, effect: Effect): boolean {
  if (typeof input !== 'object' || input === null || !('kind' in input)) return false
  const {
    kind,
    decision,
    effect: allowed,
  } = input as {
    kind: unknown
    decision?: unknown
    effect?: { tool?: unknown; target?: unknown } | null
  }
  if (kind !== 'answer' || (decision !== 'accept' && decision !== 'edit')) return false
  const isTarget = allowed?.target === undefined || allowed.target === effect.target
  return allowed?.tool === effect.tool && isTarget
}
