/** The request of an operation, and what its status means. */
import type { FailureWord, OperationOutcome } from './operation.ts'

export interface HttpRequest {
  method: string
  url: string
  json?: unknown
  headers: Record<string, string>
  timeoutMs: number
}

/** Resolves with the status, or with why there is none; never rejects. */
export type HttpCall = (
  request: HttpRequest,
  signal: AbortSignal,
) => Promise<{ status: number } | 'unavailable' | 'timed-out'>

/** Statuses that pass; any other 4xx, and a redirect, is an answer that will stay the same. */
const PASSING = [408, 425, 429]

/** 2xx is done; what may pass is `unavailable`, the rest is `refused`. */
export function judgeStatus(status: number): OperationOutcome {
  if (status >= 200 && status < 300) return { ok: true }
  const why: FailureWord = status >= 500 || PASSING.includes(status) ? 'unavailable' : 'refused'
  return { ok: false, why, status }
}

/**
 * Calls over `fetch`. Addresses come from whoever writes and configures tools, never from a model
 * or an event; redirects are not followed, and of the answer nothing but its status is read.
 */
export function fetchCall({
  send = fetch,
  timeLimit = AbortSignal.timeout,
}: {
  send?: typeof fetch
  /** A signal that aborts after that many ms. */
  timeLimit?: (ms: number) => AbortSignal
} = {}): HttpCall {
  return async ({ method, url, json, headers, timeoutMs }, signal) => {
    const limit = timeLimit(timeoutMs)
    const typed = json === undefined ? {} : { 'content-type': 'application/json' }
    try {
      const response = await send(url, {
        method,
        headers: { ...typed, ...headers },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        redirect: 'manual',
        signal: AbortSignal.any([signal, limit]),
      })
      await response.body?.cancel()
      return { status: response.status }
    } catch {
      return limit.aborted ? 'timed-out' : 'unavailable'
    }
  }
}
