/** `POST /v1/events`: the CloudEvents HTTP binding, strict. */
import type { FastifyRequest } from 'fastify'
import type { CloudEvent, Hop } from '#kernel/domain/event.ts'
import type { HandleSigner } from '#kernel/domain/lease-handle.ts'
import { isPermitted, type Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import { leaseProof } from '#kernel/host/lease-proof.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import { type AcceptWorld, acceptEvents } from './accept-events.ts'
import { parseHttpEvents } from './cloud-events-http.ts'
import { decodeBody } from './decode-body.ts'
import type { RawApp } from './raw-bodies.ts'

export interface EventRoutesWorld extends AcceptWorld {
  authenticate(request: FastifyRequest): Promise<Principal>
  signer: HandleSigner
  clock: Clock
}

/** Registers the route on an application whose bodies arrive as bytes. */
export function eventRoutes(app: RawApp, world: EventRoutesWorld): void {
  app.post('/v1/events', async (request, reply) => {
    const principal = await world.authenticate(request)
    if (!isPermitted(principal, 'events:publish')) {
      throw new AmbitError('forbidden', 'This key may not publish; it needs the role producer.')
    }
    const lease = lineageOf(request, principal, world)
    const body = await decodeBody(request.body, request.headers['content-encoding'])
    const headers = request.raw.headersDistinct
    const isPlatform = principal.kind === 'platform' || principal.roles.includes('platform')
    const events = parseHttpEvents({ headers, body }, { platform: isPlatform })
    await acceptEvents(world, events, {
      tenant: principal.tenant,
      topic: 'ingress.platform',
      ...lease,
      traceparent: traceparentOf(request),
    })
    return reply
      .code(202)
      .send({ accepted: events.map(({ source, id }: CloudEvent) => ({ source, id })) })
  })
}

function traceparentOf(request: FastifyRequest): string | undefined {
  const value = request.headers.traceparent
  return typeof value === 'string' && /^[0-9a-f]{2}(?:-[0-9a-f]+){3}$/.test(value)
    ? value
    : undefined
}

/** Agents prove their lease with every event; the handle alone says which lineage it carries. */
function lineageOf(
  request: FastifyRequest,
  principal: Principal,
  world: EventRoutesWorld,
): { lineage?: Hop[]; onBehalfOf?: string } {
  const claim = leaseProof(request, principal, world)
  return claim ? { lineage: claim.lineage, onBehalfOf: claim.onBehalfOf ?? undefined } : {}
}
