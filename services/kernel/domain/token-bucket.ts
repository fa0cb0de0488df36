/** A token bucket: what is left, and when that was true. */
export interface Bucket {
  tokens: number
  at: number
}

/** Takes a token, or says how long until there is one. */
export function takeToken(
  bucket: Bucket | undefined,
  now: number,
  { perSecond, burst }: { perSecond: number; burst: number },
): { bucket: Bucket; waitMs: number } {
  const elapsed = bucket ? Math.max(0, now - bucket.at) : 0
  const filled = bucket ? Math.min(burst, bucket.tokens + (elapsed * perSecond) / 1000) : burst
  if (filled >= 1) return { bucket: { tokens: filled - 1, at: now }, waitMs: 0 }
  return { bucket: { tokens: filled, at: now }, waitMs: ((1 - filled) * 1000) / perSecond }
}
