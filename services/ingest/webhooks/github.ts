import { headerOf } from '../headers.ts'
import { anyDigestHolds, fromHex } from '../hmac.ts'
import { type Delivery, refuse, type SignatureCheck } from './signature-check.ts'

/**
 * GitHub: `x-hub-signature-256: sha256=<hex>` over the body. GitHub signs no time; a redelivery
 * keeps its `x-github-delivery`, which is the delivery id.
 */
export function verifyGithub(secrets: string[], delivery: Delivery): SignatureCheck {
  const signature = headerOf(delivery.headers, 'x-hub-signature-256')
  if (!signature) return refuse('missing-header')
  const digest = signature.startsWith('sha256=') ? fromHex(signature.slice('sha256='.length)) : null
  if (!digest) return refuse('malformed-header')
  const signed = { algorithm: 'sha256', keys: secrets, parts: [delivery.body] } as const
  if (!anyDigestHolds(signed, [digest])) return refuse('signature-mismatch')
  const deliveryId = headerOf(delivery.headers, 'x-github-delivery')
  return { ok: true, ...(deliveryId && { deliveryId }) }
}
