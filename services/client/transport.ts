/**
 * One HTTP call: credential, time limit, retries, problem documents. A POST carries an
 * `Idempotency-Key` that is the same for all attempts; where the server heeds it (subscriptions,
 * continuations), repeating after a lost answer is one change. Calls that would do their work
 * again, and cost again, say `attemptsMax: 1`.
 */
import { ClientError, isClientError, isTransient, NO_ANSWER, readProblem } from './client-error.ts'

/** Time of this process; durations only. */
export interface ClientClock {
  /** Monotonic ms. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface TransportOptions {
  /** Address of the API, such as `http://127.0.0.1:7171`. */
  url: string
  /** API key or token, sent as `Authorization: Bearer`. */
  key?: string
  /** Default: the global `fetch`. */
  fetch?: typeof fetch
  /** Ms until an attempt is given up. Default 30 000. */
  timeoutMs?: number
  /** Attempts of one call, the first included. Default 5. */
  attemptsMax?: number
  clock?: ClientClock
  /** Aborts with a `TimeoutError` after that many ms. Default `AbortSignal.timeout`. */
  timeLimit?: (ms: number) => AbortSignal
  /** 0 to 1; spreads retries. Default `Math.random`. */
  random?: () => number
}

export type Query = Record<string, string | number | boolean | null | undefined>

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Query
  /** Sent as JSON, under `contentType` when given. */
  body?: unknown
  contentType?: string
  headers?: Record<string, string>
  /** Gives up at once; the call rejects with the signal's reason. */
  signal?: AbortSignal
  /** Ms on top of the time limit, for calls that wait by design. */
  waitMs?: number
  attemptsMax?: number
}

export interface Transport {
  /** The parsed JSON answer; undefined for an empty one. Rejects `ClientError`. */
  json<T>(call: Call): Promise<T>
  /** An open answer for streaming, without a time limit and without retries. */
  open(call: Call): Promise<Response>
  clock: ClientClock
  /** Ms to wait after the given number of failed attempts: doubling, spread, at most 10 000. */
  backoffMs(failures: number): number
}

const TIMEOUT_MS = 30_000
const ATTEMPTS_MAX = 5
const BACKOFF_MS = { first: 200, max: 10_000 }
/** A longer `Retry-After` is the caller's business. */
const RETRY_AFTER_MS_MAX = 60_000

/** Makes the calls of one client. Throws `ClientError` for an address that is none. */
export function createTransport(options: TransportOptions): Transport {
  const base = baseOf(options.url)
  const { clock = systemClock, random = Math.random, timeLimit = AbortSignal.timeout } = options
  const backoffMs = (failures: number) => {
    const full = Math.min(BACKOFF_MS.first * 2 ** Math.min(failures - 1, 10), BACKOFF_MS.max)
    return Math.round(full / 2 + (full / 2) * random())
  }
  const attempt = async <T>(call: Call, limit: AbortSignal | undefined, read: Read<T>) => {
    const send = options.fetch ?? fetch
    const name = `${call.method} ${call.path}`
    try {
      const response = await send(urlOf(base, call), requestOf(call, options.key, limit))
      if (!response.ok) throw await readProblem(response, name)
      return await read(response, name)
    } catch (error) {
      if (call.signal?.aborted) throw call.signal.reason
      throw isClientError(error) ? error : noAnswer(error, { base, name })
    }
  }
  return {
    clock,
    backoffMs,
    open: call => attempt(call, call.signal, async response => response),
    async json<T>(given: Call): Promise<T> {
      const call = given.method === 'POST' ? withIdempotencyKey(given) : given
      const attemptsMax = call.attemptsMax ?? options.attemptsMax ?? ATTEMPTS_MAX
      const timeoutMs = (options.timeoutMs ?? TIMEOUT_MS) + (call.waitMs ?? 0)
      for (let failures = 1; ; failures += 1) {
        try {
          return await attempt(call, either(call.signal, timeLimit(timeoutMs)), readJson<T>)
        } catch (error) {
          if (failures >= attemptsMax || !isTransient(error)) throw error
          const waitMs = (error as ClientError).retryAfterMs ?? backoffMs(failures)
          if (waitMs > RETRY_AFTER_MS_MAX) throw error
          await clock.sleep(waitMs, call.signal)
        }
      }
    },
  }
}

type Read<T> = (response: Response, name: string) => Promise<T>

/** The clock of this machine; a sleep does not keep a process alive by more than its timer. */
export const systemClock: ClientClock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const abort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }, ms)
      signal?.addEventListener('abort', abort, { once: true })
    }),
}

function either(signal: AbortSignal | undefined, limit: AbortSignal): AbortSignal {
  return signal ? AbortSignal.any([signal, limit]) : limit
}

function withIdempotencyKey(call: Call): Call {
  return { ...call, headers: { 'idempotency-key': crypto.randomUUID(), ...call.headers } }
}

function baseOf(url: string): URL {
  const base = URL.parse(url)
  if (base && (base.protocol === 'http:' || base.protocol === 'https:')) return base
  throw new ClientError(
    'Expected an http or https address of the API, such as http://127.0.0.1:7171.',
    {
      status: 0,
      code: NO_ANSWER.unexpected,
      expected: 'http://host:port',
      actual: base ? base.protocol : 'no URL',
    },
  )
}

/** Paths are appended, so that an API behind a prefix is reached too. */
function urlOf(base: URL, { path, query = {} }: Call): URL {
  const url = new URL(base.pathname.replace(/\/+$/, '') + path, base)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value))
  }
  return url
}

function requestOf(call: Call, key: string | undefined, signal?: AbortSignal): RequestInit {
  const { method, body, contentType = 'application/json', headers = {} } = call
  return {
    method,
    headers: {
      accept: 'application/json',
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...(body === undefined ? {} : { 'content-type': contentType }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
    // A redirect would carry the key to an address that nobody gave.
    redirect: 'manual',
  }
}

async function readJson<T>(response: Response, name: string): Promise<T> {
  const text = await response.text()
  try {
    return (text === '' ? undefined : JSON.parse(text)) as T
  } catch (cause) {
    throw new ClientError(
      `Expected JSON from ${name}, got something else. Check that the address is the Ambit API.`,
      { status: response.status, code: NO_ANSWER.unexpected, cause },
    )
  }
}

function noAnswer(cause: unknown, { base, name }: { base: URL; name: string }): ClientError {
  const isTimeout = cause instanceof DOMException && cause.name === 'TimeoutError'
  const what = isTimeout ? 'none in time' : 'a failed connection'
  return new ClientError(
    `Expected an answer to ${name} from ${base.origin}, got ${what}. ` +
      'Check that Ambit runs there (`ambit up`) and that the address is right.',
    {
      status: 0,
      code: isTimeout ? NO_ANSWER.timeout : NO_ANSWER.unreachable,
      expected: `an answer from ${base.origin}`,
      actual: what,
      cause,
    },
  )
}

/** A path segment of a caller's text: never more than one segment. */
export function segment(text: string): string {
  return encodeURIComponent(text)
}
