/** `GET /v1/audit`, `GET /v1/subscriptions/{id}/history`. */
import { z } from 'zod'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { listAudit } from '../read-model/journal-queries.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const params = z.strictObject({ id: z.string().min(1).max(256) })
const auditQuery = pageQuery.extend({
  kind: z.string().min(1).max(64).optional(),
  id: z.string().min(1).max(256).optional(),
  outcome: z.enum(['applied', 'refused']).optional(),
})

/** Every change asked for, newest first; a history holds only what was applied. */
export function auditRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model, directory } = world
  app.get('/v1/audit', { schema: { querystring: auditQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const { limit, cursor, ...filter } = request.query
    await model.fresh()
    return listAudit(model, tenant, { filter, page: { limit, cursor } })
  })
  const schema = { params, querystring: pageQuery }
  app.get('/v1/subscriptions/:id/history', { schema }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const { id } = request.params
    await model.fresh()
    const filter = { kind: 'subscription', id, outcome: 'applied' }
    const page = listAudit(model, tenant, { filter, page: request.query })
    if (page.items.length === 0 && !directory.subscription(tenant, id)) {
      throw new AmbitError('not-found', `There is no subscription ${id}.`)
    }
    return page
  })
}
