/**
 * Deterministic identities. Every hash starts with the tenant and every part is length-prefixed,
 * so that no two different lists of parts meet.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** The one way to write a tenant-scoped key: both parts percent-encoded around one slash. */
export function tenantKey(tenant: string, ...ids: string[]): string {
  return [tenant, ...ids].map(encodeURIComponent).join('/')
}

/** Reads what `tenantKey` wrote. */
export function splitTenantKey(key: string): string[] {
  return key.split('/').map(decodeURIComponent)
}

/** 128 bits of SHA-256 over the parts, as hex behind a prefix that names the noun. */
export function hashId(prefix: string, ...parts: (string | number)[]): string {
  const text = parts.map(part => `${String(part).length}:${part}`).join('')
  fresh._cloneInto(hasher).update(bytesOf(text)).digestInto(digest)
  return `${prefix}_${bytesToHex(shortDigest)}`
}

/** One hasher for all, set back before each use: making one costs more than the hash itself. */
const fresh = sha256.create()
const hasher = sha256.create()
const digest = new Uint8Array(hasher.outputLen)
const shortDigest = digest.subarray(0, 16)

/** Ids are short and mostly ASCII: written into memory of our own, which is much faster. */
const scratch = new Uint8Array(1024)

/** The text as UTF-8; valid until the next call. */
function bytesOf(text: string): Uint8Array {
  if (text.length > scratch.length) return utf8ToBytes(text)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code > 0x7f) return utf8ToBytes(text)
    scratch[at] = code
  }
  return scratch.subarray(0, text.length)
}

/** Candidate id = hash(subscription, event source, event id). */
export function candidateIdOf(
  tenant: string,
  subscription: string,
  event: { source: string; id: string },
): string {
  return hashId('c', tenant, subscription, event.source, event.id)
}

/** Occurrence id = hash(subscription, dedup key). */
export function occurrenceIdOf(tenant: string, subscription: string, dedupKey: string): string {
  return hashId('o', tenant, subscription, dedupKey)
}

/** Message id from the occurrence, or from the group and its opening. */
export function messageIdOf(tenant: string, ...cause: (string | number)[]): string {
  return hashId('m', tenant, ...cause)
}

/**
 * The one partitioner: FNV-1a over UTF-8, modulo the partition count. Kafka's own murmur2 would do
 * too; what matters is that every host and every topic uses the same.
 */
export function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (const byte of bytesOf(key)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0) % partitions
}
