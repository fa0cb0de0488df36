/** `GET /v1/approvals`: what waits for a person. */
import type { HttpApp } from '#kernel/host/http-app.ts'
import { listQuestions } from '../read-model/mailbox-queries.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import { subscriptionsOf } from './subscription-routes.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/**
 * Questions of runs, oldest first, answered by `POST /v1/approvals/{id}`. The first page also
 * holds, before them, the subscriptions that wait for `…/approve` or `…/reject`.
 */
export function approvalRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model } = world
  app.get('/v1/approvals', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    await Promise.all([model.fresh(), world.tables.barrier()])
    const { items, next } = listQuestions(model, tenant, request.query)
    const pending = request.query.cursor === undefined ? pendingSubscriptions(world, tenant) : []
    return { items: [...pending, ...items], next }
  })
}

function pendingSubscriptions(world: WhatHappenedWorld, tenant: string) {
  return subscriptionsOf(world, tenant)
    .filter(({ state }) => state.approval === 'pending' && state.operation !== 'deleted')
    .map(({ id, name, agent, owner, origin, createdAt }) => ({
      kind: 'subscription',
      ...{ id, name, agent, owner, origin },
      askedAt: createdAt,
    }))
}
