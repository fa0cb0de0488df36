/** What one call cost, shared among the candidates it was about: nothing is lost in rounding. */
import type { Tokens } from '#kernel/domain/model-price.ts'

export interface Share extends Tokens {
  micros: number
  /** 1 for the candidate that the call is counted for. */
  calls: 0 | 1
}

/** Shares by weight, such as the length of each text; the first takes what is left over. */
export function shareUsage(
  total: Tokens & { micros: number },
  weights: readonly number[],
): Share[] {
  const sum = weights.reduce((all, weight) => all + weight, 0)
  const part = (amount: number, weight: number) =>
    Math.floor(sum === 0 ? amount / weights.length : (amount * weight) / sum)
  const shares = weights.map(
    (weight, at): Share => ({
      inputTokens: part(total.inputTokens, weight),
      outputTokens: part(total.outputTokens, weight),
      micros: part(total.micros, weight),
      calls: at === 0 ? 1 : 0,
    }),
  )
  const [first] = shares
  if (!first) return []
  for (const name of ['inputTokens', 'outputTokens', 'micros'] as const) {
    first[name] += total[name] - shares.reduce((all, share) => all + share[name], 0)
  }
  return shares
}
