import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a signature is made of, and by which keys; any of them may have signed. */
export interface Signed {
  algorithm: 'sha256' | 'sha512'
  keys: readonly (string | Buffer)[]
  /** Parts that are signed one after the other; the body as the bytes on the wire. */
  parts: readonly (string | Buffer)[]
}

/**
 * True when one of the given digests is that of one of the keys. Every pair is compared in
 * constant time and none is skipped, so timing tells neither the place nor the key.
 */
export function anyDigestHolds(signed: Signed, digests: readonly Buffer[]): boolean {
  let holds = false
  for (const key of signed.keys) {
    const hmac = createHmac(signed.algorithm, key)
    for (const part of signed.parts) hmac.update(part)
    const expected = hmac.digest()
    for (const digest of digests) {
      if (digest.length === expected.length && timingSafeEqual(digest, expected)) holds = true
    }
  }
  return holds
}

/** Bytes of a hex digest; undefined when it is not one. */
export function fromHex(text: string): Buffer | undefined {
  return /^(?:[0-9a-fA-F]{2})+$/.test(text) ? Buffer.from(text, 'hex') : undefined
}

/** Bytes of padded Base64 (RFC 4648 section 4); undefined when it is not that. */
export function fromBase64(text: string): Buffer | undefined {
  const strict = text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
  return strict ? Buffer.from(text, 'base64') : undefined
}
