/** Follows topics without a group: one loop, one delivery at a time, in order (L5). */
import { AmbitError } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Following, FollowOptions, TopicPartition } from '../../ports/event-log.ts'
import {
  type MemoryLogData,
  type MemoryPartition,
  offsetSince,
  placeKey,
  readFrom,
} from './memory-log-data.ts'
import { RETRY_AFTER_MS } from './memory-log-member.ts'
import { createWaker, type Waker } from './waker.ts'

const DELIVERY_MAX = 500
const BARRIER_TIMEOUT_MS = 30_000

export interface FollowerWorld {
  data: MemoryLogData
  clock: Clock
  options: FollowOptions
  wants(): TopicPartition[]
}

export interface MemoryFollower extends Following {
  /** Starts to follow topics that were created since. */
  refresh(): void
  /** Ends without an answer to anybody. */
  abandon(): void
}

interface Place {
  partition: MemoryPartition
  position: number
}

interface Barrier {
  targets: Map<string, number>
  resolve(): void
  reject(error: Error): void
}

interface Self extends FollowerWorld {
  places: Map<string, Place>
  barriers: Set<Barrier>
  waker: Waker
  abort: AbortController
}

/** Starts to deliver; the start positions are taken now. */
export function startFollower(world: FollowerWorld): MemoryFollower {
  const self: Self = {
    ...world,
    places: new Map(),
    barriers: new Set(),
    waker: createWaker(),
    abort: new AbortController(),
  }
  refresh(self, true)
  const running = run(self)
  const end = () => {
    self.abort.abort()
    self.waker.wake()
    for (const { partition } of self.places.values()) partition.readers.delete(self.waker)
  }
  return {
    barrier: (timeoutMs = BARRIER_TIMEOUT_MS) => barrier(self, timeoutMs),
    refresh: () => refresh(self, false),
    abandon: end,
    async stop() {
      end()
      await running
      for (const each of self.barriers) each.reject(unavailable('the follower was stopped'))
      self.barriers.clear()
    },
  }
}

/** Partitions of topics created after the start are read from their first record. */
function refresh(self: Self, isStart: boolean): void {
  const { partitions } = self.options
  for (const wanted of self.wants()) {
    const partition = self.data.partition(wanted)
    const key = placeKey(wanted)
    if (!partition || self.places.has(key)) continue
    if (partitions && !partitions.includes(wanted.partition)) continue
    const position = isStart ? startOf(partition, self.options.from) : 0
    self.places.set(key, { partition, position })
    partition.readers.add(self.waker)
  }
  self.waker.wake()
}

function startOf(partition: MemoryPartition, from: FollowOptions['from']): number {
  if (from === 'beginning') return 0
  if (from === 'end') return partition.end
  if ('sinceMs' in from) return offsetSince(partition, from.sinceMs)
  return from.offsets.find(each => placeKey(each) === placeKey(partition))?.offset ?? 0
}

async function run(self: Self): Promise<void> {
  while (!self.abort.signal.aborted) {
    let delivered = 0
    for (const place of [...self.places.values()]) delivered += await deliver(self, place)
    settleBarriers(self)
    if (delivered === 0 && !self.abort.signal.aborted) await self.waker.wait()
  }
}

/** Delivers what lies there, up to one batch; answers how many records that were. */
async function deliver(self: Self, place: Place): Promise<number> {
  const records = readFrom(place.partition, place.position, DELIVERY_MAX)
  if (records.length === 0) {
    // What lies between was compacted away, so it need not be waited for.
    place.position = Math.max(place.position, place.partition.end)
    return 0
  }
  while (!self.abort.signal.aborted) {
    try {
      await self.options.onRecords(records)
      place.position = records.at(-1)!.offset + 1
      settleBarriers(self)
      return records.length
    } catch {
      await self.clock.sleep(RETRY_AFTER_MS, self.abort.signal).catch(() => {})
    }
  }
  return 0
}

function isReached(self: Self, targets: Map<string, number>): boolean {
  return [...targets].every(([key, end]) => (self.places.get(key)?.position ?? end) >= end)
}

function settleBarriers(self: Self): void {
  for (const each of self.barriers) {
    if (!isReached(self, each.targets)) continue
    self.barriers.delete(each)
    each.resolve()
  }
}

async function barrier(self: Self, timeoutMs: number): Promise<void> {
  const ends = [...self.places].map(([key, { partition }]) => [key, partition.end] as const)
  const targets = new Map(ends)
  if (isReached(self, targets)) return
  if (self.abort.signal.aborted) throw unavailable('the follower was stopped')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const waiting: Barrier = { targets, resolve, reject }
  self.barriers.add(waiting)
  self.waker.wake()
  const done = new AbortController()
  const timeout = self.clock.sleep(timeoutMs, done.signal).then(
    () => reject(unavailable(`not everything was delivered within ${timeoutMs} ms`)),
    () => {},
  )
  try {
    await promise
  } finally {
    self.barriers.delete(waiting)
    done.abort()
    void timeout
  }
}

function unavailable(reason: string): AmbitError {
  return new AmbitError('log-unavailable', `The barrier was not reached: ${reason}.`)
}
