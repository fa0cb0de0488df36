/**
 * The scheduler's one loop and one timer. Time is the store's: one clock for all owners, which
 * never goes back, so that no process clock fires anything early (F15).
 *
 * - R1 Before anything is decided after a break (a pause, a failure, a new partition), what
 *   others may have written meanwhile is taken in.
 * - R2 Nothing is decided for partitions that are not read to their end.
 */

import { createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { takeCalendarRecord } from '#kernel/domain/calendar/take-calendar-record.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, Following, LogRecord } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { createDispatcher, type Dispatcher, type DispatcherWorld, settleAll } from './dispatcher.ts'
import { createPartitionReader, type PartitionReader } from './partition-reader.ts'
import type { ScheduleEntry } from './schedule-entry.ts'
import { createScheduleIndex, type ScheduleIndex } from './schedule-index.ts'
import { lostAnchorOutputs } from './schedule-notices.ts'

export interface SchedulerWorld {
  log: EventLog
  store: Pick<StateStore, 'load'>
  clock: Clock
  codec: RecordCodec
  writer: RecordWriter
  logger: Logger
  ownerOf: DispatcherWorld['ownerOf']
  /** Version of the zone database. */
  tz: string
  onDispatched?: DispatcherWorld['onDispatched']
  /** Longest sleep between two looks, ms. Default 1000. */
  idleMs?: number
}

export interface RunningScheduler {
  /** Partitions that are read and planned, and the schedules in them. */
  status(): { partitions: number[]; schedules: number }
  stop(): Promise<void>
}

/** A loop that was away for longer has to learn what others did (R1). */
const BREAK_MS = 5000
const RETRY_MS = 200
/** Batches that are being appended at the same time. */
const AT_ONCE = 2
/** Marks may be owed for so long. */
const MARK_EVERY_MS = 500
/** Where the store's time is read; it is no tenant's. */
const CLOCK_TENANT = 'ambit'

interface Self {
  world: SchedulerWorld
  index: ScheduleIndex
  reader: PartitionReader
  dispatcher: Dispatcher
  book: ReturnType<typeof createCalendarBook>
  /** Entries that are new, or whose calendar changed: their meeting may be gone. */
  suspects: Set<ScheduleEntry>
  /** Version at which the suspension of an entry was asked for. */
  asked: WeakMap<ScheduleEntry, number>
  alarm: AbortController
  isStopped: boolean
  isInDoubt: boolean
  watchedSinceMs: number
  /** When the loop should look again at the latest. */
  lastMs: number
  markedMs: number
  knownPartitions: ReadonlySet<number>
  calendars: Following | undefined
}

/** Joins the owners of `subscriptions` partitions; resolves once subscribed. */
export async function runScheduler(world: SchedulerWorld): Promise<RunningScheduler> {
  const self = build(world)
  const calendars = await followCalendars(self)
  self.calendars = calendars
  const consumption = await world.log.consume({
    group: 'scheduler',
    topics: ['subscriptions'],
    onAssigned: async partitions => {
      self.reader.assign(partitions.map(({ partition }) => partition))
    },
    // The group only shares the partitions out; what they hold is followed from its beginning.
    handle: batch => batch.commit((batch.records.at(-1)?.offset ?? -1) + 1),
  })
  const looping = loop(self)
  return {
    status: () => ({ partitions: [...self.reader.owned()], schedules: self.index.size }),
    async stop() {
      self.isStopped = true
      self.alarm.abort()
      await looping
      await consumption.stop()
      await self.reader.stop()
      await calendars.stop()
    },
  }
}

function build(world: SchedulerWorld): Self {
  const book = createCalendarBook()
  const index = createScheduleIndex(book.find)
  const findAnchors = book.find
  const readCalendars = async () => self.calendars?.barrier()
  const dispatcher = createDispatcher({ ...world, index, findAnchors, readCalendars })
  const behind = (key: string) => {
    const entry = index.get(key)
    if (entry) dispatcher.owe(entry)
  }
  const wake = () => self.alarm.abort()
  const reader = createPartitionReader({
    ...{ ...world, index, onMarkBehind: behind, onChange: wake },
    onEntry: entry => suspect(self, entry),
  })
  const self: Self = {
    ...{ world, index, reader, dispatcher, book },
    suspects: new Set(),
    asked: new WeakMap(),
    alarm: new AbortController(),
    isStopped: false,
    isInDoubt: true,
    ...{ watchedSinceMs: 0, lastMs: 0, markedMs: 0 },
    knownPartitions: new Set(),
    calendars: undefined,
  }
  return self
}

/** Every calendar, from its beginning; resolves when they are there. */
async function followCalendars(self: Self): Promise<Following> {
  const following = await self.world.log.follow({
    topics: ['calendar.objects'],
    from: 'beginning',
    onRecords: records => {
      for (const record of records) takeCalendar(self, record)
      self.alarm.abort()
    },
  })
  await following.barrier()
  return following
}

function takeCalendar(self: Self, record: LogRecord): void {
  const { world, book, index } = self
  const decode = (value: Uint8Array) => world.codec.decode('table-document', value)
  const changed = takeCalendarRecord(book, record, decode)
  if (!changed) return
  const { tenant, calendar } = changed
  index.calendarChanged(tenant, calendar)
  for (const entry of index.anchoredIn(tenant, calendar)) suspect(self, entry)
}

function suspect({ suspects }: Self, entry: ScheduleEntry): void {
  if (entry.kind === 'anchor') suspects.add(entry)
}

async function loop(self: Self): Promise<void> {
  const { world } = self
  while (!self.isStopped) {
    try {
      await round(self)
    } catch (error) {
      self.isInDoubt = true
      world.logger.warn({ err: error }, 'schedules could not be dispatched; will be retried')
      await world.clock.sleep(RETRY_MS)
    }
  }
}

async function round(self: Self): Promise<void> {
  const { world, index, dispatcher, reader } = self
  self.alarm = new AbortController()
  let nowMs = await storeNow(self)
  if (self.lastMs === 0) self.lastMs = nowMs
  const isNews = reader.owned() !== self.knownPartitions
  if (self.isInDoubt || isNews || nowMs - self.lastMs > BREAK_MS) nowMs = await comeBack(self)
  self.lastMs = nowMs
  await suspendLost(self, nowMs)
  await dispatchDue(self)
  const isMarkTime = nowMs - self.markedMs >= MARK_EVERY_MS
  if (dispatcher.owed > 0 && isMarkTime) {
    await dispatcher.mark(nowMs)
    self.markedMs = nowMs
  }
  const owedMs = dispatcher.owed > 0 ? MARK_EVERY_MS : Number.POSITIVE_INFINITY
  const untilMs = Math.min(index.nextMs() - nowMs, owedMs, world.idleMs ?? 1000)
  if (self.isStopped || untilMs <= 0) return
  const sleepMs = Math.max(1, untilMs)
  self.lastMs = nowMs + sleepMs
  await world.clock.sleep(sleepMs, self.alarm.signal).catch(() => {})
}

/** Learns what happened while nobody looked; from here on somebody watches. */
async function comeBack(self: Self): Promise<number> {
  const { reader, index } = self
  self.knownPartitions = reader.owned()
  await self.calendars?.barrier()
  await reader.catchUp()
  for (const entry of index.all()) suspect(self, entry)
  const nowMs = await storeNow(self)
  self.watchedSinceMs = nowMs
  self.isInDoubt = false
  return nowMs
}

async function storeNow({ world }: Self): Promise<number> {
  return (await world.store.load({ tenant: CLOCK_TENANT, documents: [] })).now
}

/**
 * Everything due, a few batches at a time; the next is decided while one is appended. An append
 * that took so long that somebody else may have come ends the round.
 */
async function dispatchDue(self: Self): Promise<void> {
  const { dispatcher, watchedSinceMs } = self
  let running: Promise<void>[] = []
  try {
    for (;;) {
      const nowMs = await storeNow(self)
      if (self.isStopped || nowMs - self.lastMs > BREAK_MS) return
      self.lastMs = nowMs
      const begun = dispatcher.begin({ nowMs, watchedSinceMs })
      if (!begun) return
      running.push(begun)
      // Failures are told below, after all have ended.
      begun.catch(() => {})
      if (running.length >= AT_ONCE) {
        await running[0]
        running = running.slice(1)
      }
      if (!dispatcher.mustMark()) continue
      await Promise.all(running)
      await dispatcher.mark(nowMs)
    }
  } finally {
    await settleAll(running)
  }
}

/**
 * Asks for the suspension of subscriptions whose meeting is gone, once for each of their versions:
 * a request that an edit overtook is void. Calendars are read to their end first: a meeting that is
 * only on its way is not gone.
 */
async function suspendLost(self: Self, nowMs: number): Promise<void> {
  const { world, asked } = self
  if (self.suspects.size === 0) return
  if (lostOf(self).length > 0) await self.calendars?.barrier()
  const lost = lostOf(self).map(each => ({ ...each, version: each.entry.version }))
  const { suspects } = self
  // What comes to light from here on is looked at in the next round.
  self.suspects = new Set()
  try {
    const outputs = lost.flatMap(({ entry, why, told }) => {
      if (!told) self.suspects.add(entry)
      return told ? lostAnchorOutputs(entry, { ...told, why, nowMs }) : []
    })
    if (outputs.length > 0) await world.log.append(outputs.map(each => world.writer.encode(each)))
    for (const { entry, told, version } of lost) if (told) asked.set(entry, version)
  } catch (error) {
    for (const entry of suspects) self.suspects.add(entry)
    throw error
  }
}

/** Of partitions that are read to their end; whoever is not known yet is told later. */
function lostOf({ world, index, book, reader, suspects, asked }: Self) {
  return [...suspects].flatMap(entry => {
    const { tenant, id, partition, schedule } = entry
    if (!index.holds(entry) || !reader.owned().has(partition)) return []
    if (asked.get(entry) === entry.version || !('anchor' in schedule)) return []
    const why = book.lost(tenant, schedule.anchor)
    return why ? [{ entry, why, told: world.ownerOf(tenant, id) }] : []
  })
}
