/**
 * How many things happened in the last so many ms, in bounded space: neighbours closer than a
 * 64th of the window share one entry and leave with the youngest of them. The count is therefore
 * never too small, and exact while things are rarer than that.
 */

/** Pairs of (time of the youngest, how many), oldest first. */
export type SlidingWindow = readonly (readonly [at: number, count: number])[]

const ENTRIES = 64

/** Things younger than `windowMs` at `now`. */
export function countIn(window: SlidingWindow, now: number, windowMs: number): number {
  let sum = 0
  for (const [at, count] of window) if (at > now - windowMs) sum += count
  return sum
}

/** The window with one more thing, and without what is too old to matter. */
export function addTo(window: SlidingWindow, now: number, windowMs: number): SlidingWindow {
  const kept = window.filter(([at]) => at > now - windowMs)
  const last = kept.at(-1)
  const width = Math.ceil(windowMs / ENTRIES)
  const sharesEntry = last && Math.floor(last[0] / width) === Math.floor(now / width)
  if (sharesEntry) kept[kept.length - 1] = [Math.max(now, last[0]), last[1] + 1]
  else kept.push([now, 1])
  return kept
}

/** First instant at which fewer than `max` things are in the window; 0 when that is so now. */
export function freeAt(
  window: SlidingWindow,
  now: number,
  { windowMs, max }: { windowMs: number; max: number },
): number {
  let excess = countIn(window, now, windowMs) - max
  if (excess < 0) return 0
  for (const [at, count] of window) {
    if (at <= now - windowMs) continue
    excess -= count
    if (excess < 0) return at + windowMs
  }
  return now
}
