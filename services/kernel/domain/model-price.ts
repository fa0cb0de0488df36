/** Money from tokens. Amounts are integers: millionths of the policy's currency. */
import { moneyMicros } from './budget-counters.ts'

/** Decimal amounts per million tokens. */
export interface Price {
  model: string
  input: string
  output: string
}

export interface Tokens {
  inputTokens: number
  outputTokens: number
}

/** What tokens of a model cost, rounded up; 0 for a model that the table does not know. */
export function costMicros(prices: readonly Price[], model: string, tokens: Tokens): number {
  const price = prices.find(each => each.model === model)
  if (!price) return 0
  const perMillion =
    tokens.inputTokens * moneyMicros(price.input) + tokens.outputTokens * moneyMicros(price.output)
  return Math.ceil(perMillion / 1_000_000)
}

/** An amount as a decimal without needless zeros: 1 250 000 → `1.25`. */
export function moneyText(micros: number): string {
  const whole = Math.floor(micros / 1_000_000)
  const fraction = String(micros % 1_000_000).padStart(6, '0')
  return `${whole}.${fraction}`.replace(/\.?0+$/, '')
}
