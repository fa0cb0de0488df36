/**
 * A change of the subscription, announced in the order of its candidates before it was answered:
 * from here on nothing decided under the old version is delivered.
 */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { Candidate, Marker } from '#schemas/generated/records.ts'
import { readState, saveState } from './guard-outputs.ts'
import { type GuardState, type KnownLifecycle, withEmptyWindows } from './guard-state.ts'

/** Raises the known version and lifecycle; older markers and repeats change nothing. */
export function decideMarker(
  unit: UnitOfWork,
  { subscription, version, marker }: Candidate & { marker: Marker },
): void {
  const state = readState(unit, subscription)
  if (state.lifecycle && version <= state.lifecycle.version) return
  const { operation, approval } = marker
  const lifecycle: KnownLifecycle = { version, operation, approval }
  const base = isResume(state, lifecycle) ? withEmptyWindows(state) : state
  const { latch } = base
  const isVoid = latch !== null && version > latch.version
  saveState(unit, subscription, { ...base, lifecycle, latch: isVoid ? null : latch })
}

function isResume({ lifecycle }: GuardState, next: KnownLifecycle): boolean {
  return lifecycle !== null && lifecycle.operation !== 'active' && next.operation === 'active'
}
