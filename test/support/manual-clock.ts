/** Time that only a test moves; sleepers wake in order and are let to act in between. */
import type { Clock } from '#kernel/ports/clock.ts'

export interface ManualClock extends Clock {
  /** Moves time on, waking everybody due on the way. */
  advance(ms: number): Promise<void>
  /** Moves time on in small steps until the condition holds; fails after `maxMs`. */
  until(condition: () => boolean, maxMs?: number): Promise<void>
  /** Resolves, or rejects, like a call that needs time to go on; fails after `maxMs`. */
  during<T>(call: Promise<T>, maxMs?: number): Promise<T>
}

interface Sleeper {
  at: number
  wake(): void
}

const STEP_MS = 10

export function createManualClock(startMs: number): ManualClock {
  let now = startMs
  const sleepers = new Set<Sleeper>()
  const wakeNext = async (until: number): Promise<boolean> => {
    const due = [...sleepers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
    if (!due) return false
    now = Math.max(now, due.at)
    sleepers.delete(due)
    due.wake()
    await settled()
    return true
  }
  const clock: ManualClock = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const sleeper: Sleeper = { at: now + ms, wake: resolve }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', () => {
          if (sleepers.delete(sleeper)) reject(signal.reason)
        })
      }),
    async advance(ms) {
      const until = now + ms
      await settled()
      while (await wakeNext(until));
      now = until
      await settled()
    },
    async until(condition, maxMs = 30_000) {
      const end = now + maxMs
      await settled()
      while (!condition()) {
        if (now >= end) throw new Error(`nothing of the kind within ${maxMs} ms`)
        await clock.advance(STEP_MS)
      }
    },
    async during(call, maxMs) {
      let isDone = false
      const done = () => {
        isDone = true
      }
      call.then(done, done)
      await clock.until(() => isDone, maxMs)
      return call
    },
  }
  return clock
}

/** Lets everything that can run now run: promises, and what they lead to. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
}
