/** `GET /v1/decisions`. */
import { z } from 'zod'
import { FATES } from '#kernel/domain/fate.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { listDecisions } from '../read-model/decision-queries.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const instant = z.iso
  .datetime({ offset: true })
  .transform(text => Date.parse(text))
  .optional()
const name = z.string().min(1).max(2048).optional()

const decisionsQuery = pageQuery.extend({
  subscription: name,
  event: name,
  source: name,
  fate: z.enum(FATES).optional(),
  since: instant,
  until: instant,
})

/** One row per candidate, newest first; `since` is inclusive, `until` is not. */
export function decisionRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const schema = { querystring: decisionsQuery }
  app.get('/v1/decisions', { schema }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const { limit, cursor, since, until, ...names } = request.query
    await world.model.fresh()
    const filter = { ...names, sinceMs: since, untilMs: until }
    return listDecisions(world.model, tenant, { filter, page: { limit, cursor } })
  })
}
