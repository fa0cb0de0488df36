/** Token buckets in memory, one per source and replica: a rate limit of the door, not a budget. */
export interface TokenBuckets {
  /** Takes one token; answers 0, or the ms until one is there. */
  take(key: string, rate: { perSecond: number; burst: number }): number
}

/** `now` is in ms. */
export function createTokenBuckets(now: () => number): TokenBuckets {
  const buckets = new Map<string, { tokens: number; at: number }>()
  return {
    take(key, { perSecond, burst }) {
      const at = now()
      const bucket = buckets.get(key) ?? { tokens: burst, at }
      const gained = (Math.max(0, at - bucket.at) / 1000) * perSecond
      bucket.tokens = Math.min(burst, bucket.tokens + gained)
      bucket.at = at
      buckets.set(key, bucket)
      if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) / perSecond) * 1000)
      bucket.tokens -= 1
      return 0
    },
  }
}
