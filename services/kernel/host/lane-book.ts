/**
 * Works the records of a partition off in lanes: side by side, each lane in its order. For steps
 * that wait for the outside between their commits, such as judging, so that one slow lane holds up
 * no other.
 *
 * - N1 Records of one lane are worked off in the order of the log, never two batches at a time.
 * - N2 An offset is stored only when everything below it is finished (I4).
 * - N3 Work that fails is repeated with the same records while the partition is owned.
 * - N4 A record that is handed over again after a rebalance is not worked off twice.
 * - N5 Work in hand may end before its partition goes: what it paid for is written down.
 * - N6 A batch of a tenure that is over is left to whoever reads it again: its lanes would never
 *   end, and records before it would be taken for finished.
 */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { RecordBatch } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { OffsetKeeper } from './offset-keeper.ts'
import type { LaneBatch, Lanes, StepItem } from './step.ts'
import type { Hints } from './transaction.ts'

export interface LaneBook<T> {
  /** Takes records over; resolves when there was room for them, or nobody takes any more. */
  take(batch: RecordBatch, items: StepItem<T>[]): Promise<void>
  /** Begins no work until `keep`; resolves when what is in hand has ended (N5). */
  pause(): Promise<void>
  /** Forgets partitions that are owned no more, and goes on with the others. */
  keep(partitions: ReadonlySet<number>): void
  /** Lets work in hand end, for a while, and begins none. */
  stop(): Promise<void>
}

export interface LaneWorld<T> {
  lanes: Lanes<T>
  clock: Clock
  logger: Logger
  offsets: OffsetKeeper
  commit(
    partition: number,
    work: {
      tenant: string
      hints: Hints
      decide(unit: UnitOfWork): void
      isOwned(): boolean
    },
  ): Promise<void>
}

/** Records in hand of one partition before more are taken. */
const IN_HAND_MAX = 1000
/** Ms between two looks for room; each also tells the log that the owner lives. */
const ROOM_EVERY_MS = 100
const RETRY_FIRST_MS = 200
const RETRY_MAX_MS = 5000
/** How long work in hand may take to end when the process stops, ms. */
const STOP_MS = 5000

interface Page<T> {
  partition: number
  /** The newest batch; its offsets can be stored. */
  batch: RecordBatch
  /** Offsets that were taken over and are not finished, in the order of the log. */
  open: Set<number>
  /** The first offset that was not taken over. */
  next: number
  lanes: Map<string, StepItem<T>[]>
  isGone: boolean
}

interface Self<T> extends LaneWorld<T> {
  pages: Map<number, Page<T>>
  running: Set<Promise<void>>
  /** Work in hand, of all lanes. */
  working: Set<Promise<void>>
  /** Set while nothing may begin. */
  pausing: PromiseWithResolvers<void> | undefined
  stopping: AbortController
  isStopped: boolean
}

/** A book without pages. */
export function createLaneBook<T>(world: LaneWorld<T>): LaneBook<T> {
  const self: Self<T> = {
    ...world,
    pages: new Map(),
    running: new Set(),
    working: new Set(),
    pausing: undefined,
    stopping: new AbortController(),
    isStopped: false,
  }
  return {
    take: (batch, items) => take(self, batch, items),
    async pause() {
      self.pausing ??= Promise.withResolvers()
      await Promise.allSettled(self.working)
    },
    keep(partitions) {
      for (const [partition, page] of self.pages) {
        if (partitions.has(partition)) continue
        page.isGone = true
        self.pages.delete(partition)
      }
      resume(self)
    },
    async stop() {
      self.isStopped = true
      resume(self)
      const late = new AbortController()
      const waiting = self.clock.sleep(STOP_MS, late.signal).catch(() => {})
      await Promise.race([Promise.all(self.running), waiting])
      late.abort()
      self.stopping.abort(new Error('the process is stopping'))
      await Promise.all(self.running)
    },
  }
}

function resume<T>(self: Self<T>): void {
  self.pausing?.resolve()
  self.pausing = undefined
}

async function take<T>(self: Self<T>, batch: RecordBatch, items: StepItem<T>[]): Promise<void> {
  if (!batch.isOwned()) return
  const page = pageOf(self, batch)
  while (page.open.size >= IN_HAND_MAX && !page.isGone && !self.isStopped) {
    await self.clock.sleep(ROOM_EVERY_MS)
    await batch.heartbeat()
  }
  if (page.isGone || self.isStopped) return
  page.batch = batch
  const first = page.next
  page.next = Math.max(first, (batch.records.at(-1)?.offset ?? -1) + 1)
  for (const item of items) {
    if (item.record.offset < first) continue
    page.open.add(item.record.offset)
    enqueue(self, page, item)
  }
  await storeOffset(self, page)
}

/** A page knows what was taken over before, so that nothing is taken twice (N4). */
function pageOf<T>(self: Self<T>, batch: RecordBatch): Page<T> {
  const { partition } = batch
  const known = self.pages.get(partition)
  if (known) return known
  const page: Page<T> = {
    partition,
    batch,
    open: new Set(),
    next: 0,
    lanes: new Map(),
    isGone: false,
  }
  self.pages.set(partition, page)
  return page
}

function enqueue<T>(self: Self<T>, page: Page<T>, item: StepItem<T>): void {
  const name = self.lanes.laneOf(item)
  const queue = page.lanes.get(name)
  if (queue) {
    queue.push(item)
    return
  }
  page.lanes.set(name, [item])
  const running: Promise<void> = runLane(self, page, name).finally(() => {
    self.running.delete(running)
  })
  self.running.add(running)
}

async function runLane<T>(self: Self<T>, page: Page<T>, name: string): Promise<void> {
  const queue = page.lanes.get(name) ?? []
  const { batchMax, waitMs } = self.lanes
  let pauseMs = RETRY_FIRST_MS
  // What was read together is worked off together.
  await Promise.resolve()
  while (queue.length > 0 && !page.isGone && !self.isStopped) {
    if (queue.length < batchMax && waitMs > 0) await self.clock.sleep(waitMs)
    if (self.pausing) {
      await self.pausing.promise
      continue
    }
    const items = queue.slice(0, batchMax)
    try {
      await inHand(self, self.lanes.work(batchOf(self, page, items)))
      queue.splice(0, items.length)
      for (const { record } of items) page.open.delete(record.offset)
      await storeOffset(self, page)
      pauseMs = RETRY_FIRST_MS
    } catch (error) {
      if (page.isGone || self.isStopped) break
      const { partition } = page
      self.logger.warn({ partition, err: error }, 'lane work failed; will be repeated')
      await self.clock.sleep(pauseMs)
      pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)
    }
  }
  page.lanes.delete(name)
}

async function inHand<T>({ working }: Self<T>, work: Promise<void>): Promise<void> {
  working.add(work)
  try {
    await work
  } finally {
    working.delete(work)
  }
}

function batchOf<T>(self: Self<T>, page: Page<T>, items: StepItem<T>[]): LaneBatch<T> {
  const tenant = items[0]?.tenant ?? ''
  const isOwned = () => !page.isGone
  return {
    tenant,
    items,
    isOwned,
    signal: self.stopping.signal,
    commit: (hints, decide) => self.commit(page.partition, { tenant, hints, decide, isOwned }),
  }
}

async function storeOffset<T>({ offsets }: Self<T>, page: Page<T>): Promise<void> {
  if (page.isGone) return
  const [lowest = page.next] = page.open
  await offsets.finished(page.batch, lowest)
}
