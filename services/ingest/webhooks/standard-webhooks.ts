import { headerOf } from '../headers.ts'
import { anyDigestHolds, fromBase64 } from '../hmac.ts'
import { type Delivery, refuse, type SignatureCheck } from './signature-check.ts'
import { checkTimestamp } from './timestamp.ts'

/**
 * Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, `v1,<base64>` signatures separated by
 * spaces. Other versions are passed over. A secret is Base64, with or without `whsec_`.
 */
export function verifyStandardWebhooks(secrets: string[], delivery: Delivery): SignatureCheck {
  const id = headerOf(delivery.headers, 'webhook-id')
  const timestamp = headerOf(delivery.headers, 'webhook-timestamp')
  const signatures = headerOf(delivery.headers, 'webhook-signature')
  if (!id || !timestamp || !signatures) return refuse('missing-header')
  const time = checkTimestamp(timestamp, delivery.nowMs)
  if (time !== 'ok') return refuse(time === 'stale' ? 'stale-timestamp' : 'malformed-header')
  const keys = secrets.flatMap(secret => fromBase64(secret.replace(/^whsec_/, '')) ?? [])
  if (keys.length === 0) return refuse('unusable-secret')
  const digests = signatures
    .split(' ')
    .flatMap(each => (each.startsWith('v1,') ? (fromBase64(each.slice('v1,'.length)) ?? []) : []))
  const parts = [`${id}.${timestamp}.`, delivery.body]
  if (!anyDigestHolds({ algorithm: 'sha256', keys, parts }, digests)) {
    return refuse('signature-mismatch')
  }
  return { ok: true, deliveryId: id }
}
