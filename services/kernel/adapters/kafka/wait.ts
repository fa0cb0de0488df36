/** Waiting with an end: pauses that a signal cuts short, waits for a condition, shared calls. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves after `ms`, or at once when `signal` aborts; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

/** Doubles from `firstMs` to `maxMs`; `reset` after a success. */
export function createBackoff(firstMs: number, maxMs: number): { next(): number; reset(): void } {
  let ms = firstMs
  return {
    next() {
      const current = ms
      ms = Math.min(maxMs, ms * 2)
      return current
    },
    reset() {
      ms = firstMs
    },
  }
}

/** Waiters that are looked at again whenever something may have changed. */
export interface Condition {
  /** Resolves once `holds` is true; rejects with `signal`'s reason. */
  wait(holds: () => boolean, signal?: AbortSignal): Promise<void>
  changed(): void
}

/** A condition variable for one event loop. */
export function createCondition(): Condition {
  const waiters = new Set<{ holds(): boolean; resolve(): void }>()
  return {
    async wait(holds, signal) {
      signal?.throwIfAborted()
      if (holds()) return
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const waiter = { holds, resolve }
      const abort = () => reject(signal?.reason)
      waiters.add(waiter)
      signal?.addEventListener('abort', abort, { once: true })
      try {
        await promise
      } finally {
        waiters.delete(waiter)
        signal?.removeEventListener('abort', abort)
      }
    },
    changed() {
      for (const waiter of [...waiters]) if (waiter.holds()) waiter.resolve()
    },
  }
}

/**
 * Calls that come while one runs share the next one, so that each caller sees a run that began
 * after its call.
 */
export function createShared<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  let next: Promise<T> | undefined
  const start = (): Promise<T> => {
    next = undefined
    const current = run().finally(() => {
      if (running === current) running = undefined
    })
    running = current
    return current
  }
  return () => {
    if (!running) return start()
    next ??= running.then(start, start)
    return next
  }
}
