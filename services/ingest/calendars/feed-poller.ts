/**
 * Polls feeds and clears calendars, each by the owner of its partition of `sources`: replicas share
 * the work, and one feed is asked by one of them.
 */
import type { Calendar } from '#kernel/domain/calendar/calendar.ts'
import { partitionOf, splitTenantKey } from '#kernel/domain/ids.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import { type AnchorNeeds, followAnchorNeeds } from './anchor-needs.ts'
import type { CalendarPlace } from './calendar-store.ts'
import { isFetchDue } from './feed-schedule.ts'
import { isOver, objectWrite, PAST_KEPT_MS } from './import-objects.ts'
import { type FeedWorld, pollFeed } from './poll-feed.ts'

export interface FeedPollerWorld extends FeedWorld {
  /** Holds `sources` and `subscriptions`. */
  tables: LiveTables
  logger: Logger
}

const TICK_MS = 1000
const CLEAR_EVERY_MS = 3_600_000
/** Feeds that are asked at the same time. */
const POLLS_MAX = 4
/** How long a deletion stays readable before it is forgotten, ms. */
const DELETED_KEPT_MS = 30 * 86_400_000

const keyOf = ({ tenant, calendar }: CalendarPlace) => objectKey(tenant, 'calendar', calendar)

/** Starts polling; resolves once the group was joined. `stop` waits for polls in hand. */
export async function startFeedPoller(world: FeedPollerWorld): Promise<{ stop(): Promise<void> }> {
  const { log, clock, logger } = world
  const stopping = new AbortController()
  const polling = new Map<string, Promise<void>>()
  let owned = new Set<number>()
  const consumption = await log.consume({
    group: 'calendar-feeds',
    topics: ['sources'],
    onAssigned: async partitions => {
      owned = new Set(partitions.map(({ partition }) => partition))
    },
    // Only the ownership matters; the feeds themselves are in the table.
    handle: batch => batch.commit((batch.records.at(-1)?.offset ?? -1) + 1),
  })
  const partitions = (await log.endOffsets(['sources'])).length
  const isOwn = (place: CalendarPlace) => owned.has(partitionOf(keyOf(place), partitions))
  const start = (place: CalendarPlace) => {
    const key = keyOf(place)
    const poll = pollFeed(world, place)
      .catch(error => logger.warn({ err: error, tenant: place.tenant }, 'polling a feed failed'))
      .finally(() => polling.delete(key))
    polling.set(key, poll)
  }
  const feeds = feedsIn(world.tables)
  const needs = followAnchorNeeds(world.tables)
  let clearAt = clock.now() + CLEAR_EVERY_MS
  const ticking = (async () => {
    while (!stopping.signal.aborted) {
      for (const [key, place] of feeds) {
        if (polling.size >= POLLS_MAX) break
        if (!polling.has(key) && isOwn(place) && isDue(world, place)) start(place)
      }
      if (clock.now() >= clearAt) {
        clearAt = clock.now() + CLEAR_EVERY_MS
        await clearCalendars({ ...world, needs }, isOwn).catch(error =>
          logger.warn({ err: error }, 'clearing calendars failed; will be retried'),
        )
      }
      await clock.sleep(TICK_MS, stopping.signal).catch(() => {})
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await ticking
      await Promise.all(polling.values())
      await consumption.stop()
    },
  }
}

/** Feeds as they come and go, by key. */
function feedsIn(tables: LiveTables): Map<string, CalendarPlace> {
  const feeds = new Map<string, CalendarPlace>()
  tables.onChange(({ topic, key, document }) => {
    if (topic !== 'sources' || document.kind !== 'calendar') return
    const [tenant = '', , calendar = ''] = splitTenantKey(key)
    const isFeed = !document.deleted && (document.doc as Calendar).kind === 'feed'
    if (isFeed) feeds.set(key, { tenant, calendar })
    else feeds.delete(key)
  })
  return feeds
}

function isDue({ directory, store, clock }: FeedPollerWorld, place: CalendarPlace): boolean {
  const calendar = directory.calendar(place.tenant, place.calendar)
  if (!calendar || calendar.everyMs === null) return false
  const { version, everyMs } = calendar
  return isFetchDue({ key: keyOf(place), version, everyMs }, store.feed(place), clock.now())
}

/**
 * Bounds what calendars keep: meetings that were over long ago, and were told long ago, are
 * deleted, unless a subscription is still to be told of them; deletions are forgotten once
 * everybody has seen them, and nobody names what was deleted.
 */
export async function clearCalendars(
  { store, clock, needs }: Pick<FeedPollerWorld, 'store' | 'clock'> & { needs: AnchorNeeds },
  isOwn: (place: CalendarPlace) => boolean,
): Promise<void> {
  await needs.barrier()
  for (const place of store.places().filter(isOwn)) {
    const before = clock.now() - PAST_KEPT_MS - needs.longestAfterMs(place)
    await store.exclusively(place, async () => {
      const over = [...store.objects(place).values()].filter(
        object => store.writtenAt(place, object.uid) < before && isOver(object, before),
      )
      await store.write(
        place,
        over.map(({ uid }) => objectWrite(uid, null)),
      )
    })
  }
  const isFree = (place: CalendarPlace, uid: string) => isOwn(place) && !needs.isNamed(place, uid)
  await store.forget(clock.now() - DELETED_KEPT_MS, isFree)
}
