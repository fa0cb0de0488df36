import { NotLoaded, type UnitOfWork } from './unit-of-work.ts'

/** Asks for all missing documents at once, so that the host loads them in one round trip. */
export function needAll(unit: UnitOfWork, keys: readonly string[]): void {
  const missing = keys.filter(key => !isLoaded(() => unit.version(key)))
  if (missing.length > 0) throw new NotLoaded(missing, [])
}

/** The same for counters. */
export function needCounters(unit: UnitOfWork, budgets: readonly { counter: string }[]): void {
  const missing = budgets.filter(({ counter }) => !isLoaded(() => unit.counter(counter)))
  if (missing.length === 0) return
  throw new NotLoaded(
    [],
    missing.map(({ counter }) => counter),
  )
}

function isLoaded(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof NotLoaded) return false
    throw error
  }
}
