/** How an attempt ended, as executors report it and as it is stored. */
import { z } from 'zod'

const count = z.int().min(0).max(1_000_000_000)

/** Decimal amount in the policy's currency. */
const cost = z.string().regex(/^\d{1,12}(\.\d{1,9})?$/, 'a decimal number such as "0.0125"')

export const usageSchema = z.looseObject({
  inputTokens: count.optional(),
  outputTokens: count.optional(),
  /** Model calls. */
  calls: count.optional(),
  cost: cost.optional(),
})

export const runErrorSchema = z.union([
  z.string().max(4000),
  z.looseObject({ code: z.string().max(128).optional(), message: z.string().max(4000).optional() }),
])

/** `result` of `complete` and `fail`. */
export const runResultSchema = z.strictObject({
  ok: z.boolean(),
  stopReason: z.string().min(1).max(64),
  error: runErrorSchema.nullish(),
  usage: usageSchema.nullish(),
  output: z.unknown().optional(),
  iterations: count.optional(),
  toolCalls: count.optional(),
  /** One row per tool call: at least `{tool, outcome}`. */
  calls: z
    .array(z.looseObject({ tool: z.string().max(256) }))
    .max(1000)
    .optional(),
})

export type RunResult = z.infer<typeof runResultSchema>
export type RunUsage = z.infer<typeof usageSchema>
export type RunError = z.infer<typeof runErrorSchema>

/** The stored run: what was reported, which attempt it was and when it ended. */
export interface Run extends RunResult {
  attempt: number
  /** RFC 3339. */
  at: string
  /** Set on a run that asked a person (`stopReason` is `asked`). */
  approvalId?: string
  /** The whole question, for rebuilding; shown to nobody. */
  approval?: unknown
}
