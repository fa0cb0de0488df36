/** `/v1/approvals`: what waits for a person, and the answers to asks. */
import { z } from 'zod'
import { answerSchema } from '#kernel/domain/approval-answer.ts'
import { ASK_DECISIONS, type AskDecision } from '#kernel/domain/ask.ts'
import { criterionHash } from '#kernel/domain/criterion-hash.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { type AskItem, listAsks } from '../read-model/ask-queries.ts'
import { listQuestions } from '../read-model/mailbox-queries.ts'
import { cursorAt, isCursorOf, type PageRequest } from '../read-model/page-of-rows.ts'
import { answerAsk } from './answer-ask.ts'
import { pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import { subscriptionsOf } from './subscription-routes.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/** An ask is named after its candidate; every other id is a question's, and the dispatcher's. */
const ASK_PATH = '/v1/approvals/:id(^c_[0-9a-f]+$)'

/**
 * Subscriptions that wait for `…/approve` or `…/reject` come first, on the first page; then asks,
 * then questions of runs, each oldest first.
 */
export function approvalRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model } = world
  app.get('/v1/approvals', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    await Promise.all([model.fresh(), world.tables.barrier()])
    const { items, next } = listWaiting(world, tenant, request.query)
    const pending = request.query.cursor === undefined ? pendingSubscriptions(world, tenant) : []
    return { items: [...pending, ...items], next }
  })
  const schema = { params: z.strictObject({ id: z.string().max(128) }), body: answerSchema }
  app.post(ASK_PATH, { schema }, async (request, reply) => {
    const by = await world.authenticate(request)
    const decision = askDecision(request.body)
    await Promise.all([model.fresh(), world.tables.barrier()])
    const { id } = request.params
    const answered = await answerAsk(world, { by, id, decision, reason: request.body.reason })
    return answered ?? reply.code(202).send({ id, decision, isPending: true })
  })
}

/** A question of a run can be answered in more ways than a verdict. */
function askDecision({ decision }: z.infer<typeof answerSchema>): AskDecision {
  const found = ASK_DECISIONS.find(each => each === decision)
  if (found) return found
  const expected = ASK_DECISIONS.join(' or ')
  const text = `decision: expected ${expected}, got ${decision}.`
  const why = 'A match that waits is taken or left; edit and respond answer what a run asked.'
  throw new AmbitError('invalid', `${text} ${why}`, {
    ...{ pointer: '/decision', expected, actual: decision },
  })
}

/** Two lists behind each other under one cursor. */
function listWaiting(world: WhatHappenedWorld, tenant: string, page: PageRequest) {
  const { model } = world
  if (isCursorOf('approvals', page.cursor)) return listQuestions(model, tenant, page)
  const { items, next } = listAsks(model, tenant, page)
  const asks = items.map(item => withSubscription(world, tenant, item))
  if (next !== null) return { items: asks, next }
  const room = page.limit - asks.length
  const questions = listQuestions(model, tenant, { limit: Math.max(room, 1) })
  if (room > 0) return { items: [...asks, ...questions.items], next: questions.next }
  return { items: asks, next: questions.items.length > 0 ? cursorAt('approvals', 0) : null }
}

/** Whose it is and what it asks; the criterion is null when it was edited since. */
function withSubscription(
  { directory }: WhatHappenedWorld,
  tenant: string,
  { criterionHash: asked, ...item }: AskItem,
) {
  const found = directory.subscription(tenant, item.subscription)
  const { name = null, agent = null, owner = null, condition } = found ?? {}
  const isSame = condition && (asked === null || criterionHash(condition) === asked)
  return { ...item, name, agent, owner, question: isSame ? condition.criterion : null }
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
