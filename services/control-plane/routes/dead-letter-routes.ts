/** `GET /v1/deadletter`, `POST /v1/deadletter/{id}/redrive`. */
import { z } from 'zod'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import {
  deadLetterItem,
  findDeadLetter,
  type LetterScope,
  listDeadLetters,
  markRedriven,
} from '../read-model/journal-queries.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const params = z.strictObject({ id: z.string().min(1).max(256) })

/** Records that were refused, newest first. A redrive appends the original once more. */
export function deadLetterRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model, clock } = world
  const scopeOf = (tenant: string): LetterScope => ({
    tenant,
    isOperator: tenant === world.operatorTenant,
  })
  app.get('/v1/deadletter', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    await model.fresh()
    return listDeadLetters(model, scopeOf(tenant), request.query)
  })
  app.post('/v1/deadletter/:id/redrive', { schema: { params } }, async (request, reply) => {
    const { tenant } = await permitted(world, request, 'policy:write')
    const { id } = request.params
    await model.fresh()
    const row = findDeadLetter(model, scopeOf(tenant), id)
    const letter =
      row &&
      (await model.bodies.deadLetter({ partition: row.own_partition, offset: row.own_offset }))
    if (!row || !letter) throw new AmbitError('not-found', `There is no dead letter ${id}.`)
    await world.redrive(letter)
    const redrivenAt = clock.now()
    markRedriven(model, id, redrivenAt)
    return reply.code(202).send(deadLetterItem({ ...row, redriven_at: redrivenAt }))
  })
}
