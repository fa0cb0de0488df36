/**
 * A `fetch` under the rules of outgoing addresses (I16), for client libraries that take one: the
 * address is judged at every call, only a judged address is connected to, a redirect is an answer.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { Readable, Transform } from 'node:stream'
import { SendFailure } from '#kernel/ports/http-sender.ts'
import { createAddressJudge, type JudgedAddress, type JudgeOptions } from './judge-address.ts'
import { bareHost, pinned } from './pinned-request.ts'

/** Most bytes of an answer's headers. */
const HEADERS_MAX = 16 * 1024
/** Ms until the head of an answer; what follows is the caller's to bound. */
const HEAD_WITHIN_MS = 60_000

export type CheckedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface CheckedFetchOptions extends JudgeOptions {
  /** Most bytes of a body; longer ones break off with an error. */
  bodyMax: number
}

/** Rejects with `SendFailure`, or with the signal's reason. */
export function createCheckedFetch(options: CheckedFetchOptions): CheckedFetch {
  const judge = createAddressJudge(options)
  return async (url, init = {}) => {
    const judged = await judge(String(url))
    const message = await exchange(judged, init)
    const body = isBodiless(message.statusCode ?? 0) ? null : bounded(message, options.bodyMax)
    return new Response(body, { status: message.statusCode ?? 502, headers: headersOf(message) })
  }
}

const isBodiless = (status: number) => [204, 205, 304].includes(status)

function exchange({ url, addresses }: JudgedAddress, init: RequestInit): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:'
  const request = isSecure ? requestHttps : requestHttp
  // A pooled connection would lead to where it was opened, not to what was checked for this call.
  const agent = isSecure ? new HttpsAgent() : new HttpAgent()
  const signal = init.signal ?? undefined
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ agent, signal, method: init.method ?? 'GET' },
      headers: Object.fromEntries(new Headers(init.headers)),
      hostname: bareHost(url),
      port: url.port,
      path: `${url.pathname}${url.search}`,
      maxHeaderSize: HEADERS_MAX,
      lookup: pinned(addresses),
    })
    const late = setTimeout(() => sent.destroy(new SendFailure('timeout')), HEAD_WITHIN_MS)
    sent.once('response', message => {
      clearTimeout(late)
      resolve(message)
    })
    sent.on('error', error => {
      clearTimeout(late)
      if (signal?.aborted) reject(signal.reason)
      else reject(error instanceof SendFailure ? error : new SendFailure('connection-failed'))
    })
    sent.end(bodyOf(init))
  })
}

/** Client libraries of ours send text and forms. */
function bodyOf({ body }: RequestInit): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body)
  throw new TypeError('Expected a body of text.')
}

function bounded(message: IncomingMessage, bodyMax: number): ReadableStream<Uint8Array> {
  let bytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > bodyMax) done(new SendFailure('answer-refused'))
      else done(null, chunk)
    },
  })
  message.once('error', error => counted.destroy(error))
  counted.once('close', () => message.destroy())
  message.pipe(counted)
  return Readable.toWeb(counted) as ReadableStream<Uint8Array>
}

function headersOf({ headers }: IncomingMessage): Headers {
  const flat = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) flat.append(name, each)
  }
  return flat
}
