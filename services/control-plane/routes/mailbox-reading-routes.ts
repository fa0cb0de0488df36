/** Reading mailboxes: `GET /v1/mailboxes`, `…/{agent}/messages`, `GET /v1/messages/{id}`. */
import { z } from 'zod'
import { isPermitted, type Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { findMessage, listMailboxes, listMessages } from '../read-model/mailbox-queries.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const agentParams = z.strictObject({ agent: z.string().min(1).max(256) })
const idParams = z.strictObject({ id: z.string().min(1).max(256) })
const STATES = ['queued', 'leased', 'failed', 'done', 'dead', 'cancelled', 'expired'] as const
const messagesQuery = pageQuery.extend({ state: z.enum(STATES).optional() })

/** An agent sees its own mailbox; who may read sees all of the tenant's. */
export function mailboxReadingRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model } = world
  app.get('/v1/mailboxes', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    await model.fresh()
    return listMailboxes(model, tenant, request.query)
  })
  const schema = { params: agentParams, querystring: messagesQuery }
  app.get('/v1/mailboxes/:agent/messages', { schema }, async request => {
    const by = await world.authenticate(request)
    const { agent } = request.params
    refuseStranger(by, agent)
    const { limit, cursor, state } = request.query
    await model.fresh()
    return listMessages(model, { tenant: by.tenant, agent, state }, { limit, cursor })
  })
  app.get('/v1/messages/:id', { schema: { params: idParams } }, async request => {
    const by = await world.authenticate(request)
    const { id } = request.params
    await model.fresh()
    const message = await findMessage(model, by.tenant, id)
    refuseStranger(by, message?.agent)
    if (!message) throw new AmbitError('not-found', `There is no message ${id}.`)
    return message
  })
}

function refuseStranger(by: Principal, agent: string | undefined): void {
  if (isPermitted(by, 'read') || (by.kind === 'agent' && by.id === agent)) return
  throw new AmbitError('forbidden', 'This key does not hold the permission read.')
}
