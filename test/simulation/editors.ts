/** People who create, edit, pause, resume and delete subscriptions, and who change the policy. */
import type { Principal } from '#kernel/domain/principal.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { ChangeOrder, ChangeResult } from '#kernel/host/registry-client.ts'
import type { Workplace } from './executors.ts'
import type { Random } from './random.ts'
import {
  AGENTS,
  type PlannedSubscription,
  planOne,
  planPatch,
  planPolicy,
  planSubscriptions,
  TYPES,
} from './subscription-plan.ts'
import { TENANTS } from './world.ts'

const person = (tenant: string): Principal => ({
  tenant,
  kind: 'person',
  id: 'ana',
  roles: ['admin'],
})

/** Asks until there is an answer; a refusal is one. */
export async function ask(
  { world, facts }: Pick<Workplace, 'world' | 'facts'>,
  tenant: string,
  order: ChangeOrder,
): Promise<ChangeResult | undefined> {
  const idempotencyKey = `${order.kind}/${order.id}/${world.random.hex()}`
  for (let tries = 0; tries < 12; tries++) {
    try {
      const result = await world.call('control', doors =>
        doors.registry!.ask(person(tenant), { ...order, idempotencyKey }),
      )
      if (result.kind === 'answered') {
        noteChange({ world, facts }, tenant, order, result.body)
        return result
      }
    } catch (error) {
      if (!isAmbitError(error)) facts.surprises.push(`ask: ${String(error)}`)
      else if (!['not-ready', 'log-unavailable'].includes(error.code)) return undefined
    }
    await world.clock.sleep(world.random.between(50, 400))
  }
  return undefined
}

/** Asks again and again: a seed that lacks this says nothing. */
export async function surely(
  place: Pick<Workplace, 'world' | 'facts'>,
  tenant: string,
  order: ChangeOrder,
): Promise<void> {
  for (let tries = 0; tries < 10; tries++) if (await ask(place, tenant, order)) return
  place.facts.surprises.push(`${tenant} could not ${order.action} ${order.kind} ${order.id}`)
}

function noteChange(
  { world, facts }: Pick<Workplace, 'world' | 'facts'>,
  tenant: string,
  { kind, id }: ChangeOrder,
  body: unknown,
): void {
  const version = (body as { version?: number } | null)?.version
  if (kind !== 'subscription' || version === undefined) return
  facts.changes.push({ tenant, id, version, storeAt: world.storeNow() })
}

/** Agents, policies and the first subscriptions of all tenants. */
export async function setUp(place: Workplace, random: Random): Promise<Map<string, string[]>> {
  const known = new Map<string, string[]>()
  for (const tenant of TENANTS) {
    for (const id of AGENTS) {
      const body = {
        maxConcurrentLeases: random.between(1, 4),
        maxAttempts: random.between(2, 4),
        backoffMs: random.between(50, 400),
        capabilities: { selfSubscribe: true },
      }
      await ask(place, tenant, { kind: 'agent', id, action: 'put', body })
    }
    await ask(place, tenant, { kind: 'policy', id: 'policy', action: 'put', body: { zone: 'UTC' } })
    const planned = planSubscriptions(random, place.world.clock.now())
    known.set(tenant, [])
    await Promise.all(planned.map(each => create(place, known, tenant, each)))
  }
  return known
}

async function create(
  place: Workplace,
  known: Map<string, string[]>,
  tenant: string,
  { id, body }: PlannedSubscription,
): Promise<void> {
  const order = { kind: 'subscription', id, action: 'create', body } as const
  const result = await ask(place, tenant, order)
  if (result) known.get(tenant)?.push(id)
}

/** One random change of a random tenant. */
export async function editOnce(
  place: Workplace,
  known: Map<string, string[]>,
  random: Random,
): Promise<void> {
  const { world, producer } = place
  const tenant = random.pick(TENANTS)
  const ids = known.get(tenant) ?? []
  if (ids.length === 0) return
  const id = random.pick(ids)
  const kind = random.next()
  const event = () => producer.send(tenant)
  if (world.faults.strikes('F24', 0.5)) void event().catch(() => {})
  if (kind < 0.1) {
    const body = planPolicy(random)
    await ask(place, tenant, { kind: 'policy', id: 'policy', action: 'put', body })
  } else if (kind < 0.4) {
    const body = planPatch(random)
    await ask(place, tenant, { kind: 'subscription', id, action: 'patch', body })
  } else if (kind < 0.55) {
    const until = new Date(world.clock.now() + random.between(500, 8000)).toISOString()
    const body = random.chance(0.4) ? { until } : null
    await ask(place, tenant, { kind: 'subscription', id, action: 'pause', body })
  } else if (kind < 0.75) {
    await ask(place, tenant, { kind: 'subscription', id, action: 'resume' })
  } else if (kind < 0.8) {
    ids.splice(ids.indexOf(id), 1)
    await ask(place, tenant, { kind: 'subscription', id, action: 'delete' })
  } else if (kind < 0.95) {
    const name = random.pick(['plain', 'drop', 'group', 'storm', 'cel', 'budget', 'rate'])
    const body = planOne(random, name, world.clock.now())
    await create(place, known, tenant, { id: `${name}-${random.hex().slice(0, 6)}`, body })
  } else {
    const stop = { kind: 'agent', id: random.pick(AGENTS), reason: 'test' } as const
    await ask(place, tenant, { ...stop, action: 'stop' })
    await world.clock.sleep(random.between(200, 2000))
    await ask(place, tenant, { ...stop, action: 'start' })
  }
  if (world.faults.strikes('F29', 0.6)) {
    await producer.publish(tenant, producer.make(tenant, { type: random.pick(TYPES) }))
  }
}

/** People let every agent work again, so that what is left can be finished. */
export async function startAgents(place: Workplace): Promise<void> {
  const orders = TENANTS.flatMap(tenant =>
    AGENTS.map(id => ask(place, tenant, { kind: 'agent', id, action: 'start' })),
  )
  await Promise.all(orders)
}
