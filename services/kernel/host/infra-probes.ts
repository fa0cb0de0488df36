/**
 * Direct access to the services of a distributed installation, for tools. Drivers are loaded at
 * the first use, so that a tool that needs none starts without them.
 */
import type { TopicDifference } from '#kernel/adapters/kafka/topic-admin.ts'
import { EXT_INGRESS, EXT_INGRESS_PREFIX, TOPICS } from '#topologies/topics.ts'

export interface CatalogueSettings {
  brokers: string[]
  /** Put before every topic name. */
  prefix: string
  /** Of every topic; fixed once it exists. */
  partitions: number
  replicationFactor: number
  /** Tenants whose `ingress.ext.<tenant>` topic is wanted. */
  tenants: readonly string[]
}

/** Kafka's topics beside the catalogue. */
export interface CatalogueTopics {
  diff(): Promise<TopicDifference[]>
  /** Rejects `conflict` before any change when a topic has another partition count. */
  apply(): Promise<TopicDifference[]>
  stop(): Promise<void>
}

/** Nothing is opened before the first call. */
export function catalogueTopics(settings: CatalogueSettings): CatalogueTopics {
  const { brokers, prefix, partitions, replicationFactor, tenants } = settings
  const ext = tenants.map(tenant => [EXT_INGRESS_PREFIX + tenant, EXT_INGRESS] as const)
  const catalogue = { ...TOPICS, ...Object.fromEntries(ext) }
  const plan = { partitions, replicationFactor }
  const opened = (async () => {
    const { createTopicAdmin } = await import('#kernel/adapters/kafka/topic-admin.ts')
    return createTopicAdmin({ brokers, prefix, clientId: 'ambit-tool' })
  })()
  return {
    diff: async () => (await opened).diff(catalogue, plan),
    apply: async () => (await opened).apply(catalogue, plan),
    stop: async () => (await opened).stop(),
  }
}

/** Rejects `store-unavailable` when Redis does not answer, or would evict keys. */
export async function probeRedis(url: string): Promise<void> {
  const { openRedisConnection } = await import('#kernel/adapters/redis/redis-connection.ts')
  const connection = await openRedisConnection({ url, connectTimeoutMs: 3000 })
  await connection.stop()
}
