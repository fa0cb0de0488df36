/**
 * The HttpSender of Node: judges the address, then connects to exactly what it judged. What a
 * name means is asked anew at every call, since it may have changed since the last one (I16).
 */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type HttpSender, SendFailure } from '#kernel/ports/http-sender.ts'
import { isGlobalAddress } from './global-address.ts'
import { type Answer, bareHost, type Exchange, pinnedRequest } from './pinned-request.ts'

/** How long `check` waits for DNS, ms. */
const CHECK_TIMEOUT_MS = 5000

/** Every name under it is the machine itself (RFC 6761, section 6.3), whatever DNS says. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/

export interface NodeHttpSenderOptions {
  /** All addresses of a name. Default: as the system resolves it. */
  resolve?(hostname: string): Promise<string[]>
  /** Origins (`http://127.0.0.1:9000`) that may be called although they would be refused. */
  allowOrigins?: readonly string[]
  /** Connects to one of the addresses and nothing else. Default: Node's HTTP. */
  connect?(exchange: Exchange): Promise<Answer>
}

/** Creates a sender; see the port for its promises. */
export function createNodeHttpSender(options: NodeHttpSenderOptions = {}): HttpSender {
  const { resolve = systemResolve, allowOrigins = [], connect = pinnedRequest } = options
  const judge = async (text: string) => {
    const url = parse(text)
    const isAllowed = allowOrigins.includes(url.origin)
    if (!isAllowed && url.protocol !== 'https:') throw new SendFailure('not-https')
    return { url, addresses: await addressesOf(url, { resolve, isAllowed }) }
  }
  return {
    async send({ url: text, method, headers, body, timeoutMs }) {
      return within(timeoutMs, async signal => {
        const { url, addresses } = await before(signal, judge(text))
        return connect({ url, addresses, method, headers, body, signal })
      })
    },
    async check(text) {
      await within(CHECK_TIMEOUT_MS, signal => before(signal, judge(text)))
    },
  }
}

async function systemResolve(hostname: string): Promise<string[]> {
  const found = await lookup(hostname, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

/** Read as browsers and Node read it (WHATWG URL), so that both judge and connect to one host. */
function parse(text: string): URL {
  const url = URL.parse(text)
  if (!url) throw new SendFailure('not-a-url')
  // They would be stored, listed and logged with the address.
  if (url.username !== '' || url.password !== '') throw new SendFailure('credentials-in-url')
  return url
}

/** Every address of the host; one that is refused refuses them all. */
async function addressesOf(
  url: URL,
  by: { resolve(hostname: string): Promise<string[]>; isAllowed: boolean },
): Promise<string[]> {
  const host = bareHost(url)
  if (!by.isAllowed && LOCAL_NAME.test(host)) throw new SendFailure('address-refused')
  const addresses = isIP(host) ? [host] : await by.resolve(host).catch(() => [])
  const isRefused = !by.isAllowed && !addresses.every(isGlobalAddress)
  if (isRefused || addresses.length === 0) throw new SendFailure('address-refused')
  return addresses
}

/** Aborts the signal when the time is over; every failure becomes one of the words. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(), ms)
  try {
    return await work(end.signal)
  } catch (error) {
    throw error instanceof SendFailure ? error : new SendFailure('connection-failed')
  } finally {
    clearTimeout(timer)
  }
}

/** The work's result, unless the signal comes first: a look-up cannot be cancelled, only left. */
async function before<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const over = Promise.withResolvers<never>()
  const leave = () => over.reject(new SendFailure('timeout'))
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([work, over.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
