/**
 * Labels: verdicts marked right or wrong, events marked as missed, and what an edit would change.
 */
import { z } from 'zod'
import { hashId } from '#kernel/domain/ids.ts'
import type { Label } from '#kernel/domain/label.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { conditionSchema, principalName, type Subscription } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import { findByVerdict } from '../read-model/decision-queries.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { pageOf, pageQuery } from '../routes/page.ts'
import { permitted } from '../routes/permitted.ts'
import { sendChange } from '../routes/send-change.ts'
import type { SubscriptionRoutesWorld } from '../routes/subscription-world.ts'
import { subscriptionWriter } from '../routes/subscription-writer.ts'
import type { TrialClient } from '../trials/trial-client.ts'
import { compareOn, labelledSet, labelsOf, placeOf } from './compare-labels.ts'

export interface LabelRoutesWorld extends SubscriptionRoutesWorld {
  model: ReadModel
  trials: TrialClient
  /** The table `labels`. */
  labels: LiveTables
}

const idParams = z.strictObject({ id: z.string().min(1).max(256) })
const verdictBody = z.strictObject({ label: z.enum(['right', 'wrong']) })
const eventBodySchema = z.strictObject({
  subscription: z.string().min(1).max(256),
  source: z.string().min(1).max(4096),
  id: z.string().min(1).max(4096),
  label: z.literal('missed'),
})
/** Without a condition the stored one is judged again. */
const compareBody = z.strictObject({ condition: conditionSchema.optional() })

/** Registers the routes. */
export function labelRoutes(app: HttpApp, world: LabelRoutesWorld): void {
  const verdict = { params: idParams, body: verdictBody }
  app.post('/v1/verdicts/:id/label', { schema: verdict }, async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    await world.model.fresh()
    const { id: verdictId } = request.params
    const found = findByVerdict(world.model, by.tenant, verdictId)
    if (!found) throw new AmbitError('not-found', `There is no verdict ${verdictId}.`)
    const { subscription, source, event_id: eventId, outcome } = found
    const { label } = request.body
    const order = { subscription, source, eventId, label, outcome, verdictId }
    return sendChange(reply, await keep(world, by, order))
  })
  app.post('/v1/labels', { schema: { body: eventBodySchema } }, async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    const { id: eventId, subscription, source, label } = request.body
    existing(world, by.tenant, subscription)
    const missed = { outcome: 'not-matched', verdictId: null }
    const order = { subscription, source, eventId, label, ...missed }
    return sendChange(reply, await keep(world, by, order))
  })
  const listed = { params: idParams, querystring: pageQuery }
  app.get('/v1/subscriptions/:id/labels', { schema: listed }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    await world.labels.barrier()
    const found = labelsOf(world, existing(world, tenant, request.params.id))
    return pageOf(found, request.query, placeOf, label => label)
  })
  const compared = { params: idParams, body: compareBody }
  app.post('/v1/subscriptions/:id/labels/compare', { schema: compared }, async request => {
    const by = await subscriptionWriter(world, request)
    await Promise.all([world.labels.barrier(), world.model.fresh()])
    const subscription = existing(world, by.tenant, request.params.id)
    const condition = request.body.condition ?? subscription.condition
    if (!condition) {
      throw new AmbitError('invalid', '/condition: expected one, as the subscription has none.', {
        pointer: '/condition',
      })
    }
    const set = await labelledSet(world, by.tenant, labelsOf(world, subscription))
    return compareOn(world, by, { draft: { ...subscription, condition }, set })
  })
}

function existing(world: LabelRoutesWorld, tenant: string, id: string): Subscription {
  const found = world.directory.subscription(tenant, id)
  if (found) return found
  throw new AmbitError('not-found', `There is no subscription ${id}.`)
}

type Given = Pick<Label, 'subscription' | 'source' | 'eventId' | 'outcome' | 'verdictId' | 'label'>

function keep(world: LabelRoutesWorld, by: Principal, given: Given) {
  const { subscription, source, eventId } = given
  const id = hashId('l', by.tenant, subscription, source, eventId)
  const at = new Date(world.clock.now()).toISOString()
  const body = { ...given, by: principalName(by), at }
  return world.registry.ask(by, { kind: 'label', id, action: 'put', body })
}
