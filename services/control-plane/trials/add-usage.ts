/** Arithmetic on what judging costs; money stays decimal text. */
import { moneyMicros } from '#kernel/domain/budget-counters.ts'
import { moneyText } from '#kernel/domain/model-price.ts'
import type { TrialUsage } from '#kernel/domain/trial.ts'

export function addUsage(a: TrialUsage, b: TrialUsage): TrialUsage {
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cost: moneyText(moneyMicros(a.cost) + moneyMicros(b.cost)),
  }
}

/** What so many times as much would cost, rounded up. */
export function scaleUsage(usage: TrialUsage, factor: number): TrialUsage {
  const times = (amount: number) => Math.ceil(amount * factor)
  return {
    calls: times(usage.calls),
    inputTokens: times(usage.inputTokens),
    outputTokens: times(usage.outputTokens),
    totalTokens: times(usage.totalTokens),
    cost: moneyText(times(moneyMicros(usage.cost))),
  }
}
