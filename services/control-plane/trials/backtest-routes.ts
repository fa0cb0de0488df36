/** `/v1/backtests`: a condition tried on the past, with an estimate before money is spent. */
import { z } from 'zod'
import { hashId } from '#kernel/domain/ids.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { permitted } from '../routes/permitted.ts'
import { subscriptionWriter } from '../routes/subscription-writer.ts'
import { type Backtests, backtestView } from './backtests.ts'
import { type DraftWorld, draftSubscription } from './draft-subscription.ts'

export interface BacktestRoutesWorld extends DraftWorld {
  backtests: Backtests
}

/** A week: events older than the ingress retention are gone. */
const HOURS_MAX = 168

const idParams = z.strictObject({ id: z.string().min(1).max(256) })
const askedBody = z.strictObject({
  subscription: z.string().min(1).max(256).optional(),
  draft: z.unknown().optional(),
  hours: z.number().positive().max(HOURS_MAX),
})

/** Registers the routes. */
export function backtestRoutes(app: HttpApp, world: BacktestRoutesWorld): void {
  const { backtests } = world
  app.post('/v1/backtests', { schema: { body: askedBody } }, async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    const id = hashId('b', by.tenant, world.ids.random())
    const subscription = askedSubscription(world, by, id, request.body)
    const { hours } = request.body
    const result = await backtests.estimate(by, { id, subscription, hours })
    return reply.code(201).header('location', `/v1/backtests/${id}`).send(backtestView(result))
  })
  app.post('/v1/backtests/:id/confirm', { schema: { params: idParams } }, async request => {
    const by = await subscriptionWriter(world, request)
    return backtestView(await backtests.confirm(by, request.params.id))
  })
  app.get('/v1/backtests/:id', { schema: { params: idParams } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    return backtestView(backtests.find(tenant, request.params.id))
  })
  app.delete('/v1/backtests/:id', { schema: { params: idParams } }, async request => {
    const { tenant } = await subscriptionWriter(world, request)
    return backtestView(await backtests.cancel(tenant, request.params.id))
  })
}

function askedSubscription(
  world: BacktestRoutesWorld,
  by: Principal,
  id: string,
  { subscription, draft }: { subscription?: string | undefined; draft?: unknown },
): Subscription {
  if ((subscription === undefined) === (draft === undefined)) {
    throw new AmbitError('bad-request', 'Expected exactly one of subscription and draft.')
  }
  if (subscription === undefined) return draftSubscription(world, by, { id, body: draft })
  const found = world.directory.subscription(by.tenant, subscription)
  if (found) return found
  throw new AmbitError('not-found', `There is no subscription ${subscription}.`)
}
