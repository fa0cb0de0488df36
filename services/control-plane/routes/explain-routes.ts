/** `GET /v1/explain`. */
import { z } from 'zod'
import { candidateIdOf } from '#kernel/domain/ids.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { findCandidate } from '../read-model/decision-queries.ts'
import { eventBody, findEvent } from '../read-model/event-query.ts'
import { explainPair } from '../read-model/explain-pair.ts'
import { eventNameQuery } from './event-name-query.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const explainQuery = eventNameQuery.extend({ subscription: z.string().min(1).max(256) })

/** Why the event did, or did not, wake the subscription's agent; also for pairs that never met. */
export function explainRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  app.get('/v1/explain', { schema: { querystring: explainQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const { subscription: id, ...name } = request.query
    const { model, directory, tables } = world
    await Promise.all([model.fresh(), tables.barrier()])
    const subscription = directory.subscription(tenant, id)
    if (!subscription) throw new AmbitError('not-found', `There is no subscription ${id}.`)
    const row = findEvent(model, tenant, name)
    return explainPair({
      subscription,
      event: row && { row, body: await eventBody(model, row) },
      candidate: findCandidate(model, candidateIdOf(tenant, id, name)),
      isErased: model.isErased(tenant, name),
    })
  })
}
