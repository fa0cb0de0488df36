/** Whether a fence that a store holds is the past, by what is known beside it. Pure. */
import type { Fence } from '#kernel/ports/state-store.ts'
import type { LoggedFence } from './rebuild.ts'

/** Does the store hold less than what was acknowledged to this process before? */
export function isOlder(found: Omit<Fence, 'key'>, seen: Fence | undefined): boolean {
  if (!seen) return false
  const isSame = found.incarnation === seen.incarnation
  return found.epoch < seen.epoch || (isSame && found.seq < seen.seq)
}

/**
 * Does the log know of later commits? A store that went back to before its last rebuild holds an
 * incarnation that is over.
 */
export function isOver(found: Omit<Fence, 'key'>, logged: LoggedFence | undefined): boolean {
  const seq = logged?.signs.get(found.incarnation)
  return seq !== undefined && (seq > found.seq || logged?.last !== found.incarnation)
}
