/**
 * The identity of an observation. Subscriptions that want the same read for the same person share
 * one; never across identity scopes.
 */
import { hashId } from './ids.ts'
import { stringifyLossless } from './lossless-json.ts'
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
  return hashId('ob', tenant, read.connector, scope, read.operation, canonicalText(read))
}

/** JSON with sorted members, so that equal reads have equal texts. */
function canonicalText(value: unknown): string {
  return stringifyLossless(sorted(value))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]))
}
