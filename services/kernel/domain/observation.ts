/**
 * The identity of an observation. Subscriptions that want the same read for the same person share
 * one; never across identity scopes.
 */
import { canonicalJson } from './canonical-json.ts'
import { hashId } from './ids.ts'
import type { Observe } from './trigger.ts'

/** Who looks: the user behind the subscription, else its owner. */
export function identityScopeOf(subscription: { owner: string; onBehalfOf: string | null }) {
  return subscription.onBehalfOf ?? subscription.owner
}

/** Observation id = hash(connector, identity scope, operation, canonical arguments and reading). */
export function observationIdOf(subscription: {
  tenant: string
  owner: string
  onBehalfOf: string | null
  observe: Observe
}): string {
  const { tenant, observe } = subscription
  const { everyMs: _everyMs, backfill: _backfill, ...read } = observe
  const scope = identityScopeOf(subscription)
  return hashId('ob', tenant, read.connector, scope, read.operation, canonicalJson(read))
}
