/** `GET /v1/notices`, `POST /v1/notices/{id}/ack`. */
import { z } from 'zod'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { findNotice, listNotices } from '../read-model/journal-queries.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const params = z.strictObject({ id: z.string().min(1).max(256) })

/** Newest first. Acknowledging twice is acknowledging once; the first time stays. */
export function noticeRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model } = world
  app.get('/v1/notices', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    await model.fresh()
    return listNotices(model, tenant, request.query)
  })
  app.post('/v1/notices/:id/ack', { schema: { params } }, async request => {
    const by = await permitted(world, request, 'read')
    const { id } = request.params
    await model.fresh()
    const notice = existing(world, by.tenant, id)
    if (notice.ackAt !== undefined) return notice
    await world.acknowledge(by.tenant, id, by)
    await model.fresh()
    return existing(world, by.tenant, id)
  })
}

function existing({ model }: WhatHappenedWorld, tenant: string, id: string) {
  const notice = findNotice(model, tenant, id)
  if (notice) return notice
  throw new AmbitError('not-found', `There is no notice ${id}.`)
}
