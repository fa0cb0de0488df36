/**
 * One structured completion of a language model: text in, JSON text of a given schema out. Meaning
 * (what is asked, whether the answer holds) belongs to the user; retries, breakers and budgets too.
 *
 * Contract, checked by `test/contract/structured-model.ts` on every adapter:
 * - M1 one call is at most one request. Whoever counts attempts counts calls.
 * - M2 a call ends within `timeoutMs`, whatever the server does: a body that drips counts.
 * - M3 nothing that a server answers rejects: every outcome is a value, and only `answer` may be
 *   read. An answer that was cut off, refused, empty or in two pieces is never an `answer`.
 * - M4 no tools are offered, and what an answer says beyond its text has no effect.
 * - M5 no outcome carries text of the request or of the answer but `answer.text`.
 */

/** What to ask. The same bytes first in `instructions` let providers reuse their prompt cache. */
export interface StructuredRequest {
  model: string
  /** Who is asked to do what: the only part that instructs. */
  instructions: string
  /** The material, quoted. */
  input: string
  /** JSON Schema of the answer, in the strict subset: every property required, nothing else. */
  schema: { name: string; schema: Record<string, unknown> }
  /** Ceiling of output tokens, reasoning included. */
  outputTokensMax: number
  /** For the whole call, body included, ms. */
  timeoutMs: number
  signal?: AbortSignal
}

/** What the provider counted; zero where it said nothing. */
export interface ModelUsage {
  inputTokens: number
  outputTokens: number
}

/** Why there is no answer that could be read. Fixed words, for statistics and explanations. */
export type ModelFailure =
  | 'timeout'
  | 'connection-failed'
  | 'rate-limited'
  | 'server-error'
  | 'request-refused'
  | 'not-the-api'
  | 'cut-off'
  | 'refused'
  | 'empty'
  | 'several-answers'

export type StructuredResult =
  | { kind: 'answer'; text: string; usage: ModelUsage }
  | {
      kind: 'failed'
      reason: ModelFailure
      /** Is the server itself in trouble? Such failures count for a breaker. */
      isOutage: boolean
      /** Would the same request have a chance later? */
      mayRetry: boolean
      /** What the server asked to wait, ms. */
      retryAfterMs?: number
      /** Spent all the same; zero when the server did not say. */
      usage: ModelUsage
    }

export interface StructuredModel {
  /** Asks once. Rejects only with the reason of `signal`. */
  complete(request: StructuredRequest): Promise<StructuredResult>
}
