/**
 * Time and timers of one process. `now` may jump; durations do not. Nothing that decides about
 * a delivery reads it: decisions take the store's time.
 */
export interface Clock {
  /** Ms since the epoch, as this process believes. */
  now(): number
  /** Resolves after a duration; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}
