/** A subscription that is not saved, in its stored form: checked as a create would check it. */
import { defaultAgent } from '#kernel/domain/agent.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Calendars } from '#kernel/host/follow-calendars.ts'
import { applySubscription } from '../registry/apply-subscription.ts'
import { changeContext } from '../registry/change-context.ts'
import { isRefusal } from '../registry/change-request.ts'
import { checkedSubscription } from '../routes/subscription-routes.ts'
import type { SubscriptionRoutesWorld } from '../routes/subscription-world.ts'

export interface DraftWorld extends SubscriptionRoutesWorld {
  calendars: Pick<Calendars, 'book'>
}

/** @throws AmbitError what `POST /v1/subscriptions` would answer. */
export function draftSubscription(
  world: DraftWorld,
  by: Principal,
  draft: { id: string; body: unknown },
): Subscription {
  const { directory, autoAgentTenant, clock } = world
  const { tenant } = by
  const known = (id: string) =>
    directory.agent(tenant, id) ??
    (tenant === autoAgentTenant ? defaultAgent(tenant, id) : undefined)
  const applied = applySubscription(
    undefined,
    {
      ...{ changeId: draft.id, tenant, kind: 'subscription', id: draft.id, action: 'create', by },
      ...{ body: checkedSubscription(draft.body), reason: 'draft', ifVersion: null },
    },
    { ...changeContext(world, tenant, { startsAt: {}, now: clock.now() }), agent: known },
  )
  if (isRefusal(applied)) throw new AmbitError(applied.refused, applied.message, applied.facts)
  return applied.next.doc
}
