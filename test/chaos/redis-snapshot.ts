/** Takes a store back in time, as a failover to a replica that was behind does. */
import { Redis } from 'ioredis'

export interface RedisSnapshot {
  /** Replaces everything by what was there at the snapshot, in one transaction. */
  restore(): Promise<void>
}

interface Entry {
  key: Buffer
  dump: Buffer
  /** Ms to live at the snapshot; 0 for ever. */
  ttlMs: number
}

/** Nothing writes while the snapshot is read, so it is one moment of the store. */
const PAUSE_MS = 5000

/** Reads all keys of one moment. */
export async function takeSnapshot(url: string): Promise<RedisSnapshot> {
  const redis = new Redis(url)
  const entries: Entry[] = []
  await redis.client('PAUSE', PAUSE_MS, 'WRITE')
  try {
    const keys = await redis.keysBuffer('*')
    await Promise.all(
      keys.map(async key => {
        const [dump, ttlMs] = await Promise.all([redis.dumpBuffer(key), redis.pttl(key)])
        if (dump) entries.push({ key, dump, ttlMs: Math.max(0, ttlMs) })
      }),
    )
  } finally {
    await redis.client('UNPAUSE')
  }
  return {
    async restore() {
      const all = redis.multi().flushall()
      for (const { key, dump, ttlMs } of entries) all.restore(key, ttlMs, dump)
      const results = await all.exec()
      redis.disconnect()
      const failed = results?.find(([error]) => error)
      if (!results || failed) throw failed?.[0] ?? new Error('the snapshot was not restored')
    },
  }
}

/** Removes every key. */
export async function flushRedis(url: string): Promise<void> {
  const redis = new Redis(url)
  await redis.flushall()
  redis.disconnect()
}
