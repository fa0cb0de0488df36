/** `GET /v1/traces`. */
import type { HttpApp } from '#kernel/host/http-app.ts'
import { traceEvent } from '../read-model/trace-query.ts'
import { eventNameQuery } from './event-name-query.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/** The event and every hop from its acceptance to the runs it caused, in order. */
export function traceRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  app.get('/v1/traces', { schema: { querystring: eventNameQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    await world.model.fresh()
    return traceEvent(world.model, tenant, request.query)
  })
}
