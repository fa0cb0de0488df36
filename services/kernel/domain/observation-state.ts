/**
 * What is remembered of an observation, in the topic `cursors`: the position it has read up to, and
 * how its polls went. Written only after the events before that position are durable.
 */
import { tenantKey } from './ids.ts'

/** Kind of the documents in `cursors`, and the middle of their keys. */
export const OBSERVATION_KIND = 'observation'

/** Key of an observation in `cursors`; it selects the partition whose owner polls. */
export function observationKey(tenant: string, id: string): string {
  return tenantKey(tenant, OBSERVATION_KIND, id)
}

/** Why an observation is not polled although somebody wants it. */
export type PollRefusal =
  | 'no-connector'
  | 'not-allowed'
  | 'bad-arguments'
  | 'not-entitled'
  | 'operation-changed'

export interface ObservationState {
  id: string
  connector: string
  operation: string
  /** Whose eyes look. */
  scope: string
  /** False until the first observation has found where `now` is. */
  isPositioned: boolean
  cursor: string | null
  /** Identities seen, oldest first, each with its digest where changes are watched. */
  seen: string[]
  /** Items emitted since the beginning. */
  emitted: number
  /** RFC 3339; the last answered poll that was written down, at most a minute late. */
  polledAt: string | null
  /** Failed polls in a row. */
  failures: number
  failedSince: string | null
  /** The fixed word of the last failure. */
  error: string | null
  refusal: PollRefusal | null
  /** Set while the dependents are suspended and only a probe asks now and then. */
  suspended: {
    at: string
    probes: number
    /** When a probe was answered and resuming was proposed. */
    proposedAt: string | null
    /** Subscriptions with the version that was asked to be suspended. */
    dependents: Record<string, number>
  } | null
  /** A gap that the source admitted: something may be missing before this instant. */
  gapAt: string | null
  /** Polls and probes made since the beginning; absent in older documents. */
  polls?: number
  /** Of those, the ones that no usage record has told of. */
  pollsUntold?: number
  /** The process that wrote this, to tell late records of former owners. */
  writer: string
}

/** One word for people. */
export function statusOf(state: ObservationState): string {
  if (state.refusal) return state.refusal
  if (state.suspended) return state.suspended.proposedAt ? 'recovered' : 'suspended'
  return state.failures > 0 ? 'failing' : 'ok'
}
