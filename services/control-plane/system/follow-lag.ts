/** Keeps the books of scheduler and poller in step with the topics that those two write. */
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Calendars } from '#kernel/host/follow-calendars.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { createObservationLagBook, type ObservationLag } from './observation-lag.ts'
import { createScheduleLagBook, type ScheduleLag } from './schedule-lag.ts'

export interface FollowLagWorld {
  log: EventLog
  codec: RecordCodec
  /** Holds `subscriptions`. */
  tables: LiveTables
  /** Holds `cursors`. */
  cursors: LiveTables
  calendars: Pick<Calendars, 'book'>
}

export interface FollowedLag {
  /** What is known now; `nowMs` is ms since the epoch. */
  scheduler(nowMs: number): Promise<ScheduleLag>
  poller(nowMs: number): ObservationLag
  stop(): Promise<void>
}

/** Begins to follow; it catches up in the background. */
export async function followLag(world: FollowLagWorld): Promise<FollowedLag> {
  const { log, codec, tables, cursors, calendars } = world
  const schedules = createScheduleLagBook({
    findAnchors: calendars.book.find,
    isDeleted: key => tables.get('subscriptions', key)?.deleted === true,
  })
  const observations = createObservationLagBook()
  tables.onChange(({ key, document: { kind, doc } }) => {
    if (kind !== 'subscription') return
    schedules.setSubscription(key, doc as Subscription)
    observations.setSubscription(key, doc as Subscription)
  })
  cursors.onChange(({ key, document: { deleted, doc, updatedAt } }) => {
    const cursor = { state: doc as ObservationState, updatedAt }
    observations.setCursor(key, deleted ? undefined : cursor)
  })
  const following = await log.follow({
    topics: ['schedule.marks'],
    from: 'beginning',
    onRecords: records => {
      for (const { key, value } of records) {
        const mark = value && readable(() => codec.decode('schedule-mark', value))
        if (key && mark) schedules.setMark(Buffer.from(key).toString(), mark)
      }
    },
  })
  return { scheduler: schedules.state, poller: observations.state, stop: () => following.stop() }
}
