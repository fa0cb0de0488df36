import type { RunResult } from './api.ts'

/** The facts of a problem document (RFC 9457), or of an answer that never came. */
export interface ProblemFacts {
  /** HTTP status; 0 when no answer came. */
  status: number
  code: string
  /** JSON Pointer of the offending field. */
  pointer?: string
  expected?: string
  actual?: string
  /** What the server asks to wait before another attempt. */
  retryAfterMs?: number
  /** All members of the problem document. */
  problem?: Record<string, unknown>
  cause?: unknown
}

/** Codes that this client gives itself, beside those of the server's table. */
export const NO_ANSWER = {
  /** Nothing listens there, or the connection broke. */
  unreachable: 'unreachable',
  /** No answer within the request's time. */
  timeout: 'timeout',
  /** Something answered that is not the API. */
  unexpected: 'unexpected-answer',
  /** The change is durable and not answered yet. */
  pending: 'change-pending',
  /** The dry run goes on. */
  trialPending: 'trial-pending',
} as const

/** A call that was refused or failed; `message` says what was expected, what came, what to do. */
export class ClientError extends Error {
  readonly status: number
  readonly code: string
  readonly pointer: string | undefined
  readonly expected: string | undefined
  readonly actual: string | undefined
  readonly retryAfterMs: number | undefined
  readonly problem: Record<string, unknown>

  constructor(message: string, facts: ProblemFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.name = 'ClientError'
    this.status = facts.status
    this.code = facts.code
    this.pointer = facts.pointer
    this.expected = facts.expected
    this.actual = facts.actual
    this.retryAfterMs = facts.retryAfterMs
    this.problem = facts.problem ?? {}
  }
}

/** Thrown by a handler: the message can never succeed, so it is dead without another attempt. */
export class PermanentError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'PermanentError'
  }
}

/** Thrown by a handler that has something to report: the message fails with the run's result. */
export class RunFailure extends Error {
  readonly code: string
  readonly result: RunResult

  constructor(code: string, message: string, result: RunResult) {
    super(message)
    this.name = 'RunFailure'
    this.code = code
    this.result = result
  }
}

/** Recognises a client error, also one from another copy of this module. */
export function isClientError(value: unknown): value is ClientError {
  return value instanceof Error && value.name === 'ClientError' && 'status' in value
}

/** May the same call succeed later? True for a missing answer, 429 and the server's own faults. */
export function isTransient(error: unknown): boolean {
  if (!isClientError(error)) return false
  const { status, code } = error
  if (status === 0) return code !== NO_ANSWER.unexpected
  return status === 429 || (status >= 500 && status !== 501)
}

/** Reads an answer that is not 2xx; a body that is no problem document still gives an error. */
export async function readProblem(response: Response, call: string): Promise<ClientError> {
  const { status } = response
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'))
  const problem = await problemOf(response)
  if (!problem) {
    return new ClientError(
      `Expected an answer of the Ambit API to ${call}, got ${status} without a problem document. ` +
        'Check the address, and what stands between.',
      { status, code: NO_ANSWER.unexpected, retryAfterMs },
    )
  }
  const message = textOf(problem.detail) ?? textOf(problem.title) ?? `${call} answered ${status}.`
  return new ClientError(message, {
    status,
    code: textOf(problem.code) ?? `http-${status}`,
    pointer: textOf(problem.pointer),
    expected: textOf(problem.expected),
    actual: textOf(problem.actual),
    retryAfterMs: retryAfterMs ?? numberOf(problem.retryAfterMs),
    problem,
  })
}

async function problemOf(response: Response): Promise<Record<string, unknown> | undefined> {
  try {
    const body: unknown = JSON.parse(await response.text())
    const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
    return isObject ? { ...body } : undefined
  } catch {
    return undefined
  }
}

/** `Retry-After` in ms: whole seconds or an HTTP date (RFC 9110 section 10.2.3). */
export function parseRetryAfter(value: string | null, now = Date.now()): number | undefined {
  if (value === null || value.trim() === '') return undefined
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
