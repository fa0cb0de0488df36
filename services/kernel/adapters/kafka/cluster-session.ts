/**
 * One set of connections to the brokers, with the metadata of the topics it is used for. It heals
 * itself: after a transport failure the connections are made anew.
 *
 * Names here are the broker's. A session serves one member, follower or reader, because the
 * broker answers a connection's requests in order and a join may wait for seconds.
 */
import type Cluster from 'kafkajs/src/cluster/index.js'
import type { Broker } from 'kafkajs/src/cluster/index.js'
import type { Position, TopicPartition } from '../../ports/event-log.ts'
import { type KafkaConnection, kafkaErrorType } from './kafka-connection.ts'

/** Special instants of `listOffsets`: the next offset, and the first that is kept. */
export const LATEST = -1
export const EARLIEST = -2

/** Readers see what transactions of outside producers committed, nothing else. */
export const READ_COMMITTED = 1

const FRESH_MS = 1000

/** Connections and topic metadata; every call may be repeated after `recover`. */
export interface ClusterSession {
  /** Keeps the metadata of these topics; answers those that exist, their partitions known. */
  track(topics: readonly string[]): Promise<string[]>
  /** Names of all topics that the credential may see. */
  listTopics(): Promise<string[]>
  /** Partitions of a tracked topic; empty when it does not exist. */
  partitionsOf(topic: string): TopicPartition[]
  /** Node that leads a partition of a tracked topic. */
  leaderOf(place: TopicPartition): number | undefined
  node(nodeId: number): Promise<Broker>
  coordinator(group: string): Promise<Broker>
  /** First offset at or after an instant (ms), or `LATEST`, `EARLIEST`; -1 where there is none. */
  listOffsets(places: readonly TopicPartition[], at: number): Promise<Position[]>
  /** After a failure: fresh metadata, and fresh connections when the transport failed. */
  recover(error: unknown): Promise<void>
  close(): Promise<void>
}

/** Opens nothing until the first call. */
export function createClusterSession(connection: KafkaConnection): ClusterSession {
  let cluster: Cluster | undefined
  let tracked: string[] = []
  let replacedAt = 0
  let isClosed = false
  const open = async (): Promise<Cluster> => {
    if (cluster) return cluster
    const fresh = connection.createCluster()
    fresh.targetTopics = new Set(tracked)
    try {
      await fresh.connect()
      await fresh.refreshMetadata()
      if (isClosed) throw new Error('the session was closed')
    } catch (error) {
      drop(fresh)
      throw error
    }
    cluster ??= fresh
    if (cluster !== fresh) drop(fresh)
    return cluster
  }
  const replace = () => {
    if (cluster) drop(cluster)
    cluster = undefined
    replacedAt = performance.now()
  }
  const refresh = async () => {
    const current = await open()
    current.targetTopics = new Set(tracked)
    await current.refreshMetadata()
  }
  const listTopics = async () => {
    const metadata = await (await open()).metadata({ topics: [] })
    if (!metadata) throw new Error('no broker answered the request for topic names')
    return metadata.topicMetadata.map(({ topic }) => topic)
  }
  const partitionsOf = (topic: string) =>
    (cluster?.findTopicPartitionMetadata(topic) ?? [])
      .map(({ partitionId }) => ({ topic, partition: partitionId }))
      .sort((a, b) => a.partition - b.partition)
  return {
    listTopics,
    partitionsOf,
    async track(topics) {
      // One unknown topic would fail the metadata of all, so only existing ones are asked for.
      const existing = new Set(await listTopics())
      const found = topics.filter(topic => existing.has(topic))
      tracked = found
      await refresh()
      // The answer to an older question may have replaced this one. A topic without partitions
      // would be taken for one that needs no owner and has no room for records.
      const lacking = found.find(topic => partitionsOf(topic).length === 0)
      if (lacking !== undefined) throw new Error(`the partitions of ${lacking} are not known yet`)
      return found
    },
    leaderOf: place => (cluster ? leaderOf(cluster, place) : undefined),
    node: async nodeId => (await open()).findBroker({ nodeId }),
    coordinator: async group => (await open()).findGroupCoordinator({ groupId: group }),
    listOffsets: async (places, at) => listOffsets(await open(), places, at),
    async recover(error) {
      // Requests that failed because of a replacement are no reason for another one.
      const isFresh = performance.now() - replacedAt < FRESH_MS
      if (isTransportError(error) && !isFresh) replace()
      try {
        await refresh()
      } catch {
        replace()
      }
    },
    async close() {
      isClosed = true
      const last = cluster
      cluster = undefined
      await last?.disconnect().catch(() => undefined)
    },
  }
}

function drop(cluster: Cluster): void {
  cluster.disconnect().catch(() => undefined)
}

/** Protocol errors come from a living connection; all others may mean a dead one. */
function isTransportError(error: unknown): boolean {
  return !/^[A-Z_]+$/.test(kafkaErrorType(error))
}

function leaderOf(cluster: Cluster, { topic, partition }: TopicPartition): number | undefined {
  const found = cluster.findTopicPartitionMetadata(topic).find(p => p.partitionId === partition)
  return found && found.leader >= 0 ? found.leader : undefined
}

async function listOffsets(
  cluster: Cluster,
  places: readonly TopicPartition[],
  at: number,
): Promise<Position[]> {
  const byNode = new Map<number, TopicPartition[]>()
  for (const place of places) {
    const leader = leaderOf(cluster, place)
    if (leader === undefined) throw new Error(`${place.topic}/${place.partition} has no leader`)
    byNode.set(leader, [...(byNode.get(leader) ?? []), place])
  }
  const answers = [...byNode].map(async ([nodeId, ofNode]) => {
    const broker = await cluster.findBroker({ nodeId })
    const topics = byTopic(ofNode, partition => ({ partition, timestamp: at }))
    return broker.listOffsets({ isolationLevel: READ_COMMITTED, topics })
  })
  return (await Promise.all(answers)).flatMap(({ responses }) =>
    responses.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) })),
    ),
  )
}

/** Groups places by topic, in the form that the protocol wants. */
export function byTopic<P extends TopicPartition, T>(
  places: readonly P[],
  item: (partition: number, place: P) => T,
): { topic: string; partitions: T[] }[] {
  const topics = new Map<string, T[]>()
  for (const place of places) {
    const list = topics.get(place.topic)
    const entry = item(place.partition, place)
    if (list) list.push(entry)
    else topics.set(place.topic, [entry])
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }))
}

/** A key for maps of partitions. */
export function placeKey({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}
