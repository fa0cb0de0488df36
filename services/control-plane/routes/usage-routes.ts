/** `GET /v1/usage`. */
import { z } from 'zod'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { listUsage, USAGE_KEYS } from '../read-model/journal-queries.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const usageQuery = pageQuery.extend({
  by: z.enum(USAGE_KEYS).default('tenant'),
  since: z.iso.date().optional(),
  until: z.iso.date().optional(),
})

/** Sums of the last 31 days; `since` and `until` are days of the tenant's zone, inclusive. */
export function usageRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  app.get('/v1/usage', { schema: { querystring: usageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const { limit, cursor, ...query } = request.query
    await world.model.fresh()
    return listUsage(world.model, tenant, { ...query, page: { limit, cursor } })
  })
}
