import { NotLoaded, type UnitOfWork } from '#kernel/domain/unit-of-work.ts'

/** Asks for all missing documents at once, so that the host loads them in one round trip. */
export function needAll(unit: UnitOfWork, keys: readonly string[]): void {
  const missing = keys.filter(key => !isLoaded(unit, key))
  if (missing.length > 0) throw new NotLoaded(missing, [])
}

function isLoaded(unit: UnitOfWork, key: string): boolean {
  try {
    unit.version(key)
    return true
  } catch (error) {
    if (error instanceof NotLoaded) return false
    throw error
  }
}
