/** `/v1/subscriptions`: changes are asked of the registry, reads come from the tables. */
import { z } from 'zod'
import { compileFilters } from '#kernel/domain/filter/compile-filters.ts'
import { hashId } from '#kernel/domain/ids.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import type { Permission, Principal } from '#kernel/domain/principal.ts'
import {
  APPROVALS,
  OPERATIONS,
  type Subscription,
  subscriptionSchema,
} from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import type { ChangeOrder, ChangeResult } from '#kernel/host/registry-client.ts'
import { describedSchedule } from './described-schedule.ts'
import { ensureAgent } from './ensure-agent.ts'
import { nextInstants } from './next-instants.ts'
import { pageOf, pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import { ifMatchOf, sendChange } from './send-change.ts'
import type { SubscriptionRoutesWorld } from './subscription-world.ts'
import { subscriptionWriter } from './subscription-writer.ts'

const idParams = z.strictObject({ id: z.string().min(1).max(256) })
const reasonBody = z.strictObject({ reason: z.string().min(1).max(1000) })
const pauseBody = reasonBody.extend({ until: z.iso.datetime({ offset: true }).optional() })
const looseReason = z.strictObject({ reason: z.string().max(1000).optional() }).nullish()

/** Registers the routes. */
export function subscriptionRoutes(app: HttpApp, world: SubscriptionRoutesWorld): void {
  createAndList(app, world)
  readAndEdit(app, world)
  lifecycle(app, world)
}

/** The body as a subscription whose filters compile; expressions are checked when written. */
export function checkedSubscription(body: unknown) {
  const input = parseWith(subscriptionSchema, body)
  const { types, sources } = input.on ?? {}
  compileFilters({ types, sources, filters: input.filters })
  return input
}

function createAndList(app: HttpApp, world: SubscriptionRoutesWorld): void {
  app.post('/v1/subscriptions', async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    const input = checkedSubscription(request.body)
    const key = request.headers['idempotency-key']
    const idempotencyKey = typeof key === 'string' ? key : undefined
    const name = idempotencyKey ?? world.ids.random()
    const id = hashId('s', by.tenant, by.kind, by.id, name)
    await ensureAgent(world, by, input.agent)
    const order: ChangeOrder = { kind: 'subscription', id, action: 'create', body: input }
    return sendChange(
      reply,
      await world.registry.ask(by, { ...order, idempotencyKey }),
      view(world),
    )
  })
  app.get(
    '/v1/subscriptions',
    {
      schema: {
        querystring: pageQuery.extend({
          agent: z.string().optional(),
          state: z.enum([...APPROVALS, ...OPERATIONS]).optional(),
          managedBy: z.string().optional(),
        }),
      },
    },
    async request => {
      const { tenant } = await permitted(world, request, 'read')
      const { agent, state, managedBy } = request.query
      const found = subscriptionsOf(world, tenant)
        .filter(s => (state ? s.state.operation === state || s.state.approval === state : true))
        .filter(s => state !== undefined || s.state.operation !== 'deleted')
        .filter(s => agent === undefined || s.agent === agent)
        .filter(s => managedBy === undefined || s.managedBy === managedBy)
      return pageOf(found, request.query, s => s.id, view(world))
    },
  )
}

/** Every subscription of a tenant, deleted ones included, ordered by id. */
export function subscriptionsOf(
  { tables }: Pick<SubscriptionRoutesWorld, 'tables'>,
  tenant: string,
): Subscription[] {
  const found: Subscription[] = []
  const prefix = `${encodeURIComponent(tenant)}/`
  for (const key of tables.keys('subscriptions')) {
    if (!key.startsWith(prefix)) continue
    const document = tables.get('subscriptions', key)
    if (document?.kind === 'subscription') found.push(document.doc as Subscription)
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** The stored form as people see it, with its newest fate and its coming instants. */
function view({ lastOf, calendars, clock }: SubscriptionRoutesWorld) {
  return (doc: unknown) => {
    const subscription = doc as Subscription
    const { startsAt: _startsAt, scheduled: _scheduled, ...shown } = subscription
    const next = nextInstants(subscription, clock.now(), calendars.book)
    const described = describedSchedule(subscription)
    const last = lastOf(subscription.tenant, subscription.id) ?? null
    return { ...shown, ...(described ? { described } : {}), next, last }
  }
}

function readAndEdit(app: HttpApp, world: SubscriptionRoutesWorld): void {
  app.get('/v1/subscriptions/:id', { schema: { params: idParams } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    return view(world)(existing(world, tenant, request.params.id))
  })
  app.patch('/v1/subscriptions/:id', { schema: { params: idParams } }, async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    const { id } = request.params
    const doc = existing(world, by.tenant, id)
    checkPatch(request.body)
    const { agent } = request.body as { agent?: unknown }
    if (typeof agent === 'string' && agent !== doc.agent) await ensureAgent(world, by, agent)
    const ifVersion = ifMatchOf(request)
    const result = await ask(world, by, request, {
      id,
      action: 'patch',
      body: request.body,
      ifVersion,
    })
    return sendChange(reply, result, view(world))
  })
  app.delete('/v1/subscriptions/:id', { schema: { params: idParams } }, async (request, reply) => {
    const by = await subscriptionWriter(world, request)
    const { id } = request.params
    existing(world, by.tenant, id)
    const ifVersion = ifMatchOf(request)
    const result = await ask(world, by, request, { id, action: 'delete', ifVersion })
    return sendChange(reply, result, view(world))
  })
}

function checkPatch(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AmbitError('bad-request', 'Expected a JSON object with the members to change.')
  }
  const { filters } = body as { filters?: unknown }
  if (filters !== undefined && filters !== null) {
    const parsed = parseWith(subscriptionSchema.shape.filters, filters)
    compileFilters({ filters: parsed })
  }
}

function existing(world: SubscriptionRoutesWorld, tenant: string, id: string): Subscription {
  const doc = world.directory.subscription(tenant, id)
  if (doc) return doc
  throw new AmbitError('not-found', `There is no subscription ${id}.`)
}

function ask(
  world: SubscriptionRoutesWorld,
  by: Principal,
  request: { headers: Record<string, unknown> },
  order: Omit<ChangeOrder, 'kind'>,
): Promise<ChangeResult> {
  const key = request.headers['idempotency-key']
  const idempotencyKey = typeof key === 'string' ? `${order.id} ${key}` : undefined
  return world.registry.ask(by, { kind: 'subscription', idempotencyKey, ...order })
}

function lifecycle(app: HttpApp, world: SubscriptionRoutesWorld): void {
  const actions: Record<string, { permission: Permission; body: z.ZodType }> = {
    pause: { permission: 'subscriptions:write', body: pauseBody },
    resume: { permission: 'subscriptions:write', body: looseReason },
    approve: { permission: 'approve', body: looseReason },
    reject: { permission: 'approve', body: reasonBody },
  }
  for (const [action, { permission, body }] of Object.entries(actions)) {
    app.post(
      `/v1/subscriptions/:id/${action}`,
      { schema: { params: idParams } },
      async (request, reply) => {
        const isWrite = permission === 'subscriptions:write'
        const by = isWrite
          ? await subscriptionWriter(world, request)
          : await permitted(world, request, permission)
        const { id } = request.params
        existing(world, by.tenant, id)
        const given = parseWith(body, request.body ?? {}) as { reason?: string; until?: string }
        const result = await ask(world, by, request, {
          id,
          action,
          body: given.until ? { until: given.until } : null,
          reason: given.reason ?? action,
          ifVersion: ifMatchOf(request),
        })
        return sendChange(reply, result, view(world))
      },
    )
  }
}
