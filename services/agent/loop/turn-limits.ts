/** The bounds of one turn: defaults, and the variables that override them, in this one place. */
import { z } from 'zod'

const atLeast = (min: number) => z.coerce.number().int().min(min).max(1_000_000_000)

/** Rows of the reference in docs/agents.md. */
export const LIMIT_SETTINGS = {
  AGENT_LOOP_MAX_ITERATIONS: atLeast(1).default(25).describe('Model calls of one turn.'),
  AGENT_LOOP_MAX_TOOL_CALLS: atLeast(0).default(50).describe('Tool calls of one turn.'),
  AGENT_LOOP_WALL_TIME_MS: atLeast(1)
    .default(600_000)
    .describe('Ms of one turn, looked at between two iterations.'),
  AGENT_LOOP_REQUEST_TIMEOUT_MS: atLeast(1)
    .default(120_000)
    .describe('Ms of one model call, its retries included; then it is aborted.'),
  AGENT_LOOP_MAX_OUTPUT_TOKENS: atLeast(1)
    .default(4096)
    .describe('Tokens that one answer of the model may have.'),
}

export interface TurnLimits {
  iterationsMax: number
  toolCallsMax: number
  wallTimeMs: number
  requestTimeoutMs: number
  outputTokensMax: number
}

/** The limits that the parsed settings ask for. */
export function turnLimitsOf(settings: z.output<z.ZodObject<typeof LIMIT_SETTINGS>>): TurnLimits {
  return {
    iterationsMax: settings.AGENT_LOOP_MAX_ITERATIONS,
    toolCallsMax: settings.AGENT_LOOP_MAX_TOOL_CALLS,
    wallTimeMs: settings.AGENT_LOOP_WALL_TIME_MS,
    requestTimeoutMs: settings.AGENT_LOOP_REQUEST_TIMEOUT_MS,
    outputTokensMax: settings.AGENT_LOOP_MAX_OUTPUT_TOKENS,
  }
}
