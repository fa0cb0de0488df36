import type { Clock } from '#kernel/ports/clock.ts'

/** Wakes claims that wait for a mailbox. */
export interface MailboxBell {
  ring(mailbox: string): void
  /** Resolves at the next ring, after `ms`, or when the signal aborts. */
  wait(mailbox: string, ms: number, signal?: AbortSignal): Promise<void>
}

export function createMailboxBell(clock: Clock): MailboxBell {
  const waiting = new Map<string, Set<() => void>>()
  return {
    ring(mailbox) {
      for (const wake of waiting.get(mailbox) ?? []) wake()
    },
    async wait(mailbox, ms, signal) {
      const rung = new AbortController()
      const wake = () => rung.abort()
      const here = waiting.get(mailbox) ?? new Set()
      waiting.set(mailbox, here.add(wake))
      try {
        await clock.sleep(ms, signal ? AbortSignal.any([signal, rung.signal]) : rung.signal)
      } catch {
        // Rung or given up: the caller looks which.
      } finally {
        here.delete(wake)
        if (here.size === 0) waiting.delete(mailbox)
      }
    },
  }
}
