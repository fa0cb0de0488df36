import type { EventLog, Position } from '#kernel/ports/event-log.ts'

/** Records of a partition that tell what a store must hold: far more than a failover loses. */
const TAIL = 5000

/**
 * Where the newest records of each partition begin, for `follow`. Counted and not timed: a process
 * whose clock is hours ahead would read nothing, and take a store that lost commits for whole.
 */
export async function tailOf(log: EventLog, topics: string[]): Promise<{ offsets: Position[] }> {
  const ends = await log.endOffsets(topics)
  return { offsets: ends.map(end => ({ ...end, offset: Math.max(0, end.offset - TAIL) })) }
}
