/** The lease under which a caller acts: proved by the signed handle alone, without a look-up. */
import type { FastifyRequest } from 'fastify'
import {
  HANDLE_LINEAGE_MS,
  type HandleSigner,
  type LeaseClaim,
} from '#kernel/domain/lease-handle.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'

/**
 * What the header `ambit-lease` proves; `undefined` for a caller who sends none and needs none.
 *
 * @throws AmbitError `lease-required` for an agent without the header, `bad-handle` for a handle
 * of somebody else, or one that is older than `HANDLE_LINEAGE_MS`.
 */
export function leaseProof(
  request: Pick<FastifyRequest, 'headers'>,
  principal: Principal,
  { signer, clock }: { signer: HandleSigner; clock: Pick<Clock, 'now'> },
): LeaseClaim | undefined {
  const handle = request.headers['ambit-lease']
  if (handle === undefined) {
    if (principal.kind !== 'agent') return undefined
    throw new AmbitError(
      'lease-required',
      'An agent sends the header ambit-lease with the handle of its current lease.',
    )
  }
  const claim = typeof handle === 'string' ? signer.verify(handle) : undefined
  const isValid =
    claim?.tenant === principal.tenant &&
    (principal.kind !== 'agent' || claim.agent === principal.id) &&
    clock.now() - claim.issuedAt < HANDLE_LINEAGE_MS
  if (claim && isValid) return claim
  throw new AmbitError('bad-handle', 'The header ambit-lease holds no handle of this agent.')
}
