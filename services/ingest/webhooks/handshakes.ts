import type { Source } from '#kernel/domain/source.ts'
import { headerOf, type RequestHeaders } from '../headers.ts'

/** An answer that makes no event. */
export interface HandshakeAnswer {
  status: number
  headers: Record<string, string>
  body?: { challenge: string }
}

/**
 * Slack's `url_verification`: the challenge is echoed. Only after the signature held, because
 * an echo to anybody would vouch for an endpoint that is not theirs.
 */
export function answerSlackChallenge(body: unknown): HandshakeAnswer | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { type, challenge } = body as Record<string, unknown>
  if (type !== 'url_verification' || typeof challenge !== 'string') return undefined
  return { status: 200, headers: {}, body: { challenge } }
}

/**
 * The abuse protection handshake of CloudEvents webhooks (HTTP 1.1 Web Hooks for Event Delivery,
 * section 4): the asking origin is allowed, at the source's rate in requests per minute. Without
 * a usable `webhook-request-origin` it is an ordinary OPTIONS, answered with what is allowed.
 */
export function answerOptions(
  headers: RequestHeaders,
  rateLimit: Source['rateLimit'],
): HandshakeAnswer {
  const answer: HandshakeAnswer = { status: 204, headers: { allow: 'POST, OPTIONS' } }
  const origin = headerOf(headers, 'webhook-request-origin')
  if (origin === undefined || !/^[\x21-\x7e]{1,253}$/.test(origin)) return answer
  const perMinute = rateLimit ? Math.max(1, Math.floor(rateLimit.perSecond * 60)) : undefined
  return {
    status: 200,
    headers: {
      ...answer.headers,
      'webhook-allowed-origin': origin,
      'webhook-allowed-rate': perMinute === undefined ? '*' : String(perMinute),
    },
  }
}
