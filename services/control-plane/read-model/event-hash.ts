/**
 * 52 bits over an event's identity: an index of small integers instead of one of long texts.
 * Whoever looks an event up by it compares the identity too.
 */
export function eventHash(tenant: string, source: string, id: string): number {
  const text = `${tenant}\n${source}\n${id}`
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (0xfffff & low) + (high >>> 0)
}
