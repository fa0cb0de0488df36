/** What a tool is. It knows nothing of chat, leases, aggregation or delivery. */
import type { z } from 'zod'

/** `read` looks, `write` changes the world idempotently, `sensitive` needs a person's yes. */
export type EffectClass = 'read' | 'write' | 'sensitive'

export type Language = 'en' | 'es'

/** What a running tool may know. */
export interface ToolContext {
  /** `messageId/toolName/argumentDigest`: the same when the call is made again after a crash. */
  idempotencyKey: string
  callId: string
  messageId: string
  tenant: string
  session: string
  /** Language of the person, for texts that a person will read. */
  language: Language
  /** Aborts at the tool's timeout and when the run ends. */
  signal: AbortSignal
  /** Opens operations that go on after the turn; durable when it resolves, once per key. */
  accept(items: AcceptedItem[]): Promise<void>
}

/** One piece of work for later. */
export interface AcceptedItem {
  item: Record<string, unknown>
  /** What it is about, for people. */
  target: string
  callId: string
  idempotencyKey: string
}

/** Why an operation was given up: fixed words, never the outside's own text. */
export interface FailedOutcome {
  why: 'refused' | 'unavailable' | 'timed-out' | 'tool-removed'
  status?: number
  /** The same in the person's language. */
  text: string
}

/** How the work of an operation is done and told. */
export interface OperationSpec {
  request(item: Record<string, unknown>): {
    method: string
    url: string
    json?: unknown
    headers?: Record<string, string>
    timeoutMs: number
  }
  /** Attempts, the first included, and ms before the second, doubling. */
  retry: { maxAttempts: number; backoffMs: number }
  succeeded(item: Record<string, unknown>, language: Language): string
  failed(item: Record<string, unknown>, outcome: FailedOutcome, language: Language): string
}

/** What a tool gives back: a text for the model, or work accepted for later. */
export type ToolOutput =
  | string
  /** `reply` answers the person at once; the results come in a closing of their own. */
  | { accepted: string; reply: string }

export interface Tool {
  /** Letters, digits, `_` and `-`, at most 64. */
  name: string
  description: string
  /** Parses the arguments; members that it does not know are an error of the caller. */
  schema: z.ZodType<Record<string, unknown>>
  /** JSON Schema of the arguments, as the model is told. */
  parameters: Record<string, unknown>
  effect: EffectClass
  /** A way out for data: mail, chat, upload. */
  egress?: boolean
  /** Its output is private data of whom the run acts for. */
  isPrivate?: boolean
  /** Its output is our own text, not content from somewhere else. */
  isTrusted?: boolean
  /** Ms. Default 30 000. */
  timeoutMs?: number
  /** Characters of output handed to the model. Default 20 000. */
  outputMax?: number
  /** Accepts older shapes of the arguments. */
  normalise?(args: Record<string, unknown>): Record<string, unknown>
  /** What to tell when arguments are missing; default: what the schema says. */
  invalid?(missing: string[], language: Language): string
  /** What the effect lands on, shown to whoever approves. Default: the digest of the arguments. */
  target?(args: Record<string, unknown>): string
  run(args: Record<string, unknown>, context: ToolContext): Promise<ToolOutput>
  /** Set on tools whose work goes on after the turn. */
  operation?: OperationSpec
}

/** Thrown by a tool that finds, when it runs, that the call may not be made; nothing happened. */
export class ToolRefusal extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'ToolRefusal'
  }
}
