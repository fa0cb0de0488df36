/**
 * Where subscriptions start: a subscription sees events at or after the ingress ends of its start,
 * and no clock is compared. Positions of a hundred thousand subscriptions are kept as text, and
 * hardly ever read: beyond the latest start of a partition everything has started.
 */
import type { StartsAt } from '#kernel/domain/subscription.ts'

/** A start as the book keeps it. */
export type Starts = string & { readonly starts: unique symbol }

export interface StartBook {
  keep(startsAt: StartsAt): Starts
  /** Is the position at or after the start? A topic that the start does not name has started. */
  hasStarted(
    starts: Starts,
    position: { topic: string; partition: number; offset: number },
  ): boolean
}

export function createStartBook(): StartBook {
  const latest: StartsAt = {}
  return {
    keep(startsAt) {
      for (const [topic, offsets] of Object.entries(startsAt)) {
        latest[topic] ??= []
        const most = latest[topic]
        for (const [partition, offset] of offsets.entries()) {
          most[partition] = Math.max(most[partition] ?? 0, offset ?? 0)
        }
      }
      return JSON.stringify(startsAt) as Starts
    },
    hasStarted(starts, { topic, partition, offset }) {
      if (offset >= (latest[topic]?.[partition] ?? 0)) return true
      const own = JSON.parse(starts) as StartsAt
      return offset >= (own[topic]?.[partition] ?? 0)
    },
  }
}
