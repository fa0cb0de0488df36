/** What a file changes of all kinds but subscriptions, which the API plans. */
import { isDeepStrictEqual } from 'node:util'
import { isClientError } from '#services/client/client-error.ts'
import type { Client } from '#services/client/create-client.ts'
import type { NamedObjects } from '#services/client/object-calls.ts'
import { HIDDEN_SECRET, type Manifest } from './manifest.ts'

export interface PlannedChange {
  action: 'create' | 'update' | 'unchanged'
  kind: 'policy' | 'agent' | 'source' | 'connector'
  name: string
  /** Sends the change. */
  apply(): Promise<unknown>
}

/** Reads what is there and compares; changes nothing. */
export async function planObjects(client: Client, manifest: Manifest): Promise<PlannedChange[]> {
  const { policy, agents, sources, connectors } = manifest
  const plans: Omit<PlannedChange, 'action'>[] = []
  const reads: (() => Promise<object>)[] = []
  const wants: object[] = []
  const add = (plan: Omit<PlannedChange, 'action'>, read: () => Promise<object>, want: object) => {
    plans.push(plan)
    reads.push(read)
    wants.push(want)
  }
  if (policy) {
    const apply = () => client.policy.put(policy)
    add({ kind: 'policy', name: 'policy', apply }, () => client.policy.get(), policy)
  }
  const addNamed = <Input extends object>(
    kind: PlannedChange['kind'],
    objects: Pick<NamedObjects<Input>, 'get' | 'put'>,
    wanted: readonly { name: string; spec: Input }[],
  ) => {
    for (const { name, spec } of wanted) {
      const apply = () => objects.put(name, spec)
      add({ kind, name, apply }, () => objects.get(name), spec)
    }
  }
  addNamed('agent', client.agents, agents)
  addNamed('source', client.sources, sources)
  addNamed('connector', client.connectors, connectors)
  const planned: PlannedChange[] = []
  for (const [at, plan] of plans.entries()) {
    const current = await existing(reads[at]!)
    planned.push({ ...plan, action: actionOf(current, wants[at]!) })
  }
  return planned
}

async function existing(read: () => Promise<object>): Promise<object | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isClientError(error) && error.status === 404) return undefined
    throw error
  }
}

function actionOf(current: object | undefined, want: object): PlannedChange['action'] {
  if (!current) return 'create'
  return holds(current, want) ? 'unchanged' : 'update'
}

/**
 * Does the object have every member that the file names? What the file leaves out has a default
 * that only the API knows. A hidden secret may differ, so it always counts as a change.
 */
function holds(current: unknown, want: unknown): boolean {
  if (current === HIDDEN_SECRET) return false
  if (Array.isArray(want)) {
    const isAsLong = Array.isArray(current) && current.length === want.length
    return isAsLong && want.every((each, at) => holds(current[at], each))
  }
  if (typeof want !== 'object' || want === null) return isDeepStrictEqual(current, want)
  if (typeof current !== 'object' || current === null) return false
  const members = new Map<string, unknown>(Object.entries(current))
  return Object.entries(want).every(([name, value]) => holds(members.get(name), value))
}
