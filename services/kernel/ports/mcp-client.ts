/**
 * Reading from MCP servers. What comes back is data of strangers: bounded in size and time, and
 * never interpreted here.
 *
 * - M1 every call ends within its time, whatever the server does.
 * - M2 an answer above its bytes is a failure, not a shorter answer.
 * - M3 addresses are judged at every connection, and redirects never followed (I16).
 * - M4 a failure is an `McpFailure` with one of the fixed words.
 * - M5 nothing is kept between calls of `list`: it says what the server offers now.
 */
import type { McpOffer } from '#kernel/domain/mcp-offer.ts'

/** Where a server is, with its credential in clear. */
export type McpTarget =
  | {
      transport: 'http'
      url: string
      headers: Record<string, string>
      /** OAuth client credentials, where the server asks for them. */
      oauth?: { clientId: string; secret: string; scope?: string }
    }
  | { transport: 'stdio'; command: string[] }

/** Why a call gave no answer. */
export type McpFailureWord =
  | 'unreachable'
  | 'address-refused'
  /** A local command that the configuration of this process does not allow. */
  | 'command-not-allowed'
  | 'unauthorised'
  | 'throttled'
  | 'timeout'
  | 'too-large'
  /** The server refused the request: unknown operation, arguments that do not fit. */
  | 'refused'
  /** The operation ran and says that it failed. */
  | 'operation-failed'
  /** Not what the protocol says. */
  | 'bad-answer'

/** What every method rejects with; the message never holds what the server said. */
export class McpFailure extends Error {
  readonly word: McpFailureWord
  /** Ms after which the server wants to be asked again. */
  readonly retryAfterMs: number | undefined
  constructor(word: McpFailureWord, retryAfterMs?: number) {
    super(word)
    this.name = 'McpFailure'
    this.word = word
    this.retryAfterMs = retryAfterMs
  }
}

export interface McpCall {
  /** A tool's name, or a resource's URI or URI template. */
  operation: string
  arguments: Record<string, unknown>
  timeoutMs: number
  /** Most bytes of the answer as JSON. */
  maxBytes: number
  /** Sent as `_meta["ambit/idempotency-key"]` of a tool's call, for servers that look at it. */
  idempotencyKey?: string
}

/** One page of MCP Events in poll mode. */
export interface McpEventPage {
  events: { eventId: string; timestamp?: string; data: unknown }[]
  cursor: string | null
  /** The cursor was too old: something may be missing. */
  truncated: boolean
  hasMore: boolean
  nextPollMs: number | null
}

export interface McpConnection {
  /** Tools, resources, resource templates and events that can be polled. */
  list(timeoutMs: number): Promise<McpOffer[]>
  /**
   * The structured answer where there is one, else its text as JSON, else its text. Of a resource,
   * the same of its contents.
   */
  call(call: McpCall): Promise<unknown>
  /** `events/poll` after a cursor; `null` starts now. `operation` is the event's name. */
  pollEvents(call: McpCall & { cursor: string | null; maxEvents: number }): Promise<McpEventPage>
  /** Ends the session, and the process of a local command. Never rejects. */
  close(): Promise<void>
}

export interface McpClient {
  /** Opens a session; `maxBytes` bounds any single message. */
  connect(
    target: McpTarget,
    bounds: { timeoutMs: number; maxBytes: number },
  ): Promise<McpConnection>
}
