import type { Client } from '@modelcontextprotocol/client'

/** What of a session the calls on it need. */
export interface McpSession {
  client: Client
  /** Aborts when the session cannot go on; its reason is the failure. */
  broken: AbortController
  /** What the newest refusal's `Retry-After` asked for. */
  retryAfterMs: number | undefined
  end(): Promise<void>
}
