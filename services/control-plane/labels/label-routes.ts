/**
 * Labels: verdicts marked right or wrong, events marked as missed, and what an edit would change.
 */
import { z } from 'zod'
import { hashId } from '#kernel/domain/ids.ts'
import { type Label, type LabelValue, scoreOf, shouldMatch } from '#kernel/domain/label.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { conditionSchema, principalName, type Subscription } from '#kernel/domain/subscription.ts'
import {
  NO_USAGE,
  TRIAL_EVENTS_MAX,
  type TrialItem,
  type TrialUsage,
} from '#kernel/domain/trial.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import { findByVerdict } from '../read-model/decision-queries.ts'
import { eventBody, findEvent } from '../read-model/event-query.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { pageOf, pageQuery } from '../routes/page.ts'
import { permitted } from '../routes/permitted.ts'
import { sendChange } from '../routes/send-change.ts'
import type { SubscriptionRoutesWorld } from '../routes/subscription-world.ts'
import { subscriptionWriter } from '../routes/subscription-writer.ts'
import { addUsage } from '../trials/add-usage.ts'
import type { TrialClient } from '../trials/trial-client.ts'

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
const compareBody = z.strictObject({ condition: conditionSchema })
const JUDGED_WITHIN_MS = 120_000

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
    return pageOf(
      found,
      request.query,
      ({ id }) => id,
      label => label,
    )
  })
  const compared = { params: idParams, body: compareBody }
  app.post('/v1/subscriptions/:id/labels/compare', { schema: compared }, async request => {
    const by = await subscriptionWriter(world, request)
    await Promise.all([world.labels.barrier(), world.model.fresh()])
    const subscription = existing(world, by.tenant, request.params.id)
    return compare(world, by, { ...subscription, condition: request.body.condition })
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

function labelsOf({ labels }: LabelRoutesWorld, { id, tenant }: Subscription): Label[] {
  const prefix = objectKey(tenant, 'label', '')
  const found: Label[] = []
  for (const key of labels.keys('labels')) {
    if (!key.startsWith(prefix)) continue
    const held = labels.get('labels', key)
    const label = held && !held.deleted ? (held.doc as Label) : undefined
    if (label?.subscription === id) found.push(label)
  }
  return found.sort((a, b) => (a.at < b.at ? -1 : 1))
}

interface Flip {
  source: string
  id: string
  label: LabelValue
  should: boolean
  was: boolean
  now: boolean
}

/** The labelled events under another criterion: precision, recall and every flip. */
async function compare(world: LabelRoutesWorld, by: Principal, draft: Subscription) {
  const labels = labelsOf(world, draft)
  const items: TrialItem[] = []
  const known: Label[] = []
  for (const label of labels) {
    const { source, eventId: id } = label
    const row = findEvent(world.model, by.tenant, { source, id })
    if (!row) continue
    items.push({ event: await eventBody(world.model, row), at: null })
    known.push(label)
  }
  const { judged, usage } = await judgeAll(world, by, draft, items)
  const outcomes = known.map((label, at) => {
    const item = judged[at]
    const matched = !item?.failed && item?.verdict?.outcome === 'matched'
    return { label, should: shouldMatch(label), was: label.outcome === 'matched', matched }
  })
  const flips: Flip[] = outcomes
    .filter(({ was, matched }) => was !== matched)
    .map(({ label: { source, eventId: id, label }, should, was, matched: now }) => ({
      ...{ source, id, label, should, was, now },
    }))
  return {
    before: scoreOf(outcomes.map(({ should, was }) => ({ should, matched: was }))),
    after: scoreOf(outcomes),
    flips,
    /** Labelled events that retention took. */
    gone: labels.length - known.length,
    usage,
  }
}

async function judgeAll(
  { trials, ids, clock }: LabelRoutesWorld,
  by: Principal,
  subscription: Subscription,
  items: TrialItem[],
): Promise<{ judged: TrialItem[]; usage: TrialUsage }> {
  const judged: TrialItem[] = []
  let usage = NO_USAGE
  for (let at = 0; at < items.length; at += TRIAL_EVENTS_MAX) {
    const id = hashId('t', by.tenant, ids.random())
    const part = items.slice(at, at + TRIAL_EVENTS_MAX)
    await trials.start({
      ...{ id, tenant: by.tenant, kind: 'test', stage: 'judge', isSaved: false, by },
      ...{ subscription, items: part, usage: NO_USAGE, at: clock.now() },
    })
    const result = await trials.wait(id, JUDGED_WITHIN_MS)
    if (result?.state !== 'done') {
      const reason = result?.reason ?? 'no answer in time; is the evaluator running?'
      throw new AmbitError('conflict', `The labelled events could not be judged: ${reason}`)
    }
    judged.push(...(result.items as TrialItem[]))
    usage = addUsage(usage, result.usage as TrialUsage)
  }
  return { judged, usage }
}
