/** One HTTP exchange with addresses that were checked before; nothing is looked up here. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { type SendAnswer, SendFailure } from '#kernel/ports/http-sender.ts'

/** Most that is read of an answer's headers, bytes, and of its body before it is cut off. */
const HEADERS_MAX = 16 * 1024
const BODY_MAX = 64 * 1024

export interface Exchange {
  url: URL
  /** All that the connection may lead to; at least one. */
  addresses: readonly string[]
  method: string
  headers: Record<string, string>
  body: Uint8Array
  signal: AbortSignal
  answerBytesMax?: number
}

/**
 * Opens a connection of its own and resolves with the answer's head, and its body where it is
 * asked for. When `signal` ends it before that, it rejects with `timeout`.
 */
export function pinnedRequest(exchange: Exchange): Promise<SendAnswer> {
  const { url, method, headers, body, signal } = exchange
  const isSecure = url.protocol === 'https:'
  const request = isSecure ? requestHttps : requestHttp
  // A pooled connection would lead to where it was opened, not to what was checked for this call.
  const agent = isSecure ? new HttpsAgent() : new HttpAgent()
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ method, headers, agent, signal },
      hostname: bareHost(url),
      port: url.port,
      path: `${url.pathname}${url.search}`,
      maxHeaderSize: HEADERS_MAX,
      lookup: pinned(exchange.addresses),
    })
    // Once there is a status it is the answer: a body that breaks off, drips or never ends takes
    // nothing back.
    let answer: SendAnswer | undefined
    sent.once('response', async response => {
      const known = { status: response.statusCode ?? 0, headers: flat(response.headers) }
      if (exchange.answerBytesMax !== undefined) {
        const read = collect(response, exchange.answerBytesMax)
        await read.then(
          body => resolve({ ...known, body }),
          error => reject(signal.aborted ? new SendFailure('timeout') : error),
        )
        sent.destroy()
        return
      }
      answer = known
      await discard(response)
      sent.destroy()
      resolve(known)
    })
    sent.once('error', error => {
      if (answer) resolve(answer)
      else reject(new SendFailure(signal.aborted ? 'timeout' : wordOf(error)))
    })
    sent.end(body)
  })
}

/** The host as a socket takes it: an IPv6 without its brackets. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** A look-up that answers what was checked before and asks nobody. */
export function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map(address => ({ address, family: isIP(address) }))
  return (_hostname, options, done) => {
    const [first] = found
    if (options.all) done(null, found)
    else done(null, first?.address ?? '', first?.family)
  }
}

/** Resolves at the body's end, when it is too long, or when it breaks off. */
function discard(response: IncomingMessage): Promise<void> {
  let bytes = 0
  return new Promise(resolve => {
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > BODY_MAX) resolve()
    })
    response.once('error', () => resolve())
    response.once('close', () => resolve())
  })
}

/** The whole body; one that is larger, or breaks off, is a failure and no answer. */
function collect(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) reject(new SendFailure('answer-too-large'))
      else chunks.push(chunk)
    })
    response.once('end', () => resolve(Buffer.concat(chunks)))
    response.once('error', () => reject(new SendFailure('connection-failed')))
    response.once('close', () => reject(new SendFailure('connection-failed')))
  })
}

function flat(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
  )
}

function wordOf(error: Error & { code?: string }): 'answer-refused' | 'connection-failed' {
  // The parser's own codes: a head too long, or not HTTP at all.
  return error.code?.startsWith('HPE_') ? 'answer-refused' : 'connection-failed'
}
