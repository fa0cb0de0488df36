/**
 * Keeps the index in step with the partitions that this process owns: reads `subscriptions` and
 * `schedule.marks` from the beginning when one comes, follows them while it stays, forgets it
 * when it goes.
 *
 * - P1 A partition is planned only after everything that lay in the log was read.
 * - P2 What was fired and not yet marked is known: the events themselves, in the partition of
 *   their subscription, are read too. So a crash between an event and its mark tells no lie.
 */
import { readable } from '#kernel/domain/readable.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, Following, LogRecord } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { ScheduleEntry } from './schedule-entry.ts'
import type { ScheduleIndex } from './schedule-index.ts'

export interface PartitionReaderWorld {
  log: EventLog
  codec: RecordCodec
  clock: Clock
  logger: Logger
  index: ScheduleIndex
  /** Told the key of a mark that was overtaken by an older one of a former owner (F28). */
  onMarkBehind(key: string): void
  /** Told an entry that is new, or whose subscription has a new version. */
  onEntry(entry: ScheduleEntry): void
  /** Told when there may be something new to look at. */
  onChange(): void
}

export interface PartitionReader {
  /** Owns exactly these from now on; reading what is new goes on in the background. */
  assign(partitions: number[]): void
  /** Partitions that are read and planned; another set after every change. */
  owned(): ReadonlySet<number>
  /** Takes in what other owners may have written while this one was away or in doubt. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

/** Events of a partition that may be unmarked, more than any owner leaves so. */
export const TAIL = 25_000
const RETRY_MS = 500
const TABLES = ['subscriptions', 'schedule.marks']
const EVENTS = ['ingress.time', 'ingress.calendar']

interface Reading {
  partitions: ReadonlySet<number>
  following: Following
}

interface Self {
  world: PartitionReaderWorld
  /** Given to this process. */
  wanted: Set<number>
  /** Read and planned. */
  owned: Set<number>
  readings: Reading[]
  isStopped: boolean
}

export function createPartitionReader(world: PartitionReaderWorld): PartitionReader {
  const self: Self = {
    world,
    wanted: new Set(),
    owned: new Set(),
    readings: [],
    isStopped: false,
  }
  let loading: Promise<void> = Promise.resolve()
  return {
    assign(partitions) {
      self.wanted = new Set(partitions)
      self.owned = self.owned.intersection(self.wanted)
      world.index.keepOnly(self.wanted)
      loading = loading.then(() => load(self))
    },
    owned: () => self.owned,
    async catchUp() {
      await Promise.all(self.readings.map(({ following }) => following.barrier()))
      await readTail(self, [...self.owned])
    },
    async stop() {
      self.isStopped = true
      self.wanted.clear()
      await loading
      for (const { following } of self.readings) await following.stop()
    },
  }
}

/** Reads what is new until it succeeds; drops readings that nobody needs any more. */
async function load(self: Self): Promise<void> {
  const { world, wanted } = self
  const isUnused = ({ partitions }: Reading) => wanted.isDisjointFrom(partitions)
  for (const { following } of self.readings.filter(isUnused)) await following.stop()
  self.readings = self.readings.filter(reading => !isUnused(reading))
  while (!self.isStopped) {
    const fresh = self.wanted.difference(self.owned)
    if (fresh.size === 0) return
    try {
      await readFresh(self, fresh)
    } catch (error) {
      world.logger.warn({ err: error }, 'reading schedules failed; will be retried')
      await world.clock.sleep(RETRY_MS)
    }
  }
}

async function readFresh(self: Self, fresh: ReadonlySet<number>): Promise<void> {
  const { log, index, logger, clock, onChange } = self.world
  const startedAt = clock.now()
  const following = await log.follow({
    topics: TABLES,
    partitions: [...fresh],
    from: 'beginning',
    onRecords: records => {
      for (const record of records) if (self.wanted.has(record.partition)) take(self.world, record)
      onChange()
    },
  })
  self.readings.push({ partitions: fresh, following })
  try {
    await following.barrier(600_000)
    await readTail(self, [...fresh])
  } catch (error) {
    self.readings = self.readings.filter(reading => reading.following !== following)
    await following.stop()
    throw error
  }
  const still = fresh.intersection(self.wanted)
  index.ready(still)
  self.owned = self.owned.union(still)
  const tookMs = clock.now() - startedAt
  logger.info({ partitions: [...still], schedules: index.size, tookMs }, 'schedules are planned')
  onChange()
}

/** The newest events of partitions are marks themselves (P2). */
async function readTail({ world }: Self, partitions: number[]): Promise<void> {
  if (partitions.length === 0) return
  const { log } = world
  const ends = await log.endOffsets(EVENTS)
  const following = await log.follow({
    topics: EVENTS,
    partitions,
    from: { offsets: ends.map(end => ({ ...end, offset: Math.max(0, end.offset - TAIL) })) },
    onRecords: records => {
      for (const record of records) takeEvent(world, record)
    },
  })
  try {
    await following.barrier()
  } finally {
    await following.stop()
  }
}

function take(world: PartitionReaderWorld, record: LogRecord): void {
  const { key, value, partition } = record
  if (!key || !value) return
  const name = Buffer.from(key).toString()
  if (record.topic === 'schedule.marks') {
    const mark = readable(() => world.codec.decode('schedule-mark', value))
    if (mark && world.index.setMark(name, mark)) world.onMarkBehind(name)
    return
  }
  const document = readable(() => world.codec.decode('table-document', value))
  if (document?.kind !== 'subscription') return
  const subscription = document.doc as Subscription
  const entry = world.index.setSubscription(subscription, { key: name, partition })
  if (entry) world.onEntry(entry)
}

function takeEvent({ codec, index }: PartitionReaderWorld, { key, value }: LogRecord): void {
  if (!key || !value) return
  const event = readable(() => codec.decode('event', value))
  const { time, schedulerevision: revision } = event?.attributes ?? {}
  if (typeof time !== 'string' || typeof revision !== 'string') return
  index.setMark(Buffer.from(key).toString(), { revision, decidedMs: Date.parse(time), gaps: [] })
}
