/** `DELETE /v1/events?source=&id=`. */

import { principalName } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { decisionsOfEvent } from '../read-model/decision-queries.ts'
import { findEvent } from '../read-model/event-query.ts'
import { eventNameQuery } from './event-name-query.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/**
 * Erases an event's body and the evidence taken from it: traces, messages, verdicts and explain
 * show them no more, also after the read model was rebuilt. Identity, type, times and fates stay,
 * since they hold no content. 204, also the second time.
 *
 * What it does not reach: the bytes in the log until its retention ends (7 days for events, 30
 * for messages), messages that an executor has claimed or still may claim, results that runs
 * reported, dead letters, and whatever agents have done with what they read.
 */
export function erasureRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model } = world
  app.delete('/v1/events', { schema: { querystring: eventNameQuery } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const { tenant } = by
    const name = request.query
    await model.fresh()
    const isKnown = findEvent(model, tenant, name) ?? decisionsOfEvent(model, tenant, name)[0]
    if (!isKnown) {
      throw new AmbitError('not-found', `No event ${name.id} of ${name.source} is kept.`)
    }
    await world.recordErasure(tenant, name, by)
    model.erase(tenant, name, principalName(by))
    return reply.code(204).send()
  })
}
