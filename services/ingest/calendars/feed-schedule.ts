/** When a feed is fetched next. Pure. */
import type { FeedState } from '#kernel/domain/calendar/calendar.ts'
import { hashId } from '#kernel/domain/ids.ts'

const MINUTE_MS = 60_000
/** Longest pause after failures, unless the feed's own interval is longer. */
const BACKOFF_MAX_MS = 6 * 60 * MINUTE_MS
/** Failures in a row after which the owner is told. */
export const FAILURES_TOLD = 5

export interface FeedTiming {
  /** Names the feed, so that feeds of one interval do not meet. */
  key: string
  version: number
  everyMs: number
}

/**
 * The instant of the next fetch, ms since the epoch. After a success the interval and up to a tenth
 * more; after failures a minute, doubled each time, a fifth more or less.
 */
export function nextFetchAt(feed: FeedTiming, state: FeedState | undefined): number {
  if (!state || state.calendarVersion !== feed.version || state.lastFetchAt === null) return 0
  const spread = fraction(`${feed.key} ${state.lastFetchAt}`)
  if (state.failures === 0) return state.lastFetchAt + feed.everyMs * (1 + spread / 10)
  const doubled = MINUTE_MS * 2 ** Math.min(20, state.failures - 1)
  const pause = Math.min(doubled, Math.max(feed.everyMs, BACKOFF_MAX_MS))
  return state.lastFetchAt + pause * (0.8 + 0.4 * spread)
}

/** Is it due now? A clock that was set back does not stop a feed. */
export function isFetchDue(feed: FeedTiming, state: FeedState | undefined, now: number): boolean {
  const isFromTheFuture = state?.lastFetchAt !== undefined && (state.lastFetchAt ?? 0) > now
  return isFromTheFuture || nextFetchAt(feed, state) <= now
}

/** A number from 0 to 1 that a text decides. */
function fraction(text: string): number {
  return Number.parseInt(hashId('j', text).slice(2, 10), 16) / 0xffff_ffff
}
