/**
 * The protocol layer of kafkajs 2.2.4 (pinned), which its public consumer hides. The public
 * consumer cannot read without a group, tell who owns a partition, or keep one slow partition
 * from holding up the others; this layer can. Nothing outside this folder sees it.
 */
declare module 'kafkajs/src/cluster/index.js' {
  import type { ConnectionOptions } from 'node:tls'
  import type { SASLOptions } from 'kafkajs'

  export interface FetchedMessage {
    offset: string
    timestamp: string
    key: Buffer | null
    value: Buffer | null
    headers: Record<string, Buffer | null | (Buffer | null)[]>
    isControlRecord: boolean
    batchContext?: { firstOffset: string; lastOffsetDelta: number }
  }

  export interface FetchedPartition {
    partition: number
    highWatermark: string
    /** End of what a reader of committed records may see; -1 where transactions are unknown. */
    lastStableOffset?: string
    abortedTransactions?: unknown[]
    messages: FetchedMessage[]
  }

  export interface FetchRequest {
    isolationLevel: number
    maxWaitTime: number
    minBytes: number
    maxBytes: number
    topics: {
      topic: string
      partitions: { partition: number; fetchOffset: string; maxBytes: number }[]
    }[]
  }

  interface Membership {
    groupId: string
    memberId: string
    groupGenerationId: number
  }

  interface OffsetTopics {
    topic: string
    partitions: { partition: number; offset: string }[]
  }

  export interface Broker {
    fetch(request: FetchRequest): Promise<{
      responses: { topicName: string; partitions: FetchedPartition[] }[]
    }>
    listOffsets(request: {
      isolationLevel: number
      topics: { topic: string; partitions: { partition: number; timestamp: number }[] }[]
    }): Promise<{ responses: OffsetTopics[] }>
    joinGroup(request: {
      groupId: string
      memberId: string
      sessionTimeout: number
      rebalanceTimeout: number
      groupProtocols: { name: string; metadata: Buffer }[]
    }): Promise<{
      generationId: number
      leaderId: string
      memberId: string
      members: { memberId: string; memberMetadata: Buffer }[]
    }>
    syncGroup(request: {
      groupId: string
      generationId: number
      memberId: string
      groupAssignment: { memberId: string; memberAssignment: Buffer }[]
    }): Promise<{ memberAssignment: Buffer }>
    heartbeat(request: Membership): Promise<unknown>
    leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>
    offsetCommit(request: Membership & { topics: OffsetTopics[] }): Promise<unknown>
    offsetFetch(request: {
      groupId: string
      topics: { topic: string; partitions: { partition: number }[] }[]
    }): Promise<{ responses: OffsetTopics[] }>
  }

  export interface ClusterOptions {
    logger: unknown
    socketFactory: unknown
    brokers: string[]
    clientId: string
    ssl?: boolean | ConnectionOptions
    sasl?: SASLOptions
    connectionTimeout: number
    requestTimeout: number
    enforceRequestTimeout: boolean
    metadataMaxAge: number
    allowAutoTopicCreation: boolean
    retry: { retries: number; initialRetryTime: number; maxRetryTime: number }
  }

  // biome-ignore lint/style/noDefaultExport: it is what this CommonJS module exports
  export default class Cluster {
    constructor(options: ClusterOptions)
    /** Topics whose metadata is kept; empty means all topics of the cluster. */
    targetTopics: Set<string>
    connect(): Promise<void>
    disconnect(): Promise<void>
    refreshMetadata(): Promise<void>
    metadata(request: { topics: string[] }): Promise<{ topicMetadata: { topic: string }[] } | null>
    findBroker(node: { nodeId: number }): Promise<Broker>
    findGroupCoordinator(group: { groupId: string }): Promise<Broker>
    findTopicPartitionMetadata(topic: string): { partitionId: number; leader: number }[]
  }
}

declare module 'kafkajs/src/loggers/index.js' {
  import type { logCreator } from 'kafkajs'

  const loggers: { createLogger(options: { level: number; logCreator: logCreator }): unknown }
  // biome-ignore lint/style/noDefaultExport: it is what this CommonJS module exports
  export default loggers
}

declare module 'kafkajs/src/consumer/filterAbortedMessages.js' {
  import type { FetchedMessage, FetchedPartition } from 'kafkajs/src/cluster/index.js'

  /** Leaves out the records of aborted transactions; control records stay. */
  // biome-ignore lint/style/noDefaultExport: it is what this CommonJS module exports
  export default function filterAbortedMessages(
    partition: Pick<FetchedPartition, 'messages' | 'abortedTransactions'>,
  ): FetchedMessage[]
}
