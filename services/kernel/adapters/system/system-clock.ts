/** The machine's clock and timers. */
import { randomFillSync } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Ids } from '#kernel/ports/ids.ts'

/** Longest duration of one timer, ms; Node ends a longer one at once. */
const TIMER_MAX_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    let leftMs = Math.max(0, ms)
    do {
      await delay(Math.min(leftMs, TIMER_MAX_MS), undefined, { signal }).catch(error => {
        // Node wraps the reason in an error of its own.
        throw signal?.aborted ? signal.reason : error
      })
      leftMs -= TIMER_MAX_MS
    } while (leftMs > 0)
  },
}

const ID_BYTES = 16
/** Drawn many at a time: asking for 16 bytes costs ten times as much as taking them from here. */
const pool = Buffer.alloc(256 * ID_BYTES)
let used = pool.length

export const systemIds: Ids = {
  random() {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += ID_BYTES
    return pool.toString('hex', used - ID_BYTES, used)
  },
}
