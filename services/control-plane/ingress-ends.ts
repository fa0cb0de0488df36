/** Where the ingress topics end now: the exact start of a new subscription. */
import type { StartsAt } from '#kernel/domain/subscription.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import { EXT_INGRESS_PREFIX, INGRESS_TOPICS } from '#topologies/topics.ts'

/** End offsets by topic and partition, for each tenant; a topic that does not exist is absent. */
export async function readIngressEnds(
  log: EventLog,
  tenants: string[],
): Promise<Map<string, StartsAt>> {
  const ext = (tenant: string) => `${EXT_INGRESS_PREFIX}${tenant}`
  const ends = await log.endOffsets([...INGRESS_TOPICS, ...tenants.map(ext)])
  const byTopic: StartsAt = {}
  for (const { topic, partition, offset } of ends) {
    byTopic[topic] ??= []
    byTopic[topic][partition] = offset
  }
  const shared = Object.fromEntries(INGRESS_TOPICS.map(topic => [topic, byTopic[topic] ?? []]))
  return new Map(
    tenants.map(tenant => {
      const own = byTopic[ext(tenant)]
      return [tenant, own ? { ...shared, [ext(tenant)]: own } : shared]
    }),
  )
}
