import type { Verification } from '#kernel/domain/source.ts'
import { headerOf } from '../headers.ts'
import { anyDigestHolds, fromBase64, fromHex } from '../hmac.ts'
import { type Delivery, refuse, type SignatureCheck } from './signature-check.ts'
import { checkTimestamp } from './timestamp.ts'

type HmacScheme = Extract<Verification, { scheme: 'hmac' }>

/**
 * Generic HMAC, as configured: the digest of the body, or of `<seconds>.<body>` where a header
 * with the time of signing is named, because a time that is not signed proves nothing. Several
 * signatures may stand in the header, separated by commas or spaces.
 */
export function verifyHmac(
  scheme: HmacScheme,
  secrets: string[],
  delivery: Delivery,
): SignatureCheck {
  const header = headerOf(delivery.headers, scheme.header)
  if (!header) return refuse('missing-header')
  const decode = scheme.encoding === 'hex' ? fromHex : fromBase64
  const prefix = scheme.prefix ?? ''
  // The whole header too, because a prefix such as `v1,` holds a separator.
  const digests = [header, ...header.split(/[\s,]+/)].flatMap(each => {
    return each.startsWith(prefix) ? (decode(each.slice(prefix.length)) ?? []) : []
  })
  if (digests.length === 0) return refuse('malformed-header')
  const parts: (string | Buffer)[] = [delivery.body]
  if (scheme.timestampHeader !== undefined) {
    const timestamp = headerOf(delivery.headers, scheme.timestampHeader)
    if (!timestamp) return refuse('missing-header')
    const time = checkTimestamp(timestamp, delivery.nowMs)
    if (time !== 'ok') return refuse(time === 'stale' ? 'stale-timestamp' : 'malformed-header')
    parts.unshift(`${timestamp}.`)
  }
  const holds = anyDigestHolds({ algorithm: scheme.algorithm, keys: secrets, parts }, digests)
  return holds ? { ok: true } : refuse('signature-mismatch')
}
