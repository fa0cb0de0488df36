/** `POST /v1/test` and `POST /v1/subscriptions/{id}/test`: a condition tried, nobody woken. */
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { cloudEventFrom } from '#kernel/domain/cloud-event-rules.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { hashId } from '#kernel/domain/ids.ts'
import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import {
  NO_USAGE,
  type OpenTrial,
  TRIAL_BYTES_MAX,
  TRIAL_EVENTS_MAX,
} from '#kernel/domain/trial.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import type { TrialResult } from '#schemas/generated/records.ts'
import { permitted } from '../routes/permitted.ts'
import { subscriptionWriter } from '../routes/subscription-writer.ts'
import { type DraftWorld, draftSubscription } from './draft-subscription.ts'
import type { TrialClient } from './trial-client.ts'
import { trialView } from './trial-view.ts'

/** How long a caller waits for its dry run before it gets a status link, ms. */
const ANSWER_WITHIN_MS = 60_000

export interface TrialRoutesWorld extends DraftWorld {
  trials: TrialClient
}

const idParams = z.strictObject({ id: z.string().min(1).max(256) })
const events = z.array(z.unknown()).max(TRIAL_EVENTS_MAX).optional()
const savedBody = z.strictObject({ events }).nullish()
const draftBody = z.strictObject({ subscription: z.unknown(), events })

/** Registers the routes. */
export function trialRoutes(app: HttpApp, world: TrialRoutesWorld): void {
  const saved = { params: idParams, body: savedBody }
  app.post('/v1/subscriptions/:id/test', { schema: saved }, async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    const subscription = world.directory.subscription(by.tenant, request.params.id)
    if (!subscription) {
      throw new AmbitError('not-found', `There is no subscription ${request.params.id}.`)
    }
    const given = request.body?.events
    return tryNow(world, { by, subscription, given, isSaved: true }, reply)
  })
  app.post('/v1/test', { schema: { body: draftBody } }, async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    const { subscription: body, events: given } = request.body
    const id = hashId('draft', by.tenant, world.ids.random())
    const subscription = draftSubscription(world, by, { id, body })
    return tryNow(world, { by, subscription, given, isSaved: false }, reply)
  })
  app.get('/v1/trials/:id', { schema: { params: idParams } }, async (request, reply) => {
    const { tenant } = await permitted(world, request, 'read')
    const result = world.trials.resultOf(tenant, request.params.id)
    if (result) return answer(result)
    return reply.code(202).send({ id: request.params.id, state: 'running' })
  })
}

interface Asked {
  by: Principal
  subscription: Subscription
  given: unknown[] | undefined
  isSaved: boolean
}

async function tryNow(
  world: TrialRoutesWorld,
  { by, subscription, given, isSaved }: Asked,
  reply: FastifyReply,
) {
  const items = itemsOf(subscription, given)
  const id = hashId('t', by.tenant, world.ids.random())
  const trial: OpenTrial = {
    ...{ id, tenant: by.tenant, kind: 'test', isSaved, subscription, by, at: world.clock.now() },
    ...{ stage: given === undefined ? 'observe' : 'judge', items, usage: NO_USAGE },
  }
  await world.trials.start(trial)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const result = await world.trials.wait(id, ANSWER_WITHIN_MS, gone.signal)
  if (result) return answer(result)
  const status = `/v1/trials/${id}`
  return reply.code(202).header('location', status).send({ id, state: 'running', status })
}

function answer(result: TrialResult) {
  if (result.state !== 'failed') return trialView(result)
  throw new AmbitError('conflict', `The dry run failed: ${result.reason ?? 'unknown'}`)
}

/** Given events are checked as an ingest would; only an observation can be asked for its own. */
function itemsOf(subscription: Subscription, given: unknown[] | undefined) {
  const { observe } = subscription
  if (given === undefined && observe) return []
  if (given === undefined || given.length === 0) {
    throw new AmbitError('bad-request', '/events: expected events to try, got none.', {
      pointer: '/events',
      expected: `1 to ${TRIAL_EVENTS_MAX} CloudEvents`,
      actual: 'none',
    })
  }
  const checked = given.map((event, at) => {
    const read: CloudEvent = cloudEventFrom(event, `/events/${at}`)
    return asDue(subscription, read)
  })
  if (stringifyLossless(checked).length > TRIAL_BYTES_MAX) {
    throw new AmbitError('too-large', 'The events of a test may have 600 kB; send fewer.', {
      pointer: '/events',
    })
  }
  return checked.map(event => ({ event, at: null }))
}

/** People do not see which revision of a schedule an instant belongs to: theirs is the current. */
function asDue({ id, schedule, scheduled }: Subscription, event: CloudEvent): CloudEvent {
  if (!schedule || !scheduled || event.subject !== id) return event
  const { revision: schedulerevision, since: schedulesince } = scheduled
  return { schedulerevision, schedulesince, ...event }
}
