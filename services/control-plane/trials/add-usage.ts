/** Arithmetic on what judging costs; money stays decimal text. */
import { moneyMicros } from '#kernel/domain/budget-counters.ts'
import type { TrialUsage } from '#kernel/domain/trial.ts'

export function addUsage(a: TrialUsage, b: TrialUsage): TrialUsage {
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cost: decimal(moneyMicros(a.cost) + moneyMicros(b.cost)),
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
    cost: decimal(times(moneyMicros(usage.cost))),
  }
}

/** Millionths as a decimal without needless zeros. */
function decimal(micros: number): string {
  const fraction = String(micros % 1_000_000).padStart(6, '0')
  return `${Math.floor(micros / 1_000_000)}.${fraction}`.replace(/\.?0+$/, '')
}
