import {
  type BudgetLimit,
  type BudgetPayer,
  type BudgetWhat,
  budgetCounters,
  budgetLimits,
  moneyMicros,
} from '#kernel/domain/budget-counters.ts'
import type { Limits } from '#kernel/domain/limits.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { emitUsage } from './mailbox-outputs.ts'
import type { MessageDocument, StoredMessage } from './message-document.ts'
import type { Run } from './run-result.ts'

/** What charging needs to know of the tenant. */
export interface ChargeRules {
  /** Zone of the tenant's calendar day. */
  zone: string
}

/** Who pays for a run: the subscription's owner, else the person it acts for. */
export function payerOf(
  message: Pick<StoredMessage, 'tenant' | 'subscription' | 'agent' | 'onBehalfOf'>,
): BudgetPayer {
  const { tenant, subscription, agent, onBehalfOf } = message
  return {
    tenant,
    subscription: subscription?.id ?? '',
    owner: subscription?.owner ?? onBehalfOf ?? '',
    agent,
  }
}

/**
 * Charges what an attempt cost, once: in the commit that settles it (I8). It is over, so nothing
 * can be refused any more; the next effect and the next activation are.
 */
export function chargeRun(
  unit: UnitOfWork,
  doc: MessageDocument,
  run: Run,
  { zone }: ChargeRules,
): void {
  const { usage } = run
  if (!usage || !doc.message) return
  const payer = payerOf(doc.message)
  emitUsage(unit, payer, { subject: doc.id, stage: 'run', attempt: run.attempt, usage, zone })
  const day = dayOf(unit.now, zone)
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  charge(unit, payer, { what: 'tokens', day, amount: tokens })
  charge(unit, payer, { what: 'money', day, amount: moneyMicros(usage.cost ?? '0') })
}

/** Adds to every counter of the payer, limited or not: a limit may be written later. */
export function charge(
  unit: UnitOfWork,
  payer: BudgetPayer,
  { what, day, amount }: { what: BudgetWhat; day: string; amount: number },
): void {
  if (amount === 0) return
  for (const { counter, ttlMs } of budgetCounters(payer, what, day)) {
    unit.add({ counter, amount, ttlMs })
  }
}

/** The first budget that is used up, of the kinds asked for. */
export function usedUpBudget(
  unit: UnitOfWork,
  payer: BudgetPayer,
  rules: { policy: Policy; limits: Limits | undefined; whats: BudgetWhat[] },
): BudgetLimit | undefined {
  const { policy, limits, whats } = rules
  const budgets = { ...policy.budgets, subscription: limits?.budget }
  const moment = { now: unit.now, zone: policy.zone }
  return budgetLimits(budgets, payer, moment)
    .filter(({ what }) => whats.includes(what))
    .find(({ counter, limit }) => unit.counter(counter) >= limit)
}
