/** Who asks for a change of subscriptions, with what a lease proves about it. */
import type { FastifyRequest } from 'fastify'
import type { Principal } from '#kernel/domain/principal.ts'
import { leaseProof } from '#kernel/host/lease-proof.ts'
import { permitted } from './permitted.ts'
import type { SubscriptionRoutesWorld } from './subscription-world.ts'

/**
 * The caller, refused without the permission to write. The header `ambit-lease` is optional: with
 * it the origin names the message and the person behind it, which nobody can forge.
 */
export async function subscriptionWriter(
  world: SubscriptionRoutesWorld,
  request: FastifyRequest,
): Promise<Principal> {
  const by = await permitted(world, request, 'subscriptions:write')
  if (request.headers['ambit-lease'] === undefined) return by
  const claim = leaseProof(request, by, world)
  if (!claim) return by
  const { messageId, onBehalfOf } = claim
  return { ...by, under: { messageId, onBehalfOf } }
}
