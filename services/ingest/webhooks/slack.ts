import { headerOf } from '../headers.ts'
import { anyDigestHolds, fromHex } from '../hmac.ts'
import { type Delivery, refuse, type SignatureCheck } from './signature-check.ts'
import { checkTimestamp } from './timestamp.ts'

/**
 * Slack: `x-slack-signature: v0=<hex>` over `v0:timestamp:body`. The `event_id` in the body is the
 * delivery id; a retry keeps it.
 */
export function verifySlack(secrets: string[], delivery: Delivery): SignatureCheck {
  const signature = headerOf(delivery.headers, 'x-slack-signature')
  const timestamp = headerOf(delivery.headers, 'x-slack-request-timestamp')
  if (!signature || !timestamp) return refuse('missing-header')
  const digest = signature.startsWith('v0=') ? fromHex(signature.slice('v0='.length)) : undefined
  const time = checkTimestamp(timestamp, delivery.nowMs)
  if (!digest || time === 'malformed') return refuse('malformed-header')
  if (time === 'stale') return refuse('stale-timestamp')
  const parts = [`v0:${timestamp}:`, delivery.body]
  const holds = anyDigestHolds({ algorithm: 'sha256', keys: secrets, parts }, [digest])
  return holds ? { ok: true } : refuse('signature-mismatch')
}
