/** `GET /v1/system`. */
import type { HttpApp } from '#kernel/host/http-app.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/** Planes and services as the host sees them, and the state of the read model. */
export function systemRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  app.get('/v1/system', async request => {
    await permitted(world, request, 'read')
    return { ...(await world.system()), readModel: world.model.status() }
  })
}
