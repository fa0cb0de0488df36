/** A clock that a test moves, and that says when somebody sleeps: for tests with real sockets. */
export interface SteppedClock {
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Moves on and wakes who is due, earliest first. */
  advance(ms: number): void
  /** Resolves once somebody sleeps for exactly that long, from whenever on. */
  sleeping(ms: number): Promise<void>
}

interface Sleeper {
  at: number
  ms: number
  wake(): void
}

export function steppedClock(start = 0): SteppedClock {
  let now = start
  const sleepers = new Set<Sleeper>()
  const waiting = new Set<() => void>()
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const sleeper = { at: now + ms, ms, wake: resolve }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', () => {
          if (sleepers.delete(sleeper)) reject(signal.reason)
        })
        for (const look of waiting) look()
      }),
    advance(ms) {
      now += ms
      const due = [...sleepers].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)
      for (const sleeper of due) {
        sleepers.delete(sleeper)
        sleeper.wake()
      }
    },
    sleeping: ms =>
      new Promise(resolve => {
        const look = () => {
          if (![...sleepers].some(sleeper => sleeper.ms === ms)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}
