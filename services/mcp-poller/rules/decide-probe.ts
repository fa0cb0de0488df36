/** A probe of a source whose dependents are suspended: it proposes to resume, and no more. */
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import type { Observation, Subscriber } from './observation-book.ts'
import type { Decided, PollFacts } from './poll-result.ts'
import { recoveredOutputs } from './recovered-outputs.ts'

/** Subscribers that a poll would serve: not those whose suspension is still on its way. */
export function liveOf(
  { subscribers }: Observation,
  state: ObservationState | undefined,
): Subscriber[] {
  const suspended = state?.suspended?.dependents ?? {}
  return [...subscribers.values()].filter(
    ({ id, version, isLive }) => isLive && version > (suspended[id] ?? 0),
  )
}

/** Pure. `error` is the failure's word, undefined where the source answered. */
export function decideProbe(
  state: ObservationState,
  error: string | undefined,
  facts: Omit<PollFacts, 'live'>,
): Decided {
  const { now, writer } = facts
  const suspended = state.suspended ?? {
    at: new Date(now).toISOString(),
    probes: 0,
    dependents: {},
  }
  const probes = suspended.probes + 1
  if (error !== undefined) {
    const next = { ...state, error, writer, suspended: { ...suspended, probes, proposedAt: null } }
    return { state: next, outputs: [], isNews: true }
  }
  const proposedAt = new Date(now).toISOString()
  return {
    state: { ...state, error: null, writer, suspended: { ...suspended, probes, proposedAt } },
    outputs: recoveredOutputs(state, facts),
    isNews: true,
  }
}
