/** What judging needs to know of its configuration. */

import type { Price } from '#kernel/domain/model-price.ts'
import type { StructuredModel } from '#kernel/ports/model.ts'

export interface JudgeSettings {
  /** Undefined for the lexical judge, whose only name is `offline`. */
  model: StructuredModel | undefined
  /** In the order in which they are asked. */
  names: readonly string[]
  timeoutMs: number
  /** Calls per candidate and model. */
  attemptsMax: number
  inFlightMax: number
  batchMax: number
  batchWaitMs: number
  /** Ceiling of output tokens for one item. */
  outputTokens: number
  breaker: { failuresMax: number; openMs: number }
  /** Failed evaluations in a row that suspend. */
  suspendAfter: number
  prices: readonly Price[]
}
