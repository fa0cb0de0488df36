import type { RequestHeaders } from '../headers.ts'

/** A delivery as it came; `body` holds the bytes on the wire, before any decoding. */
export interface Delivery {
  headers: RequestHeaders
  body: Buffer
  /** Our time in milliseconds since the epoch. */
  nowMs: number
}

/** Fixed words, so that a refusal tells a forger nothing. */
export type RefusalReason =
  | 'missing-header'
  | 'malformed-header'
  | 'stale-timestamp'
  | 'signature-mismatch'
  | 'unusable-secret'

/** `deliveryId` is the provider's id where a header carries one. */
export type SignatureCheck =
  | { ok: true; deliveryId?: string }
  | { ok: false; reason: RefusalReason }

/** A refusal. */
export function refuse(reason: RefusalReason): SignatureCheck {
  return { ok: false, reason }
}
