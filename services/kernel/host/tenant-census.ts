/**
 * Which tenants the sources of a rebuild name at all. A new tenant finds no fence in the store,
 * just like one whose store was lost; the census tells them apart without reading the log again
 * for each: it goes on where it stopped.
 */
import type { EventLog } from '#kernel/ports/event-log.ts'

export interface TenantCensus {
  /** Does any record appended before the call belong to the tenant? */
  has(tenant: string): Promise<boolean>
}

/** A census of one partition of some topics. */
export function createTenantCensus(
  log: EventLog,
  topics: readonly string[],
  partition: number,
): TenantCensus {
  const seen = new Set<string>()
  const positions = new Map<string, number>()
  return {
    async has(tenant) {
      const ends = (await log.endOffsets([...topics])).filter(end => end.partition === partition)
      const behind = ends.filter(end => end.offset > (positions.get(end.topic) ?? 0))
      if (behind.length > 0) await readOn(log, { seen, positions, behind, partition })
      return seen.has(tenant)
    },
  }
}

async function readOn(
  log: EventLog,
  census: {
    seen: Set<string>
    positions: Map<string, number>
    behind: { topic: string; offset: number }[]
    partition: number
  },
): Promise<void> {
  const { seen, positions, behind, partition } = census
  const following = await log.follow({
    topics: behind.map(({ topic }) => topic),
    partitions: [partition],
    from: {
      offsets: behind.map(({ topic }) => ({
        topic,
        partition,
        offset: positions.get(topic) ?? 0,
      })),
    },
    onRecords: records => {
      for (const { topic, offset, headers } of records) {
        if (headers.ce_tenant) seen.add(Buffer.from(headers.ce_tenant).toString())
        positions.set(topic, Math.max(positions.get(topic) ?? 0, offset + 1))
      }
    },
  })
  try {
    await following.barrier()
  } finally {
    await following.stop()
  }
  // Compaction may have taken the last records: what was read up to is known all the same.
  for (const { topic, offset } of behind) {
    positions.set(topic, Math.max(positions.get(topic) ?? 0, offset))
  }
}
