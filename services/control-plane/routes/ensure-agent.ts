/** In the embedded tenant an unknown agent of a subscription is created with defaults. */
import { parseWith } from '#kernel/domain/parse-with.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { nameSchema } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { SubscriptionRoutesWorld } from './subscription-world.ts'

/** Resolves when the agent exists, or leaves it to the registry to refuse. */
export async function ensureAgent(
  world: Pick<SubscriptionRoutesWorld, 'directory' | 'registry' | 'autoAgentTenant' | 'tables'>,
  by: Principal,
  agent: string,
): Promise<void> {
  if (by.tenant !== world.autoAgentTenant) return
  if (world.directory.agent(by.tenant, agent)) return
  const id = parseWith(nameSchema, agent)
  const system: Principal = { tenant: by.tenant, kind: 'system', id: 'embedded', roles: [] }
  const { kind } = await world.registry.ask(system, {
    kind: 'agent',
    id,
    action: 'put',
    body: {},
    reason: 'named by a subscription',
  })
  if (kind === 'pending') {
    throw new AmbitError('not-ready', `The agent ${id} is still being created; try again soon.`)
  }
  await world.tables.barrier()
}
