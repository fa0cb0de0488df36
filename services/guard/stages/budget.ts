/**
 * Stage 3: the current policy must still allow it, and every budget must have room. Runs again at
 * a flush. The room found here is reserved in the same commit, under the counters' limits (I8).
 */
import { type BudgetLimit, budgetEnd } from '#kernel/domain/budget-counters.ts'
import { parseLineage } from '#kernel/domain/event.ts'
import { isEntitled } from '#kernel/domain/policy.ts'
import {
  type GuardFacts,
  isRefusal,
  NEXT,
  type Refusal,
  type Reservation,
  type StageContext,
  type StageVerdict,
} from '../guard-facts.ts'

export function budgetStage({ facts, event, reservation }: StageContext): StageVerdict {
  const from = parseLineage(event.record.attributes.lineage).at(-1)?.agent
  const entitlement = judgeEntitlement(facts, from)
  return isRefusal(entitlement) ? entitlement : judgeBudgets(facts, reservation)
}

/** Agent, grant and, for events of agents, the rule for that pair. */
export function judgeEntitlement(
  { subscription, policy, agent }: GuardFacts,
  from?: string,
): StageVerdict {
  const { owner, agent: to } = subscription
  if (!agent) return notEntitled('unknown-agent', { agent: to })
  if (!isEntitled(policy, owner, to)) return notEntitled('no-grant', { owner, agent: to })
  const isForbidden = policy.agentRules.some(r => r.from === from && r.to === to && !r.allow)
  return isForbidden ? notEntitled('agent-rule', { from, to }) : NEXT
}

/** The first budget without room, the subscription's own before the others'. */
export function judgeBudgets(facts: GuardFacts, reservation: Reservation): StageVerdict {
  const full = facts.budgets.find(limit => !hasRoom(facts, limit, reservation))
  if (!full) return NEXT
  const { scope, what, period, limit, counter } = full
  const until = new Date(budgetEnd(full, facts.now, facts.policy.zone)).toISOString()
  const details = { scope, what, period, limit, until, counter }
  return { fate: 'over-budget', stage: 'budget', reason: `${scope}-budget-used-up`, details }
}

function hasRoom(facts: GuardFacts, limit: BudgetLimit, reservation: Reservation): boolean {
  const { activations, held } = reservation
  if (limit.what !== 'activations') return facts.counter(limit.counter) < limit.limit
  if (activations === 0) return true
  const own = held.includes(limit.counter) ? 1 : 0
  return facts.counter(limit.counter) - own + activations <= limit.limit
}

function notEntitled(reason: string, details: Record<string, unknown>): Refusal {
  return { fate: 'not-entitled', stage: 'entitlement', reason, details }
}
