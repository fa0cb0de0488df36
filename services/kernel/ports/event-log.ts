/**
 * The log is the only truth. A topic has a fixed number of partitions; records of one key keep
 * their order. An adapter owns transport and retries; meaning (schemas, tenants, identities)
 * belongs to the host above it.
 *
 * Contract, checked by `test/contract/event-log.ts` on every adapter:
 * - L1 `append` resolves only when every record is durable, in the order given within a
 *   partition; it may have written some records when it rejects.
 * - L2 a group's partition is given to one handler at a time in offset order, starting at the
 *   committed offset, else at the first record; after a crash it starts there again.
 * - L3 a handler that rejects gets the same batch again after a pause.
 * - L4 a batch of a partition that was taken away, or may have been, answers `isOwned() === false`
 *   for good and its commit is refused. So do all that were read with it: what one leaves undone
 *   must come again before anything after it is finished.
 * - L6 partition p of all topics of a group belongs to one member, so that steps which read
 *   co-partitioned topics own both sides.
 * - L5 `follow` delivers every record that compaction left, from the chosen start, in order, and
 *   goes on; `barrier` resolves once all that had been appended before the call was delivered.
 */

/** A record to append. `partition` is chosen from `partitionKey ?? key` by the one partitioner. */
export interface OutgoingRecord {
  topic: string
  key: string
  partitionKey?: string
  /** Encoded value; `null` is a tombstone. */
  value: Uint8Array | null
  headers?: Record<string, string>
}

/** A record as it lies in the log. Offsets are safe integers. */
export interface LogRecord {
  topic: string
  partition: number
  offset: number
  /** When it was appended, ms since the epoch, by the log's clock. */
  timestamp: number
  key: Uint8Array | null
  value: Uint8Array | null
  headers: Record<string, Uint8Array>
}

export interface TopicPartition {
  topic: string
  partition: number
}

export interface Position extends TopicPartition {
  offset: number
}

/** Consecutive records of one partition. */
export interface RecordBatch extends TopicPartition {
  /** At least one record. */
  records: LogRecord[]
  /** False for good once the partition was taken away; checked before every commit and append. */
  isOwned(): boolean
  /** Stores that everything below `offset` is finished. Rejects when no longer the owner. */
  commit(offset: number): Promise<void>
  /** Keeps ownership during long work; cheap to call often. Rejects on a rebalance. */
  heartbeat(): Promise<void>
}

export interface ConsumeOptions {
  /** Consumer group; its committed offsets outlive the process. */
  group: string
  topics: string[]
  /**
   * Also consume every `ingress.ext.<tenant>` topic, new ones within seconds of their creation.
   */
  withExtIngress?: boolean
  /** Largest batch handed over, in records. Default 500. */
  batchMax?: number
  /**
   * Runs before the first batch of newly owned partitions; partitions not listed any more are
   * gone. It is awaited.
   */
  onAssigned?(partitions: TopicPartition[]): Promise<void>
  /**
   * Runs when partitions are about to change hands and all of them are still owned, so that work
   * besides `handle` can end. It is awaited, but not for ever; `onAssigned` follows where the
   * member stays. A log that takes partitions away at once does not call it.
   */
  onHandOver?(): Promise<void>
  handle(batch: RecordBatch): Promise<void>
}

export interface FollowOptions {
  topics: string[]
  withExtIngress?: boolean
  /** Only these partitions; all when omitted. */
  partitions?: number[]
  /** `end`: only what comes; `sinceMs`: records appended at or after that instant. */
  from: 'beginning' | 'end' | { sinceMs: number } | { offsets: Position[] }
  /**
   * Least ms between two reads, for followers that need few requests more than fresh records.
   * Default 0. Adapters without a network ignore it.
   */
  paceMs?: number
  /** Called in order per partition; a rejection is retried with the same records. */
  onRecords(records: LogRecord[]): void | Promise<void>
}

export interface Following {
  /**
   * Resolves when everything appended before the call was delivered. Rejects after `timeoutMs`
   * (default 30 000) with `log-unavailable`.
   */
  barrier(timeoutMs?: number): Promise<void>
  stop(): Promise<void>
}

export interface Consumption {
  /** Finishes the batch in hand, then leaves the group. */
  stop(): Promise<void>
}

export interface EventLog {
  /** Durable when it resolves; positions in the order of `records`. Rejects `log-unavailable`. */
  append(records: OutgoingRecord[]): Promise<Position[]>
  consume(options: ConsumeOptions): Promise<Consumption>
  follow(options: FollowOptions): Promise<Following>
  /** Next offset of every partition of the topics; unknown topics are left out. */
  endOffsets(topics: string[]): Promise<Position[]>
  /** Single records by position; `undefined` where retention removed one. */
  readAt(positions: Position[]): Promise<(LogRecord | undefined)[]>
  /** Records not yet committed by a group, per partition. */
  lag(group: string, topics: string[]): Promise<(TopicPartition & { lag: number })[]>
  stop(): Promise<void>
}
