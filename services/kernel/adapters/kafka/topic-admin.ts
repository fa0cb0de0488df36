/** Creates and alters topics after the catalogue; never deletes one, never moves a key. */
import { setTimeout as pause } from 'node:timers/promises'
import kafkajs, { type Admin } from 'kafkajs'
import { AmbitError } from '../../errors.ts'
import {
  createKafkaConnection,
  type KafkaConnection,
  type KafkaSettings,
} from './kafka-connection.ts'
import { unavailable } from './topic-directory.ts'

/** What a cluster is to hold. */
export interface TopicPlan {
  /** Partitions of every topic; fixed once a topic exists. */
  partitions: number
  replicationFactor: number
}

/** What the catalogue says about one topic; its rows hold more. */
export interface TopicRule {
  cleanup: 'delete' | 'compact'
  /** Milliseconds; -1 keeps for ever. */
  retentionMs: number
}

/** One step; `topic` is the broker's name, with the prefix. */
export interface TopicDifference {
  topic: string
  /** `refuse` marks what cannot be applied: another partition count. */
  action: 'create' | 'alter' | 'refuse'
  /** Settings as they are; empty for a new topic. */
  was: Record<string, string>
  /** Settings as the catalogue wants them. */
  want: Record<string, string>
}

/** What to apply, by topic name without prefix; `ingress.ext.<tenant>` topics among them. */
export type TopicCatalogue = Readonly<Record<string, TopicRule>>

/** Compares and applies the catalogue. */
export interface TopicAdmin {
  /** What `apply` would do; empty when nothing is to be done. */
  diff(catalogue: TopicCatalogue, plan: TopicPlan): Promise<TopicDifference[]>
  /**
   * Does it and answers what was done, once the brokers say so themselves; after 5 s anyway.
   *
   * @throws AmbitError `conflict` before any change when a topic has another partition count.
   */
  apply(catalogue: TopicCatalogue, plan: TopicPlan): Promise<TopicDifference[]>
  stop(): Promise<void>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024
const PARTITIONS = 'partitions'
const SEEN_WITHIN_MS = 5000
const SEEN_EVERY_MS = 50

/** Broker settings of a topic, as the protocol carries them: text. */
export function topicSettings(row: TopicRule): Record<string, string> {
  return {
    'cleanup.policy': row.cleanup,
    'retention.ms': String(row.cleanup === 'compact' ? -1 : row.retentionMs),
    // A segment is only dropped as a whole, so its age is added to the retention.
    'segment.ms': String(segmentMs(row)),
    'max.message.bytes': String(MESSAGE_BYTES_MAX),
    // The log's clock decides, not an outside producer's.
    'message.timestamp.type': 'LogAppendTime',
    ...(row.cleanup === 'compact' ? { 'min.compaction.lag.ms': String(HOUR_MS) } : {}),
  }
}

function segmentMs({ cleanup, retentionMs }: TopicRule): number {
  if (cleanup === 'compact' || retentionMs < 0) return DAY_MS
  return Math.min(DAY_MS, retentionMs)
}

/** Opens the connection at the first call. */
export function createTopicAdmin(settings: KafkaSettings): TopicAdmin {
  const connection = createKafkaConnection(settings)
  const admin = connection.kafka.admin()
  let connected: Promise<void> | undefined
  const withAdmin = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      connected ??= admin.connect()
      await connected
      return await work()
    } catch (error) {
      connected = undefined
      throw unavailable(what, error)
    }
  }
  const diff: TopicAdmin['diff'] = (catalogue, plan) =>
    withAdmin('describe its topics', () => differences({ admin, connection }, catalogue, plan))
  return {
    diff,
    async apply(catalogue, plan) {
      const found = await diff(catalogue, plan)
      const refused = found.find(({ action }) => action === 'refuse')
      if (refused) throw otherPartitions(refused)
      await withAdmin('change its topics', () => change(admin, found, plan))
      if (found.length > 0) await seen(() => isSeen(admin, found, () => diff(catalogue, plan)))
      return found
    },
    stop: () => admin.disconnect(),
  }
}

/**
 * A broker answers from what it has heard of the controller, which lags behind a change: whoever
 * compares right after applying would do it again.
 */
async function seen(isSeenNow: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < SEEN_WITHIN_MS; waitedMs += SEEN_EVERY_MS) {
    if (await isSeenNow().catch(() => false)) return
    await pause(SEEN_EVERY_MS)
  }
}

/** Nothing differs any more, and every partition has somebody who takes records. */
async function isSeen(
  admin: Admin,
  steps: TopicDifference[],
  diff: () => Promise<TopicDifference[]>,
): Promise<boolean> {
  if ((await diff()).length > 0) return false
  const { topics } = await admin.fetchTopicMetadata({ topics: steps.map(({ topic }) => topic) })
  return topics.every(({ partitions }) => partitions.every(({ leader }) => leader >= 0))
}

function wanted(
  { outer }: KafkaConnection,
  catalogue: TopicCatalogue,
  { partitions }: TopicPlan,
): Map<string, Record<string, string>> {
  return new Map(
    Object.entries(catalogue).map(([topic, row]) => [
      outer(topic),
      { [PARTITIONS]: String(partitions), ...topicSettings(row) },
    ]),
  )
}

async function differences(
  { admin, connection }: { admin: Admin; connection: KafkaConnection },
  catalogue: TopicCatalogue,
  plan: TopicPlan,
): Promise<TopicDifference[]> {
  const want = wanted(connection, catalogue, plan)
  const existing = new Set(await admin.listTopics())
  const is = await describe(
    admin,
    [...want.keys()].filter(topic => existing.has(topic)),
  )
  const steps: TopicDifference[] = []
  for (const [topic, settings] of want) {
    const present = is.get(topic)
    if (!present) {
      steps.push({ topic, action: 'create', was: {}, want: settings })
      continue
    }
    const names = Object.keys(settings).filter(name => present[name] !== settings[name])
    if (names.length === 0) continue
    const pick = (from: Record<string, string>) =>
      Object.fromEntries(names.map(name => [name, from[name] ?? '']))
    const action = names.includes(PARTITIONS) ? 'refuse' : 'alter'
    steps.push({ topic, action, was: pick(present), want: pick(settings) })
  }
  return steps
}

/** All settings of existing topics, the partition count among them. */
async function describe(
  admin: Admin,
  topics: string[],
): Promise<Map<string, Record<string, string>>> {
  if (topics.length === 0) return new Map()
  const { topics: metadata } = await admin.fetchTopicMetadata({ topics })
  const counts = new Map(metadata.map(({ name, partitions }) => [name, partitions.length]))
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map(name => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
  })
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      {
        ...Object.fromEntries(configEntries.map(entry => [entry.configName, entry.configValue])),
        [PARTITIONS]: String(counts.get(resourceName) ?? 0),
      },
    ]),
  )
}

async function change(admin: Admin, steps: TopicDifference[], plan: TopicPlan): Promise<void> {
  const created = steps.filter(({ action }) => action === 'create')
  if (created.length > 0) {
    await admin.createTopics({
      // `seen` waits instead: a broker that has not heard of a topic yet is no failure.
      waitForLeaders: false,
      topics: created.map(({ topic, want }) => ({
        topic,
        numPartitions: plan.partitions,
        replicationFactor: plan.replicationFactor,
        configEntries: entriesOf(want),
      })),
    })
  }
  const altered = steps.filter(({ action }) => action === 'alter')
  if (altered.length > 0) await alter(admin, altered)
}

/** `alterConfigs` replaces all overrides of a topic, so those that stay are sent again. */
async function alter(admin: Admin, altered: TopicDifference[]): Promise<void> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: altered.map(({ topic }) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: topic,
    })),
  })
  await admin.alterConfigs({
    validateOnly: false,
    resources: altered.map(({ topic, want }) => {
      const present = resources.find(({ resourceName }) => resourceName === topic)
      const overrides = (present?.configEntries ?? [])
        .filter(entry => entry.configSource === TOPIC_OVERRIDE)
        .map(entry => [entry.configName, entry.configValue])
      return {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: topic,
        configEntries: entriesOf({ ...Object.fromEntries(overrides), ...want }),
      }
    }),
  })
}

/** The protocol's number for a value that was set on the topic itself. */
const TOPIC_OVERRIDE = 1

function entriesOf(settings: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(settings)
    .filter(([name]) => name !== PARTITIONS)
    .map(([name, value]) => ({ name, value }))
}

function otherPartitions({ topic, was, want }: TopicDifference): AmbitError {
  return new AmbitError(
    'conflict',
    `Expected ${topic} to have ${want[PARTITIONS]} partitions, got ${was[PARTITIONS]}. ` +
      'A change would move keys away from their state: keep the count, or start a new prefix.',
    { expected: want[PARTITIONS] ?? '', actual: was[PARTITIONS] ?? '' },
  )
}
