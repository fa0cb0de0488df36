/** `POST /v1/apply`: a declarative list of subscriptions, matched by name under one label. */
import { z } from 'zod'
import { hashId } from '#kernel/domain/ids.ts'
import { resolveLimits } from '#kernel/domain/limits.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription, SubscriptionInput } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { ensureAgent } from './ensure-agent.ts'
import { checkedSubscription, subscriptionsOf } from './subscription-routes.ts'
import type { SubscriptionRoutesWorld } from './subscription-world.ts'
import { subscriptionWriter } from './subscription-writer.ts'

const flag = z.enum(['true', 'false']).default('false')
const applyQuery = z.strictObject({
  dryRun: flag,
  prune: flag,
  managedBy: z.string().min(1).max(128).default('apply'),
})
const applyBody = z.union([
  z.array(z.unknown()).max(500),
  z.strictObject({ subscriptions: z.array(z.unknown()).max(500) }),
])

interface PlannedChange {
  action: 'create' | 'update' | 'unchanged' | 'delete'
  id: string
  name: string
  body?: SubscriptionInput
}

/** Registers the route. Pruning reaches only subscriptions that carry the given label. */
export function applyRoutes(app: HttpApp, world: SubscriptionRoutesWorld): void {
  const schema = { querystring: applyQuery, body: applyBody }
  app.post('/v1/apply', { schema }, async request => {
    const by = await subscriptionWriter(world, request)
    const { dryRun, prune, managedBy } = request.query
    const list = Array.isArray(request.body) ? request.body : request.body.subscriptions
    const inputs = list.map((item, index) => inputAt(item, index, managedBy))
    refuseTwins(inputs)
    const plan = planChanges(world, by, inputs, { managedBy, isPrune: prune === 'true' })
    if (dryRun !== 'true') {
      for (const change of plan) await perform(world, by, change)
    }
    return { dryRun: dryRun === 'true', items: plan.map(({ body: _body, ...shown }) => shown) }
  })
}

function inputAt(item: unknown, index: number, managedBy: string): SubscriptionInput {
  try {
    return { ...checkedSubscription(item), managedBy }
  } catch (error) {
    if (!(error instanceof AmbitError)) throw error
    const pointer = `/${index}${error.facts.pointer ?? ''}`
    throw new AmbitError(error.code, `Item ${index}: ${error.message}`, { ...error.facts, pointer })
  }
}

/** Two items of one name would be two subscriptions that no later apply can tell apart. */
function refuseTwins(inputs: SubscriptionInput[]): void {
  const names = inputs.map(({ name }) => name)
  const index = names.findIndex((name, at) => names.indexOf(name) !== at)
  if (index === -1) return
  throw new AmbitError('invalid', `Item ${index}: the list has its name already; rename one.`, {
    pointer: `/${index}/name`,
    expected: 'each name once',
    actual: `the name of item ${names.indexOf(names[index] ?? '')}`,
  })
}

function planChanges(
  world: SubscriptionRoutesWorld,
  by: Principal,
  inputs: SubscriptionInput[],
  rule: { managedBy: string; isPrune: boolean },
): PlannedChange[] {
  const held = subscriptionsOf(world, by.tenant).filter(
    s => s.managedBy === rule.managedBy && s.state.operation !== 'deleted',
  )
  const byName = new Map(held.map(s => [s.name, s]))
  const plan = inputs.map((body): PlannedChange => {
    const current = byName.get(body.name)
    byName.delete(body.name)
    if (!current) {
      const id = hashId('s', by.tenant, rule.managedBy, body.name, world.ids.random())
      return { action: 'create', id, name: body.name, body }
    }
    const action = isSame(world, current, body) ? 'unchanged' : 'update'
    return { action, id: current.id, name: body.name, body }
  })
  if (!rule.isPrune) return plan
  const extra = [...byName.values()]
  return [...plan, ...extra.map(({ id, name }) => ({ action: 'delete' as const, id, name }))]
}

function isSame(
  world: SubscriptionRoutesWorld,
  current: Subscription,
  body: SubscriptionInput,
): boolean {
  const limits = resolveLimits(body.limits, world.directory.policy(current.tenant).defaults)
  const wanted = { owner: current.owner, filters: [], ...body, limits }
  return Object.entries(wanted).every(([name, value]) => {
    const held = (current as unknown as Record<string, unknown>)[name]
    return JSON.stringify(held ?? null) === JSON.stringify(value ?? null)
  })
}

async function perform(
  world: SubscriptionRoutesWorld,
  by: Principal,
  change: PlannedChange,
): Promise<void> {
  if (change.action === 'unchanged') return
  if (change.body) await ensureAgent(world, by, change.body.agent)
  const action = { create: 'create', update: 'put', delete: 'delete' }[change.action]
  const { id, body } = change
  await world.registry.ask(by, { kind: 'subscription', id, action, body, reason: 'apply' })
}
