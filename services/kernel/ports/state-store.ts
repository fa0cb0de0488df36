import type { OutgoingRecord } from './event-log.ts'

/**
 * Versioned documents, counters with limits, due queues, outboxes and fences behind one atomic
 * commit. The store is fast and may be lost or roll back; the log repairs it. All meaning
 * (dedup, cooldown, lease) lies in pure code above.
 *
 * `load` and `commit` reject with `store-unavailable` when the store cannot be reached or refuses
 * writes; a commit that rejects may still have happened.
 *
 * Every name lives inside a tenant. Contract, checked by `test/contract/state-store.ts`:
 * - S1 a commit happens whole or not at all, and answers which precondition failed.
 * - S2 fence first: an unknown or foreign fence is `lost`, whatever else would have failed.
 * - S3 `expect` compares document versions; an absent or expired document has version 0.
 * - S4 a counter's sum over its fields never passes a limit given with an addition.
 * - S5 `now` never goes back, and it is one clock for all who use the store.
 * - S6 entries are in a due queue once; peeking takes nothing away.
 */

/** A stored document; `version` is what its last writer gave it. */
export interface StoredDocument {
  version: number
  /** JSON text. */
  body: string
}

export interface LoadRequest {
  tenant: string
  documents: string[]
  counters?: string[]
}

export interface Loaded {
  /** The store's time, ms since the epoch. */
  now: number
  /** Absent documents are missing from the map. */
  documents: Map<string, StoredDocument>
  /** Sum over all fields; absent counters are 0. */
  counters: Map<string, number>
}

/**
 * Who may write for a (tenant, step, partition). `incarnation` names one life of the store's
 * content, `epoch` grows with every owner, `seq` with every commit.
 */
export interface Fence {
  key: string
  incarnation: string
  epoch: number
  /** The last acknowledged one; the commit stores `seq + 1`. */
  seq: number
}

export interface DocumentPut {
  key: string
  version: number
  /** JSON text; `null` deletes. */
  body: string | null
  /** Time to live in ms; kept for ever when omitted. */
  ttlMs?: number
}

export interface CounterAdd {
  counter: string
  /** One field per writer, so that a writer can set its own part again after a loss. */
  field: string
  amount: number
  /** The addition is refused when the sum would pass this. */
  limit?: number
  /** Replaces the field instead of adding: used by a rebuild only. */
  set?: boolean
  ttlMs: number
}

export interface DueChange {
  queue: string
  id: string
  /** Ms since the epoch; `null` removes the entry. */
  at: number | null
}

/** Outputs that were committed and may not have been appended yet. JSON text. */
export interface OutboxEntry {
  outbox: string
  id: string
  body: string
}

export interface Commit {
  tenant: string
  fence?: Fence
  /** Version each document must have. */
  expect?: Record<string, number>
  put?: DocumentPut[]
  add?: CounterAdd[]
  due?: DueChange[]
  outbox?: OutboxEntry[]
  /** Outbox entries whose outputs were appended. */
  clear?: { outbox: string; id: string }[]
  /**
   * Only for a store whose `atomicWithLog` is true: records appended, and a group's offset
   * stored, in the same transaction. Such a commit needs no outbox.
   */
  append?: OutgoingRecord[]
  offset?: { group: string; topic: string; partition: number; offset: number }
}

export type CommitResult =
  | { kind: 'ok'; now: number }
  /** A document had another version. */
  | { kind: 'conflict'; key: string; now: number }
  | { kind: 'limit'; counter: string; sum: number; now: number }
  /** The fence is not there, older, or somebody else's: stop, rebuild or leave. */
  | { kind: 'lost'; found: { incarnation: string; epoch: number; seq: number } | null; now: number }

export interface DueEntry {
  id: string
  at: number
}

export interface StateStore {
  /** True where store and log share one transaction (the embedded host). */
  readonly atomicWithLog: boolean
  load(request: LoadRequest): Promise<Loaded>
  commit(commit: Commit): Promise<CommitResult>
  /**
   * Takes a fence: writes `{incarnation, epoch, seq}` when the stored epoch is lower, or nothing
   * is stored; answers what is stored afterwards.
   */
  takeFence(
    tenant: string,
    fence: Fence,
  ): Promise<{ taken: boolean; stored: { incarnation: string; epoch: number; seq: number } | null }>
  /** Entries due at the store's now, earliest first, then by id. */
  peekDue(
    tenant: string,
    queue: string,
    max: number,
  ): Promise<{ now: number; due: DueEntry[]; next?: number }>
  /** What an outbox still holds, in order of id. */
  readOutbox(tenant: string, outbox: string): Promise<OutboxEntry[]>
  stop(): Promise<void>
}
