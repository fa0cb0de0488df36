/**
 * Names and limits of budget counters. The guard adds activations, the evaluator and the
 * dispatcher add tokens and money: all under these names, each in a field of its own.
 */
import type { Budget } from './limits.ts'
import { dayOf, periodEnd } from './period.ts'
import type { Policy } from './policy.ts'
import type { Subscription } from './subscription.ts'

export type BudgetScope = 'subscription' | 'owner' | 'agent' | 'tenant'
export type BudgetWhat = 'activations' | 'tokens' | 'money'
export type BudgetPeriod = 'day' | 'month'

/** Who pays for a subscription's work. */
export interface BudgetPayer {
  tenant: string
  subscription: string
  owner: string
  agent: string
}

/** Budgets by scope; the subscription's own comes from its limits, the others from the policy. */
export type Budgets = Partial<Record<BudgetScope, Budget | null | undefined>>

/** One counter that may not pass its limit. Money counts in millionths of the currency. */
export interface BudgetLimit {
  scope: BudgetScope
  what: BudgetWhat
  period: BudgetPeriod
  counter: string
  limit: number
  ttlMs: number
}

const DAY_MS = 86_400_000

/** How long a counter is kept after its last change: longer than its period. */
export const BUDGET_COUNTER_TTL_MS = { day: 3 * DAY_MS, month: 40 * DAY_MS } as const

const FIELDS = [
  { field: 'activationsPerDay', what: 'activations', period: 'day' },
  { field: 'activationsPerMonth', what: 'activations', period: 'month' },
  { field: 'tokensPerDay', what: 'tokens', period: 'day' },
  { field: 'tokensPerMonth', what: 'tokens', period: 'month' },
  { field: 'moneyPerDay', what: 'money', period: 'day' },
  { field: 'moneyPerMonth', what: 'money', period: 'month' },
] as const

const SCOPES = ['subscription', 'owner', 'agent', 'tenant'] as const

/** `budget/<scope>/<id>/<what>/<period>`; `period` is `2026-11-30` or `2026-11`. */
export function budgetCounter(
  scope: BudgetScope,
  id: string,
  what: BudgetWhat,
  period: string,
): string {
  return `budget/${scope}/${encodeURIComponent(id)}/${what}/${period}`
}

/** Every limit that applies now, in the order subscription, owner, agent, tenant. */
export function budgetLimits(
  budgets: Budgets,
  payer: BudgetPayer,
  moment: { now: number; zone: string },
): BudgetLimit[] {
  const limits: BudgetLimit[] = []
  let day: string | undefined
  for (const scope of SCOPES) {
    const budget = budgets[scope]
    if (!budget) continue
    for (const { field, what, period } of FIELDS) {
      const amount = budget[field]
      if (amount === null || amount === undefined) continue
      day ??= dayOf(moment.now, moment.zone)
      const counter = budgetCounter(scope, payer[scope], what, periodName(day, period))
      const limit = typeof amount === 'string' ? moneyMicros(amount) : amount
      limits.push({ scope, what, period, counter, limit, ttlMs: BUDGET_COUNTER_TTL_MS[period] })
    }
  }
  return limits
}

/** Who pays for a subscription's work. */
export function payerOf({ id, tenant, owner, agent }: Subscription): BudgetPayer {
  return { tenant, subscription: id, owner, agent }
}

/** Every limit that a subscription's work counts against at `now`, ms since the epoch. */
export function limitsOf(subscription: Subscription, policy: Policy, now: number): BudgetLimit[] {
  const budgets = { ...policy.budgets, subscription: subscription.limits.budget }
  return budgetLimits(budgets, payerOf(subscription), { now, zone: policy.zone })
}

/** The first limit that an amount more would pass; `counter` tells what is used of one. */
export function limitWithoutRoom(
  limits: readonly BudgetLimit[],
  amountOf: (what: BudgetWhat) => number,
  counter: (name: string) => number,
): BudgetLimit | undefined {
  return limits.find(limit => counter(limit.counter) + amountOf(limit.what) > limit.limit)
}

/** All counters, limited or not, that an amount spent on a day belongs to. */
export function budgetCounters(
  payer: BudgetPayer,
  what: BudgetWhat,
  day: string,
): { counter: string; period: BudgetPeriod; ttlMs: number }[] {
  return SCOPES.flatMap(scope =>
    (['day', 'month'] as const).map(period => ({
      counter: budgetCounter(scope, payer[scope], what, periodName(day, period)),
      period,
      ttlMs: BUDGET_COUNTER_TTL_MS[period],
    })),
  )
}

/** When the period that a limit counts in ends, ms since the epoch. */
export function budgetEnd(limit: BudgetLimit, now: number, zone: string): number {
  return periodEnd(now, zone, limit.period)
}

/** Millionths of a decimal amount, `12.5` → 12 500 000; at most the largest safe integer. */
export function moneyMicros(amount: string): number {
  const [whole = '0', fraction = ''] = amount.split('.')
  const micros = Number(whole) * 1_000_000 + Number(fraction.padEnd(6, '0').slice(0, 6))
  return Math.min(micros, Number.MAX_SAFE_INTEGER)
}

function periodName(day: string, period: BudgetPeriod): string {
  return period === 'day' ? day : day.slice(0, 7)
}
