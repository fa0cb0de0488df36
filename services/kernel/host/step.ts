/**
 * What a service gives to a host: pure reading and deciding. The host does everything else in
 * one order (docs/architecture.md, "A step's life").
 */
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { DueEntry } from '#kernel/ports/state-store.ts'
import type { Hints } from './transaction.ts'

/** A record that a step understood. */
export interface StepItem<T> {
  tenant: string
  value: T
  record: LogRecord
}

/** Documents, counters and due entries that a journal gives back after a loss of the store. */
export interface Restored {
  documents: Map<string, { version: number; value: unknown; ttlMs?: number }>
  counters: Map<string, { amount: number; ttlMs: number }>
  due: Map<string, { queue: string; id: string; at: number }>
  /** Outputs whose append may have been lost; their receivers recognise repeats. */
  outputs: Output[]
}

export interface Rebuild {
  /**
   * For a partition whose documents others write too: documents removed, and outboxes of those
   * writers appended, before the sources are read. They must need the removed documents in every
   * commit; `fold` writes them again, last.
   */
  begin?(partition: number): { remove: string[]; drain: string[] }
  /** Topics to read, in this order, and how far back; everything when `ageMs` is omitted. */
  sources: { topic: string; ageMs?: number }[]
  /** Folds one record into what is restored for a tenant. Pure; the highest version wins. */
  fold(restored: (tenant: string) => Restored, record: LogRecord, now: number): void
}

/** Some records of one lane, and what may be done with them. */
export interface LaneBatch<T> {
  tenant: string
  /** At least one, in the order of the log. */
  items: StepItem<T>[]
  /** Commits under the fence of the partition; resolves when its outputs are appended. */
  commit(hints: Hints, decide: (unit: UnitOfWork) => void): Promise<void>
  /** False once the partition is gone: no further call makes sense. */
  isOwned(): boolean
  /** Aborts when the process ends and will not wait any longer. */
  signal: AbortSignal
}

/** What a step says about its lanes. */
export interface Lanes<T> {
  laneOf(item: StepItem<T>): string
  /** Records that are worked off together. */
  batchMax: number
  /** How long a record waits for others of its lane, ms. */
  waitMs: number
  work(batch: LaneBatch<T>): Promise<void>
}

/** A step with state. `T` is what it reads from a record. */
export interface Step<T> {
  /** Consumer group, and name of fences, outboxes and due queues. */
  name: string
  /** Topics read; co-partitioned. */
  topics: string[]
  /**
   * Understands a record, or skips it (`null`). Throwing makes it poison: it goes to
   * `deadletter` with the error's message.
   */
  read(record: LogRecord): { tenant: string; value: T } | null
  /** Documents and counters the decision will probably need. */
  hints(item: StepItem<T>, now: number): Hints
  /** Pure. */
  decide(unit: UnitOfWork, item: StepItem<T>): void
  /**
   * Works items off by itself, with calls to the outside between its commits, instead of `decide`.
   * Only for steps that read one topic.
   */
  lanes?: Lanes<T>
  /** Facts from outside that items need, gathered once per batch before deciding. */
  prepare?(items: StepItem<T>[]): Promise<void>
  /** A due entry of this step's own queue (`OWN_QUEUE`); it must remove or move the entry. */
  decideDue?(unit: UnitOfWork, entry: DueEntry): void
  dueHints?(entry: DueEntry, tenant: string): Hints
  /** Told the outputs of every commit; deciding alone may be tried several times. */
  committed?(outputs: readonly Output[]): void
  /** Topics appended only after all other outputs are durable, each after those before it. */
  lastTopics?: string[]
  /** Topic whose records tell whether the store lost commits; needed with `rebuild`. */
  journal?: string
  rebuild?: Rebuild
  /**
   * Emits the current record of a document again, after an older one was appended late by a
   * former owner (F28). `key` is the record's key.
   */
  reassert?(unit: UnitOfWork, key: string): void
  /** Compacted topics in which the current record may be overtaken; the journal when omitted. */
  reassertTopics?: string[]
  reassertHints?(tenant: string, key: string): Hints
}

/** In `unit.due`, the due queue of the step's partition that is being decided. */
export const OWN_QUEUE = 'own'

/** Header in which a fenced commit signs its outputs: incarnation, epoch, seq, step/partition. */
export const FENCE_HEADER = 'x-fence'

/** Topics in which a step appends the newest record again; none where it cannot. */
export function reassertTopicsOf<T>(step: Step<T>): string[] {
  if (!step.reassert) return []
  return step.reassertTopics ?? (step.journal === undefined ? [] : [step.journal])
}
