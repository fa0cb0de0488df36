/** Which observations are wanted, and by whom: an index over the subscriptions. */

import { identityScopeOf, observationIdOf } from '#kernel/domain/observation.ts'
import { observationKey } from '#kernel/domain/observation-state.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'
import type { Observe } from '#kernel/domain/trigger.ts'

/** What the poller needs of a subscription. */
export interface Subscriber {
  id: string
  version: number
  name: string
  owner: string
  agent: string
  everyMs: number
  backfill: number
  isLive: boolean
  /** Suspended by the poller, because of its source. */
  isSuspendedHere: boolean
}

export interface Observation {
  id: string
  tenant: string
  /** Key in `cursors`. */
  key: string
  scope: string
  observe: Observe
  subscribers: Map<string, Subscriber>
}

export interface ObservationBook {
  /** Takes in a subscription, deleted ones too. */
  update(subscription: Subscription): void
  all(): IterableIterator<Observation>
  get(key: string): Observation | undefined
}

/** Who suspends for a failing source, as `state.by` names it. */
export const POLLER = { kind: 'system', id: 'mcp-poller', roles: [] } as const
const POLLER_NAME = `${POLLER.kind}:${POLLER.id}`

export function createObservationBook(): ObservationBook {
  const observations = new Map<string, Observation>()
  /** Where each subscription stands now. */
  const places = new Map<string, string>()
  const leave = (place: string, id: string) => {
    const key = places.get(place)
    const left = key === undefined ? undefined : observations.get(key)
    left?.subscribers.delete(id)
    if (key !== undefined && left?.subscribers.size === 0) observations.delete(key)
    places.delete(place)
  }
  return {
    update(subscription) {
      const { tenant, id, observe, state } = subscription
      const place = `${tenant}\n${id}`
      leave(place, id)
      if (!observe || state.operation === 'deleted') return
      const observationId = observationIdOf({ ...subscription, observe })
      const key = observationKey(tenant, observationId)
      const known = observations.get(key) ?? {
        ...{ id: observationId, tenant, key, observe },
        scope: identityScopeOf(subscription),
        subscribers: new Map<string, Subscriber>(),
      }
      known.subscribers.set(id, subscriberOf(subscription, observe))
      observations.set(key, known)
      places.set(place, key)
    },
    all: () => observations.values(),
    get: key => observations.get(key),
  }
}

function subscriberOf(subscription: Subscription, observe: Observe): Subscriber {
  const { id, version, name, owner, agent, state } = subscription
  return {
    ...{ id, version, name, owner, agent },
    everyMs: observe.everyMs,
    backfill: observe.backfill,
    isLive: isLive(state),
    isSuspendedHere: state.operation === 'suspended' && state.by === POLLER_NAME,
  }
}
