/**
 * One member of a group: a loop for each partition it owns, and none of them starts a batch while
 * a changed assignment waits for `onAssigned`.
 */
import { AmbitError } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type {
  ConsumeOptions,
  LogRecord,
  RecordBatch,
  TopicPartition,
} from '../../ports/event-log.ts'
import { type MemoryLogData, type MemoryPartition, placeKey, readFrom } from './memory-log-data.ts'
import type { Grant, GroupMember, MemoryGroup } from './memory-log-group.ts'
import { createWaker, type Waker } from './waker.ts'

/** Pause before a rejected batch or `onAssigned` is tried again. */
export const RETRY_AFTER_MS = 100
const BATCH_MAX = 500

export interface MemberWorld {
  id: string
  data: MemoryLogData
  group: MemoryGroup
  clock: Clock
  options: ConsumeOptions
  wants(): TopicPartition[]
  /** Stores an offset after its hooks; `isOwned` is asked at that very moment. */
  commit(grant: Grant, offset: number, isOwned: () => boolean): Promise<void>
}

export interface MemoryMember {
  /** Finishes batches in hand, then leaves. */
  stop(): Promise<void>
  /** Leaves at once; what is in hand goes on and owns nothing. */
  abandon(): void
}

interface Run {
  grant: Grant
  place: MemoryPartition
  waker: Waker
  position: number | undefined
}

interface Self extends MemberWorld {
  runs: Map<string, Run>
  /** Handlers that have not returned yet, also those of partitions that were taken away. */
  inHand: Map<string, Promise<void>>
  /** Counts changes of the assignment; batches start only when the latest was announced. */
  changes: number
  announced: number
  announcing: Promise<void>
  isStopping: boolean
  abort: AbortController
}

/** Joins the group; batches come as soon as `onAssigned` has resolved. */
export function joinGroup(world: MemberWorld): MemoryMember {
  const self: Self = {
    ...world,
    runs: new Map(),
    inHand: new Map(),
    changes: 0,
    announced: 0,
    announcing: Promise.resolve(),
    isStopping: false,
    abort: new AbortController(),
  }
  const member: GroupMember = {
    id: world.id,
    wants: world.wants,
    onGrants: grants => applyGrants(self, grants),
  }
  const leave = () => {
    self.isStopping = true
    self.abort.abort()
    world.group.leave(member)
  }
  world.group.join(member)
  return {
    async stop() {
      self.isStopping = true
      self.abort.abort()
      wakeAll(self)
      const owned = [...self.runs.keys()].map(key => self.inHand.get(key))
      await Promise.all([self.announcing, ...owned])
      leave()
    },
    abandon: leave,
  }
}

function applyGrants(self: Self, grants: Grant[]): void {
  const next = new Map(grants.map(grant => [placeKey(grant), grant]))
  const lost = [...self.runs].filter(([key, run]) => next.get(key) !== run.grant)
  for (const [key, run] of lost) endRun(self, key, run)
  const gained = [...next].filter(([key]) => !self.runs.has(key))
  if (lost.length + gained.length === 0) return
  // Counted before the loops start, so that they wait for the announcement.
  self.changes += 1
  const change = self.changes
  for (const [key, grant] of gained) startRun(self, key, grant)
  self.announcing = self.announcing.then(() => announce(self, change))
}

function endRun(self: Self, key: string, run: Run): void {
  self.runs.delete(key)
  run.place.readers.delete(run.waker)
  run.waker.wake()
}

function startRun(self: Self, key: string, grant: Grant): void {
  const place = self.data.partition(grant)
  if (!place) return
  const run: Run = { grant, place, waker: createWaker(), position: undefined }
  self.runs.set(key, run)
  place.readers.add(run.waker)
  void consumePartition(self, key, run)
}

async function announce(self: Self, change: number): Promise<void> {
  await Promise.all([...self.runs.keys()].map(key => self.inHand.get(key)))
  while (change === self.changes && !self.isStopping) {
    try {
      const owned = [...self.runs.values()].map(({ grant }) => grant)
      await self.options.onAssigned?.(owned.map(({ topic, partition }) => ({ topic, partition })))
      self.announced = change
      return wakeAll(self)
    } catch {
      await pause(self)
    }
  }
}

function wakeAll(self: Self): void {
  for (const run of self.runs.values()) run.waker.wake()
}

async function pause(self: Self): Promise<void> {
  await self.clock.sleep(RETRY_AFTER_MS, self.abort.signal).catch(() => {})
}

async function consumePartition(self: Self, key: string, run: Run): Promise<void> {
  let records: LogRecord[] = []
  const isActive = () => self.runs.get(key) === run && !self.isStopping
  while (isActive()) {
    if (self.announced === self.changes) {
      run.position ??= self.group.committed(run.grant) ?? 0
      const max = self.options.batchMax ?? BATCH_MAX
      // After a rejection the very same records are handed over again (L3).
      if (records.length === 0) records = readFrom(run.place, run.position, max)
    }
    if (self.announced !== self.changes || records.length === 0) {
      await run.waker.wait()
    } else if (await hand(self, key, batchOf(self, key, { run, records }))) {
      run.position = records.at(-1)!.offset + 1
      records = []
    } else {
      await pause(self)
    }
  }
}

async function hand(self: Self, key: string, batch: RecordBatch): Promise<boolean> {
  const work = (async () => self.options.handle(batch))()
  const ended = work.catch(() => {})
  self.inHand.set(key, ended)
  try {
    await work
    return true
  } catch {
    return false
  } finally {
    if (self.inHand.get(key) === ended) self.inHand.delete(key)
  }
}

function batchOf(
  self: Self,
  key: string,
  { run, records }: { run: Run; records: LogRecord[] },
): RecordBatch {
  const { grant } = run
  const isOwned = () => self.runs.get(key) === run && self.group.isCurrent(grant)
  return {
    topic: grant.topic,
    partition: grant.partition,
    records,
    isOwned,
    commit: offset => self.commit(grant, offset, isOwned),
    async heartbeat() {
      if (!isOwned()) throw notOwner(grant)
    },
  }
}

/** What a stale owner is told. */
export function notOwner({ topic, partition }: TopicPartition): AmbitError {
  return new AmbitError('conflict', `${topic}/${partition} was taken away: leave it to its owner`)
}
