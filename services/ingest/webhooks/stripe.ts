import { headerOf } from '../headers.ts'
import { anyDigestHolds, fromHex } from '../hmac.ts'
import { type Delivery, refuse, type SignatureCheck } from './signature-check.ts'
import { checkTimestamp } from './timestamp.ts'

/**
 * Stripe: `stripe-signature: t=<seconds>,v1=<hex>[,v1=…]` over `t.body`. Other schemes (`v0`) are
 * passed over. The event's own `id` is the delivery id, so it is read from the body later.
 */
export function verifyStripe(secrets: string[], delivery: Delivery): SignatureCheck {
  const header = headerOf(delivery.headers, 'stripe-signature')
  if (!header) return refuse('missing-header')
  const pairs = header.split(',').map(pair => pair.trim())
  const [timestamp, ...more] = pairs.flatMap(each => (each.startsWith('t=') ? each.slice(2) : []))
  const digests = pairs.flatMap(each =>
    each.startsWith('v1=') ? (fromHex(each.slice(3)) ?? []) : [],
  )
  if (timestamp === undefined || more.length > 0 || digests.length === 0) {
    return refuse('malformed-header')
  }
  const time = checkTimestamp(timestamp, delivery.nowMs)
  if (time !== 'ok') return refuse(time === 'stale' ? 'stale-timestamp' : 'malformed-header')
  const parts = [`${timestamp}.`, delivery.body]
  const holds = anyDigestHolds({ algorithm: 'sha256', keys: secrets, parts }, digests)
  return holds ? { ok: true } : refuse('signature-mismatch')
}
