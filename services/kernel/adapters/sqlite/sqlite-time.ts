/**
 * The store's time (S5): the wall clock as it was when the file was opened, moved on by a clock
 * that nobody can set. A wall clock that jumps while the process runs changes nothing (I9).
 */

/** Sleep of the machine below this is not told apart from the coarseness of `uptimeMs`. */
const SLEEP_MS_MIN = 1_000

/** How often the uptime is asked for; reading it costs a system call. */
const UPTIME_EVERY_MS = 500

export interface SqliteTimeOptions {
  /** The wall clock at the start, ms since the epoch. */
  wallMs: number
  /** The highest time that was ever stored; the new time starts no lower. */
  floorMs: number
  /** Never goes back; may stand still while the machine sleeps. */
  monotonicMs(): number
  /** Time since the machine started, sleep included; coarse. */
  uptimeMs(): number
}

/**
 * Answers ms since the epoch, an integer that never falls. The time a laptop slept is added,
 * since the monotonic clock does not count it.
 */
export function createSqliteTime(options: SqliteTimeOptions): () => number {
  const { monotonicMs, uptimeMs } = options
  let offset = Math.max(options.wallMs, options.floorMs) - monotonicMs()
  let asleep = uptimeMs() - monotonicMs()
  let checkedAt = monotonicMs()
  let last = 0
  return () => {
    const elapsed = monotonicMs()
    if (elapsed - checkedAt >= UPTIME_EVERY_MS) {
      checkedAt = elapsed
      const slept = uptimeMs() - elapsed - asleep
      if (slept >= SLEEP_MS_MIN) {
        offset += slept
        asleep += slept
      }
    }
    last = Math.max(last, Math.floor(elapsed + offset))
    return last
  }
}
