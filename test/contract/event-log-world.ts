/** What an adapter's test file gives to the event log contract, and the suite's small tools. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { partitionOf } from '#kernel/domain/ids.ts'
import type {
  ConsumeOptions,
  Consumption,
  EventLog,
  LogRecord,
  OutgoingRecord,
  RecordBatch,
  TopicPartition,
} from '#kernel/ports/event-log.ts'

/** Settings of a topic that a test asks for. */
export interface TopicSettings {
  partitions: number
  cleanup?: 'delete' | 'compact'
}

/** A log on fresh topics, on real time, closed by the suite after each test. */
export interface EventLogWorld {
  log: EventLog
  createTopic(topic: string, settings: TopicSettings): Promise<void>
  close(): Promise<void>
  /** Another instance on the same data, as another process has; closed with the world. */
  another?(): Promise<EventLog>
  /** Ends `log` as `kill -9` would and opens the same data again. */
  crash?(): Promise<EventLog>
  /** Takes a partition from its owner in the middle of a batch. Resolves when that is done. */
  seize?(group: string, held: TopicPartition): Promise<void>
  /** Compacts a topic now: of each key only the newest record stays, tombstones go too. */
  compact?(topic: string): Promise<void>
}

/** Makes a world whose log holds these topics and nothing else. */
export type MakeWorld = (topics: Record<string, TopicSettings>) => Promise<EventLogWorld>

/** Runs `body` in a fresh world; every test of the suite is one call. */
export async function inWorld(
  makeWorld: MakeWorld,
  topics: Record<string, TopicSettings>,
  body: (world: EventLogWorld) => Promise<void>,
): Promise<void> {
  const world = await makeWorld(topics)
  try {
    await body(world)
  } finally {
    await world.close()
  }
}

/** Waits until `done` holds; the bound is for broken adapters, not a pause. */
export async function until(
  what: string,
  done: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await done())) {
    assert.ok(Date.now() < deadline, `expected within ${timeoutMs} ms: ${what}`)
    await sleep(5)
  }
}

/** A promise and the function that resolves it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A record whose value is text. */
export function record(topic: string, key: string, value: string | null): OutgoingRecord {
  return { topic, key, value: value === null ? null : encoder.encode(value) }
}

/** `count` records, each with a key of its own: `k0` = `0`, `k1` = `1` and so on. */
export function records(topic: string, count: number): OutgoingRecord[] {
  return Array.from({ length: count }, (_, at) => record(topic, `k${at}`, String(at)))
}

/** The text of a record's value; `null` for a tombstone. */
export function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : decoder.decode(bytes)
}

/** Values as text, in the order given. */
export function texts(list: readonly LogRecord[]): (string | null)[] {
  return list.map(each => textOf(each.value))
}

/** A key that the partitioner sends to `partition`. */
export function keyIn(partition: number, partitions: number, salt = ''): string {
  for (let at = 0; ; at += 1) {
    const key = `key${salt}-${at}`
    if (partitionOf(key, partitions) === partition) return key
  }
}

/** A group member that remembers what it got; it commits every batch unless told otherwise. */
export interface Member {
  got: LogRecord[]
  batches: RecordBatch[]
  assigned: TopicPartition[][]
  consumption: Consumption
}

/** Starts a member of `group`; `also` runs before the commit and may reject. */
export async function startMember(
  log: EventLog,
  options: Pick<ConsumeOptions, 'group' | 'topics' | 'withExtIngress' | 'batchMax' | 'onHandOver'>,
  also: { handle?(batch: RecordBatch): Promise<void>; commit?: boolean } = {},
): Promise<Member> {
  const got: LogRecord[] = []
  const batches: RecordBatch[] = []
  const assigned: TopicPartition[][] = []
  const consumption = await log.consume({
    ...options,
    onAssigned: async partitions => {
      assigned.push(partitions)
    },
    handle: async batch => {
      batches.push(batch)
      await also.handle?.(batch)
      got.push(...batch.records)
      const last = batch.records.at(-1)
      if (last && also.commit !== false) await batch.commit(last.offset + 1)
    },
  })
  return { got, batches, assigned, consumption }
}

/** Fails unless every partition's records come in offset order, none twice. */
export function assertOrdered(list: readonly LogRecord[]): void {
  const last = new Map<string, number>()
  for (const each of list) {
    const place = `${each.topic}/${each.partition}`
    const before = last.get(place) ?? -1
    assert.ok(each.offset > before, `${place}: offset ${each.offset} came after ${before}`)
    last.set(place, each.offset)
  }
}
