import assert from 'node:assert/strict'

/** Redis keys of one tenant. All carry one hash tag, so they share a cluster slot. */
export interface RedisKeys {
  clock: string
  document(key: string): string
  counter(name: string): string
  queue(name: string): string
  outbox(name: string): string
  fence(key: string): string
}

/** Keys under `<prefix>{<tenant>}:`; the tenant is percent-encoded, the names stay as they are. */
export function redisKeys(prefix: string, tenant: string): RedisKeys {
  assert.ok(!prefix.includes('{'), 'a key prefix has no brace: it would start the hash tag')
  assert.ok(tenant !== '', 'a tenant has a name: Redis ignores an empty hash tag')
  const start = `${prefix}{${encodeURIComponent(tenant)}}:`
  return {
    clock: `${start}clock`,
    document: key => `${start}d:${key}`,
    counter: name => `${start}c:${name}`,
    queue: name => `${start}q:${name}`,
    outbox: name => `${start}o:${name}`,
    fence: key => `${start}f:${key}`,
  }
}
