/**
 * Reads partitions from given offsets on, without a group: one long poll per leader. It owns the
 * positions; who uses the records owns the pace (`isFull`).
 */
import type { FetchedPartition } from 'kafkajs/src/cluster/index.js'
import type { Position, TopicPartition } from '../../ports/event-log.ts'
import {
  byTopic,
  type ClusterSession,
  EARLIEST,
  placeKey,
  READ_COMMITTED,
} from './cluster-session.ts'
import { type KafkaLogger, kafkaErrorType } from './kafka-connection.ts'
import { type Chunk, chunkOf, stableEnd } from './log-record.ts'
import { createBackoff, createCondition, pause } from './wait.ts'

/** What a fetcher needs from its user. */
export interface FetcherOptions {
  session: ClusterSession
  logger: KafkaLogger
  /** Gets every advance of a partition in order, also those without records. */
  onChunk(chunk: Chunk): void
  /** True while a partition has enough waiting; it is not asked for meanwhile. */
  isFull(place: TopicPartition): boolean
  /** Least ms from one answer to the next question. Default 0. */
  paceMs?: number
}

/** A running reader of partitions. */
export interface PartitionFetcher {
  /** Adds partitions, or moves them. */
  assign(positions: readonly Position[]): void
  /** Forgets all partitions; answers under way are thrown away. */
  clear(): void
  /** To be called when a partition is no longer full. */
  wake(): void
  stop(): void
}

/** Long enough to idle cheaply; a broker answers at once when a record comes. */
const POLL_MS = 500
/** While a partition is full it is missing from the poll, so the poll must end soon. */
const POLL_WHILE_FULL_MS = 20
const FETCH_BYTES = 4 * 1024 * 1024
const PARTITION_BYTES = 1024 * 1024

interface Cursor extends TopicPartition {
  next: number
}

interface Fetcher extends FetcherOptions {
  cursors: Map<string, Cursor>
  loops: Set<number>
  stopped: AbortController
  changed: ReturnType<typeof createCondition>
}

/** Starts without partitions; `assign` gives them. */
export function createPartitionFetcher(options: FetcherOptions): PartitionFetcher {
  const fetcher: Fetcher = {
    ...options,
    cursors: new Map(),
    loops: new Set(),
    stopped: new AbortController(),
    changed: createCondition(),
  }
  return {
    assign(positions) {
      for (const { topic, partition, offset } of positions) {
        fetcher.cursors.set(placeKey({ topic, partition }), { topic, partition, next: offset })
      }
      startLoops(fetcher)
    },
    clear: () => fetcher.cursors.clear(),
    wake: () => fetcher.changed.changed(),
    stop() {
      fetcher.cursors.clear()
      fetcher.stopped.abort()
    },
  }
}

/** Leaders are numbered from 0; -1 stands for "not known now" and only waits for metadata. */
function leaderOf(fetcher: Fetcher, cursor: Cursor): number {
  return fetcher.session.leaderOf(cursor) ?? -1
}

/**
 * To be called whenever partitions or leaders may have moved: a loop that sleeps, because it had
 * nothing to read, gets partitions of others back without having been started anew.
 */
function startLoops(fetcher: Fetcher): void {
  for (const cursor of fetcher.cursors.values()) {
    const nodeId = leaderOf(fetcher, cursor)
    if (fetcher.loops.has(nodeId)) continue
    fetcher.loops.add(nodeId)
    void readNode(fetcher, nodeId)
  }
  fetcher.changed.changed()
}

async function readNode(fetcher: Fetcher, nodeId: number): Promise<void> {
  const { session, logger, stopped, changed } = fetcher
  const backoff = createBackoff(50, 2000)
  const mine = () => [...fetcher.cursors.values()].filter(c => leaderOf(fetcher, c) === nodeId)
  const isReady = () => {
    const own = mine()
    const isElsewhere = own.length === 0 && fetcher.cursors.size > 0
    return isElsewhere || own.some(cursor => !fetcher.isFull(cursor))
  }
  while (!stopped.signal.aborted) {
    await changed.wait(isReady, stopped.signal).catch(() => undefined)
    if (stopped.signal.aborted) return
    if (mine().length === 0) {
      if (fetcher.cursors.size === 0) continue
      fetcher.loops.delete(nodeId)
      return startLoops(fetcher)
    }
    try {
      if (nodeId < 0) throw new Error('a partition has no leader at present')
      await poll(fetcher, nodeId, mine())
      backoff.reset()
      if (fetcher.paceMs) await pause(fetcher.paceMs, stopped.signal)
    } catch (error) {
      if (stopped.signal.aborted) return
      const wait = backoff.next()
      if (wait > 100) logger.warn({ reason: kafkaErrorType(error), wait }, 'reading is held up')
      await pause(wait, stopped.signal)
      if (!(await resetLost(fetcher, error))) await session.recover(error)
      startLoops(fetcher)
    }
  }
}

async function poll(fetcher: Fetcher, nodeId: number, mine: Cursor[]): Promise<void> {
  const wanted = mine.filter(cursor => !fetcher.isFull(cursor))
  const waitMs = wanted.length < mine.length ? POLL_WHILE_FULL_MS : POLL_MS
  for (const [cursor, fetched] of await fetchFrom(fetcher, nodeId, wanted, waitMs)) {
    if (fetched.messages.length > 0) advance(fetcher, cursor, fetched)
    else if (cursor.next < stableEnd(fetched)) await passGap(fetcher, nodeId, cursor)
  }
}

/**
 * An answer without a record below the end is either one that had no room for this partition or
 * a stretch that compaction emptied. Asked for alone, a partition always has room (KIP-74), so a
 * second empty answer means that nothing is left below the end it names.
 */
async function passGap(fetcher: Fetcher, nodeId: number, cursor: Cursor): Promise<void> {
  const [answer] = await fetchFrom(fetcher, nodeId, [cursor], 1)
  const fetched = answer?.[1]
  if (!fetched) return
  if (fetched.messages.length > 0) advance(fetcher, cursor, fetched)
  else {
    const { topic, partition } = cursor
    const next = Math.max(cursor.next, stableEnd(fetched))
    accept(fetcher, cursor, { topic, partition, records: [], next, bytes: 0 })
  }
}

function advance(fetcher: Fetcher, cursor: Cursor, fetched: FetchedPartition): void {
  accept(fetcher, cursor, chunkOf(cursor.topic, cursor.next, fetched))
}

function accept(fetcher: Fetcher, cursor: Cursor, chunk: Chunk): void {
  // Moved or forgotten while the answer was under way.
  if (fetcher.cursors.get(placeKey(cursor)) !== cursor || chunk.next === cursor.next) return
  cursor.next = chunk.next
  fetcher.onChunk(chunk)
}

async function fetchFrom(
  fetcher: Fetcher,
  nodeId: number,
  cursors: Cursor[],
  maxWaitTime: number,
): Promise<[Cursor, FetchedPartition][]> {
  const broker = await fetcher.session.node(nodeId)
  const asked = new Map(cursors.map(cursor => [placeKey(cursor), cursor]))
  const { responses } = await broker.fetch({
    isolationLevel: READ_COMMITTED,
    maxWaitTime,
    minBytes: 1,
    maxBytes: FETCH_BYTES,
    topics: byTopic(cursors, (partition, { next }) => ({
      partition,
      fetchOffset: String(next),
      maxBytes: PARTITION_BYTES,
    })),
  })
  return responses.flatMap(({ topicName, partitions }) =>
    partitions.flatMap((fetched): [Cursor, FetchedPartition][] => {
      const cursor = asked.get(placeKey({ topic: topicName, partition: fetched.partition }))
      return cursor ? [[cursor, fetched]] : []
    }),
  )
}

/**
 * Retention overtook a reader, or the log was cut: it goes on at the first record that is kept,
 * so that nothing that is still there is missed.
 */
async function resetLost(fetcher: Fetcher, error: unknown): Promise<boolean> {
  if (kafkaErrorType(error) !== 'OFFSET_OUT_OF_RANGE') return false
  const { topic, partition } = error as { topic?: string; partition?: number }
  if (topic === undefined || partition === undefined) return false
  const cursor = fetcher.cursors.get(placeKey({ topic, partition }))
  if (!cursor) return true
  try {
    const [first] = await fetcher.session.listOffsets([cursor], EARLIEST)
    if (!first) return false
    const lost = { topic, partition, from: cursor.next, to: first.offset }
    fetcher.logger.warn(lost, 'records were removed before they were read')
    accept(fetcher, cursor, { topic, partition, records: [], next: first.offset, bytes: 0 })
    return true
  } catch {
    return false
  }
}
