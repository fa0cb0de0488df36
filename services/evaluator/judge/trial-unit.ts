/**
 * The unit of work of a dry run: money is reserved and settled as always, but neither the cache
 * nor the count of attempts is kept, so that trying a condition changes nothing but usage.
 */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'

/** Attempts by key, of one dry run; they keep its usage records apart. */
export type TrialMemory = Map<string, unknown>

const ATTEMPTS = 'judged/'
const CACHE = 'verdict/'

/** Writes of attempts go to `next`; the caller keeps them once the commit took effect. */
export function trialUnit(unit: UnitOfWork, memory: TrialMemory, next: TrialMemory): UnitOfWork {
  return {
    ...unit,
    get: <T>(key: string) =>
      key.startsWith(ATTEMPTS)
        ? ((next.get(key) ?? memory.get(key)) as T | undefined)
        : unit.get<T>(key),
    put(key, value, options) {
      if (key.startsWith(ATTEMPTS)) next.set(key, value)
      else if (!key.startsWith(CACHE)) unit.put(key, value, options)
    },
  }
}
