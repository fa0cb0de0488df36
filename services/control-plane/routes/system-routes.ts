/** `GET /v1/system`. */
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/** One rebuild of the read model at a time. */
const rebuilding = new WeakSet<object>()

/** Planes and services as the host sees them, and the state of the read model. */
export function systemRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  app.get('/v1/system', async request => {
    await permitted(world, request, 'read')
    const state = rebuilding.has(world.model) ? 'rebuilding' : 'following'
    return { ...(await world.system()), readModel: { state, ...world.model.status() } }
  })
  app.post('/v1/system/rebuild', async (request, reply) => {
    await permitted(world, request, 'policy:write')
    const { model, logger } = world
    if (rebuilding.has(model)) {
      throw new AmbitError('conflict', 'A rebuild is under way; GET /v1/system shows how far.')
    }
    rebuilding.add(model)
    void model
      .rebuild()
      .catch(error => logger.error({ err: error }, 'the read model was not rebuilt'))
      .finally(() => rebuilding.delete(model))
    return reply.code(202).send({ state: 'rebuilding', status: '/v1/system' })
  })
}
