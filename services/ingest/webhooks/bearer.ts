import { createHash, timingSafeEqual } from 'node:crypto'
import { headerOf } from '../headers.ts'
import { type Delivery, refuse, type SignatureCheck } from './signature-check.ts'

/** A fixed token in `authorization: Bearer …` (RFC 6750 section 2.1). It proves no freshness. */
export function verifyBearer(secrets: string[], delivery: Delivery): SignatureCheck {
  const header = headerOf(delivery.headers, 'authorization')
  if (!header) return refuse('missing-header')
  const token = /^Bearer +(\S+)$/i.exec(header)?.[1]
  if (token === undefined) return refuse('malformed-header')
  // Digests have one length, so comparing them does not tell the length of the secret.
  const given = digestOf(token)
  const holds = secrets.map(secret => timingSafeEqual(digestOf(secret), given)).includes(true)
  return holds ? { ok: true } : refuse('signature-mismatch')
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
