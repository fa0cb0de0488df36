/** The machine's clock and timers. */
import { randomBytes } from 'node:crypto'
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

export const systemIds: Ids = { random: () => randomBytes(16).toString('hex') }
