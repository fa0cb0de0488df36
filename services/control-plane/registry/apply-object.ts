/** Changes of policies, agents, sources, keys and the tenant's own switch. Pure. */
import { agentSchema } from '#kernel/domain/agent.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import { policySchema } from '#kernel/domain/policy.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import type { Applied, ChangeContext, ChangeRequest, RegistryObject } from './change-request.ts'
import { isRefusal, refusable, refuse, versionMismatch } from './change-request.ts'
import { markConnector } from './mark-connector.ts'

type Current = RegistryObject<Record<string, unknown>> | undefined

/** Applies one change to an object that is no subscription. */
export function applyObject(
  current: Current,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Record<string, unknown>> {
  const mismatch = versionMismatch(current, change.ifVersion)
  if (mismatch) return mismatch
  switch (change.action) {
    case 'put':
      return put(current, change)
    case 'delete':
      return remove(current, change)
    case 'stop':
    case 'start':
      return toggle(current, change, context)
    case 'pin':
    case 'flag':
      return markConnector(current, change, context.now)
    default:
      return refuse('bad-request', `A ${change.kind} has no action ${change.action}.`)
  }
}

function put(current: Current, change: ChangeRequest): Applied<Record<string, unknown>> {
  const body = refusable(() => readBody(change))
  if (isRefusal(body)) return body
  const version = (current?.version ?? 0) + 1
  const stopped = current?.deleted ? undefined : current?.doc.stopped
  const doc = {
    ...body,
    ...(stopped ? { stopped } : {}),
    id: change.id,
    tenant: change.tenant,
    version,
  }
  return { next: { version, deleted: false, doc }, status: current ? 200 : 201 }
}

function readBody(change: ChangeRequest): Record<string, unknown> {
  if (change.kind === 'policy') return parseWith(policySchema, change.body)
  if (change.kind === 'agent') {
    return { name: change.id, ...parseWith(agentSchema, change.body) }
  }
  // Sources, connectors and keys were read at the door, which alone sees secrets in clear.
  return change.body as Record<string, unknown>
}

function remove(current: Current, change: ChangeRequest): Applied<Record<string, unknown>> {
  if (!current || current.deleted) {
    return refuse('not-found', `There is no ${change.kind} ${change.id}.`)
  }
  const version = current.version + 1
  const doc = { ...current.doc, version }
  return { next: { version, deleted: true, doc }, status: 200 }
}

function toggle(
  current: Current,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Record<string, unknown>> {
  if (change.kind !== 'agent' && change.kind !== 'tenant') {
    return refuse('bad-request', `A ${change.kind} cannot be stopped.`)
  }
  if (change.kind === 'agent' && (!current || current.deleted)) {
    return refuse('not-found', `There is no agent ${change.id}.`)
  }
  const version = (current?.version ?? 0) + 1
  const { stopped: _stopped, ...rest } = current?.doc ?? {}
  const doc: Record<string, unknown> = { ...rest, id: change.id, tenant: change.tenant, version }
  if (change.action === 'stop') {
    const at = new Date(context.now).toISOString()
    doc.stopped = { reason: change.reason, by: principalName(change.by), at }
  }
  return { next: { version, deleted: false, doc }, status: 200 }
}
