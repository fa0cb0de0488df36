import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { HandleSigner, LeaseClaim } from '#kernel/domain/lease-handle.ts'

/** Shortest key, bytes (RFC 2104 section 3: not below the output of the hash is advised). */
const KEY_BYTES_MIN = 32
/** Longest handle read; a lineage of eight hops fits many times. */
const HANDLE_MAX = 16 * 1024

/**
 * Signs handles with HMAC-SHA256 under the first key and verifies under any, so that a key is
 * rotated by putting a new one in front and dropping the old one a day later.
 *
 * @throws RangeError without a key, or with one shorter than 32 bytes.
 */
export function createHandleSigner(keys: readonly string[]): HandleSigner {
  const secrets = keys.map(key => createSecretKey(Buffer.from(key)))
  const [current] = secrets
  if (!current || secrets.some(secret => (secret.symmetricKeySize ?? 0) < KEY_BYTES_MIN)) {
    throw new RangeError(`Expected keys of at least ${KEY_BYTES_MIN} bytes to sign handles.`)
  }
  return {
    sign(claim) {
      const payload = Buffer.from(JSON.stringify(claim)).toString('base64url')
      return `${payload}.${macOf(current, payload).toString('base64url')}`
    },
    verify(handle) {
      if (handle.length > HANDLE_MAX) return undefined
      const [payload, mac, ...rest] = handle.split('.')
      if (!payload || !mac || rest.length > 0) return undefined
      const given = Buffer.from(mac, 'base64url')
      const isSigned = secrets.some(secret => isSame(macOf(secret, payload), given))
      return isSigned ? claimOf(payload) : undefined
    },
  }
}

function macOf(secret: KeyObject, payload: string): Buffer {
  return createHmac('sha256', secret).update(payload).digest()
}

function isSame(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given)
}

/** What we signed ourselves has the shape we signed. */
function claimOf(payload: string): LeaseClaim {
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as LeaseClaim
}
