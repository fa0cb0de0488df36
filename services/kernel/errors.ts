/**
 * The closed table of operating errors. A code is stable and never reused; clients and
 * dashboards depend on it. `retry` says what happens next, not what went wrong.
 */
export type Retry = 'now' | 'never' | { afterMs: number }

interface ErrorRow {
  status: number
  title: string
  retry: Retry
}

export const ERRORS = {
  'bad-request': { status: 400, title: 'The request is malformed', retry: 'never' },
  'bad-json': { status: 400, title: 'The body is not strict JSON', retry: 'never' },
  'bad-event': { status: 400, title: 'The event is not a valid CloudEvent', retry: 'never' },
  unauthenticated: { status: 401, title: 'A valid credential is needed', retry: 'never' },
  'bad-signature': { status: 401, title: 'The signature does not hold', retry: 'never' },
  forbidden: { status: 403, title: 'The credential does not allow this', retry: 'never' },
  'reserved-attribute': {
    status: 403,
    title: 'Producers may not set this attribute or type',
    retry: 'never',
  },
  'lease-required': { status: 403, title: 'Agents must prove their lease', retry: 'never' },
  'bad-handle': { status: 403, title: 'The lease handle was not issued for this', retry: 'never' },
  'not-found': { status: 404, title: 'No such object', retry: 'never' },
  'method-not-allowed': { status: 405, title: 'The method is not offered here', retry: 'never' },
  conflict: { status: 409, title: 'The object is in another state', retry: 'never' },
  'stale-lease': { status: 409, title: 'The lease is no longer current', retry: 'never' },
  'version-mismatch': { status: 412, title: 'The object has changed since', retry: 'never' },
  'too-large': { status: 413, title: 'The body or event is too large', retry: 'never' },
  'unsupported-media-type': {
    status: 415,
    title: 'The content type or encoding is not read here',
    retry: 'never',
  },
  invalid: { status: 422, title: 'The content breaks a rule', retry: 'never' },
  'out-of-bounds': { status: 422, title: 'The value is outside the tenant bounds', retry: 'never' },
  'rate-limited': { status: 429, title: 'Too many requests', retry: { afterMs: 1000 } },
  internal: { status: 500, title: 'An unexpected failure', retry: 'now' },
  'log-unavailable': { status: 503, title: 'The event log is away', retry: { afterMs: 2000 } },
  'store-unavailable': { status: 503, title: 'The state store is away', retry: { afterMs: 2000 } },
  'not-ready': { status: 503, title: 'The service has not caught up', retry: { afterMs: 2000 } },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

/** Extra facts of an error that a client may act on; all optional. */
export interface ErrorFacts {
  /** JSON Pointer (RFC 6901) of the offending field. */
  pointer?: string
  expected?: string
  actual?: string
  /** Further members of the problem document. */
  extra?: Record<string, unknown>
  retryAfterMs?: number
  cause?: unknown
}

/** An operating error: `message` says what was expected, what came, and what to do. */
export class AmbitError extends Error {
  readonly code: ErrorCode
  readonly facts: ErrorFacts

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.name = 'AmbitError'
    this.code = code
    this.facts = facts
  }

  /** HTTP status of the code. */
  get status(): number {
    return ERRORS[this.code].status
  }

  /** What a caller should do next. */
  get retry(): Retry {
    const { retryAfterMs } = this.facts
    return retryAfterMs === undefined ? ERRORS[this.code].retry : { afterMs: retryAfterMs }
  }
}

/** Recognises an operating error, also one from another copy of this module. */
export function isAmbitError(value: unknown): value is AmbitError {
  return value instanceof Error && value.name === 'AmbitError' && 'code' in value
}
