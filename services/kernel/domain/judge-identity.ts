/** Who judges, as far as it may change verdicts or their price: told with every estimate. */
import { hashId } from './ids.ts'
import type { Price } from './model-price.ts'

export interface JudgeIdentity {
  /** In the order in which they are asked; `offline` for the judge without a model. */
  models: string[]
  /** Version of the words that a model is asked with. */
  prompt: string
  /** Hash of the prices of these models. */
  prices: string
}

export function judgeIdentity(
  names: readonly string[],
  prices: readonly Price[],
  prompt: string,
): JudgeIdentity {
  const own = names.map(name => {
    const { input = '0', output = '0' } = prices.find(({ model }) => model === name) ?? {}
    return `${name} ${input} ${output}`
  })
  return { models: [...names], prompt, prices: hashId('p', ...own) }
}
