/** The bound on calls of one connector in a time, as its `rateLimit` says. */
import type { Connector } from '#kernel/domain/connector.ts'
import { type Bucket, takeToken } from '#kernel/domain/token-bucket.ts'
import type { Clock } from '#kernel/ports/clock.ts'

/** Resolves when the connector's rate allows one more call. */
export type Admit = (connector: Pick<Connector, 'tenant' | 'id' | 'rateLimit'>) => Promise<void>

/** One count for all that call it. */
export function createConnectorRate(clock: Pick<Clock, 'now' | 'sleep'>): Admit {
  const buckets = new Map<string, Bucket>()
  return async ({ tenant, id, rateLimit }) => {
    const name = `${tenant}\n${id}`
    for (;;) {
      const { bucket, waitMs } = takeToken(buckets.get(name), clock.now(), rateLimit)
      buckets.set(name, bucket)
      if (waitMs === 0) return
      await clock.sleep(waitMs)
    }
  }
}
