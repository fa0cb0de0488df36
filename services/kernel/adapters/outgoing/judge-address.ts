/** Whether an address that somebody outside has named may be called, and where it leads now. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { SendFailure } from '#kernel/ports/http-sender.ts'
import { isGlobalAddress } from './global-address.ts'
import { bareHost } from './pinned-request.ts'

/** Every name under it is the machine itself (RFC 6761, section 6.3), whatever DNS says. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/

export interface JudgeOptions {
  /** All addresses of a name. Default: as the system resolves it. */
  resolve?(hostname: string): Promise<string[]>
  /** Origins (`http://127.0.0.1:9000`) that may be called although they would be refused. */
  allowOrigins?: readonly string[]
}

/** The address as it was read, and all that a connection may lead to. */
export interface JudgedAddress {
  url: URL
  addresses: string[]
}

/** A judge; it rejects with `SendFailure`, and asks DNS anew at every call. */
export function createAddressJudge(
  options: JudgeOptions,
): (text: string) => Promise<JudgedAddress> {
  const { resolve = systemResolve, allowOrigins = [] } = options
  return async text => {
    const url = parse(text)
    const isAllowed = allowOrigins.includes(url.origin)
    if (!isAllowed && url.protocol !== 'https:') throw new SendFailure('not-https')
    return { url, addresses: await addressesOf(url, { resolve, isAllowed }) }
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
