/** How readers of the log wait: after a refusal, and to let others have the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '#kernel/ports/clock.ts'

const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 5_000

/** A reader gives way after this much work without a pause. */
const BUSY_MS_MAX = 5

export interface DeliveryPace {
  /** Pauses after a failure, longer each time in a row; returns early when aborted. */
  afterFailure(): Promise<void>
  /** Ends a row of failures, and lets timers and sockets run when it is time. */
  afterSuccess(): Promise<void>
}

/** Pace of one reader. */
export function createDeliveryPace(clock: Pick<Clock, 'sleep'>, signal: AbortSignal): DeliveryPace {
  let pauseMs = RETRY_MS_MIN
  let busySince = performance.now()
  return {
    async afterFailure() {
      await clock.sleep(pauseMs, signal).catch(() => {})
      pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)
      busySince = performance.now()
    },
    async afterSuccess() {
      pauseMs = RETRY_MS_MIN
      if (performance.now() - busySince < BUSY_MS_MAX) return
      await nextTurn()
      busySince = performance.now()
    },
  }
}
