/** What a subscription's trigger and filters ask of an event: one answer for every reader. */
import { observationIdOf } from '../observation.ts'
import type { Subscription } from '../subscription.ts'
import type { MatchSpec } from './compile-filters.ts'
import type { Filter } from './filter-schema.ts'

/**
 * The declarative condition. Events of the clock name their subscription in `subject`, those of a
 * connector the observation, which several subscriptions may share.
 */
export function matchSpecOf(
  subscription: Pick<
    Subscription,
    | 'id'
    | 'tenant'
    | 'owner'
    | 'onBehalfOf'
    | 'on'
    | 'schedule'
    | 'observe'
    | 'filters'
    | 'scheduled'
  >,
): MatchSpec {
  const { id, on, schedule, observe, filters, scheduled } = subscription
  if (schedule) return { ownId: id, filters: [...ofRevision(scheduled), ...filters] }
  if (observe) return { ownId: observationIdOf({ ...subscription, observe }), filters }
  return { types: on?.types, sources: on?.sources, filters }
}

/** What an edit, a pause or a resume left behind is none of its events any more (I13). */
function ofRevision(scheduled: Subscription['scheduled']): Filter[] {
  if (!scheduled) return []
  const { revision, since } = scheduled
  return [{ exact: { schedulerevision: revision, schedulesince: since } }]
}
