/** The distributed backbone: Kafka, Redis, and a schema registry where one is configured. */

import type { KafkaSettings } from '#kernel/adapters/kafka/kafka-connection.ts'
import { createKafkaEventLog } from '#kernel/adapters/kafka/kafka-event-log.ts'
import { createTopicAdmin } from '#kernel/adapters/kafka/topic-admin.ts'
import { openRedisStateStore } from '#kernel/adapters/redis/redis-state-store.ts'
import { createConfluentDecoder } from '#kernel/adapters/schema-registry/confluent-data.ts'
import { createSchemaRegistry } from '#kernel/adapters/schema-registry/schema-registry.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { EXT_INGRESS, EXT_INGRESS_PREFIX, TOPICS } from '#topologies/topics.ts'
import type { Backbone } from './backbone.ts'
import type { Configuration } from './configuration.ts'

/** Partitions of every topic, fixed at creation. */
export const PARTITIONS = 12

/** Connects; applies the topic catalogue first where the configuration says so. */
export async function openDistributed(
  configuration: Configuration,
  logger: Logger,
): Promise<Backbone> {
  const { AMBIT_KAFKA_BROKERS: brokers = '', AMBIT_TOPIC_PREFIX: prefix } = configuration
  const { AMBIT_REDIS_URL: url = '', AMBIT_REDIS_PREFIX: redisPrefix } = configuration
  const settings = kafkaSettings(configuration, { brokers, prefix, logger })
  if (configuration.AMBIT_TOPICS_APPLY) await applyTopics(configuration, settings)
  const store = await openRedisStateStore({
    url,
    prefix: redisPrefix,
    onError: error => logger.warn({ err: error }, 'Redis'),
  })
  const log = createKafkaEventLog(settings)
  const registryUrl = configuration.AMBIT_SCHEMA_REGISTRY_URL
  const registry = registryUrl
    ? createSchemaRegistry({ url: registryUrl, auth: registryAuth(configuration) })
    : undefined
  return {
    kind: 'distributed',
    log,
    store,
    codec: createRecordCodec({ registry, subjectPrefix: prefix }),
    decodeConfluent: registry && createConfluentDecoder(id => registry.schemaOf(id)),
    async stop() {
      await log.stop()
      await store.stop()
    },
  }
}

function kafkaSettings(
  configuration: Configuration,
  { brokers, prefix, logger }: { brokers: string; prefix: string; logger: Logger },
): KafkaSettings {
  const { AMBIT_KAFKA_USERNAME: username, AMBIT_KAFKA_PASSWORD: password } = configuration
  const mechanism = configuration.AMBIT_KAFKA_MECHANISM
  return {
    ...{ brokers: brokers.split(','), prefix, clientId: 'ambit', logger },
    ssl: configuration.AMBIT_KAFKA_TLS || undefined,
    sasl: username && password ? { mechanism, username, password } : undefined,
  }
}

function registryAuth(configuration: Configuration) {
  const { AMBIT_SCHEMA_REGISTRY_USERNAME: username } = configuration
  const { AMBIT_SCHEMA_REGISTRY_PASSWORD: password } = configuration
  return username && password ? { username, password } : undefined
}

/** Two processes may start at once: a topic that the other one just made is no failure. */
async function applyTopics(configuration: Configuration, settings: KafkaSettings): Promise<void> {
  const admin = createTopicAdmin(settings)
  const partitions = configuration.AMBIT_PARTITIONS ?? PARTITIONS
  const plan = { partitions, replicationFactor: configuration.AMBIT_REPLICATION }
  const ext = `${EXT_INGRESS_PREFIX}${configuration.AMBIT_TENANT}`
  try {
    await admin.apply({ ...TOPICS, [ext]: EXT_INGRESS }, plan)
  } catch (error) {
    if (error instanceof AmbitError && error.code === 'conflict') throw error
    await admin.apply({ ...TOPICS, [ext]: EXT_INGRESS }, plan)
  } finally {
    await admin.stop()
  }
}
