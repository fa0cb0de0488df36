/** When an observation is polled next. Ms throughout; `random` is uniform in 0 to 1. */

/** Nothing is polled more often than this. */
const FLOOR_MS = 1000
/** Part of an interval over which polls are spread. */
const JITTER = 0.1
/** Tries of one poll, the first included. */
export const TRIES_MAX = 3
/** Failed polls in a row that suspend the dependents. */
export const FAILURES_MAX = 5

const RETRY_FIRST_MS = 500
const PROBE_FIRST_MS = 30_000
const PROBE_LAST_MS = 3_600_000

/** The shortest interval that a live subscriber wants, and never less than the floor. */
export function intervalOf(wanted: readonly { everyMs: number }[]): number {
  return Math.max(FLOOR_MS, Math.min(...wanted.map(({ everyMs }) => everyMs)))
}

/** A place in time: the beat without jitter, and when to act on it. */
export interface Beat {
  base: number
  at: number
}

/**
 * The next beat. Jitter moves a poll within its interval and never adds up, so that there is one
 * poll in each; a beat that was missed is not made up for.
 */
export function nextBeat(
  previous: Beat,
  interval: number,
  { now, random }: { now: number; random: number },
): Beat {
  const due = previous.base + interval
  const base = due + interval <= now ? now : due
  const at = base + Math.round(JITTER * interval * random)
  return { base, at: Math.max(at, now + FLOOR_MS) }
}

/** Within the interval, and soon: a process that starts polls everything, but not at once. */
export function firstBeat(
  { interval, polledAt }: { interval: number; polledAt: number | null },
  { now, random }: { now: number; random: number },
): Beat {
  const spread = Math.round(Math.min(interval, 5000) * JITTER * random)
  if (polledAt === null) return { base: now, at: now + spread }
  const base = Math.min(Math.max(now, polledAt + interval), now + interval)
  return { base, at: base + spread }
}

/** Wait before try `n` of a poll, counted from 1 for the first retry. */
export function retryDelay(n: number, random: number): number {
  return RETRY_FIRST_MS * 2 ** (n - 1) * (0.5 + random / 2)
}

/** Wait before the next probe of a source whose dependents are suspended. */
export function probeDelay(probes: number, random: number): number {
  const delay = Math.min(PROBE_LAST_MS, PROBE_FIRST_MS * 2 ** Math.min(probes, 10))
  return delay * (0.75 + random / 2)
}
