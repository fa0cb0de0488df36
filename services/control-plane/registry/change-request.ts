/** What the registry is asked for, as its pure part sees it. */
import type { Agent } from '#kernel/domain/agent.ts'
import type { Connector } from '#kernel/domain/connector.ts'
import type { ObjectKind } from '#kernel/domain/object-key.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { FindAnchors } from '#kernel/domain/schedule/coming-instants.ts'
import type { StartsAt } from '#kernel/domain/subscription.ts'
import type { Anchor } from '#kernel/domain/trigger.ts'
import { AmbitError, type ErrorCode, type ErrorFacts } from '#kernel/errors.ts'

/** A change with its parts typed. */
export interface ChangeRequest {
  changeId: string
  tenant: string
  kind: ObjectKind
  id: string
  action: string
  body: unknown
  by: Principal
  reason: string
  ifVersion: number | null
}

/** An object as the registry keeps it. */
export interface RegistryObject<T = unknown> {
  version: number
  deleted: boolean
  doc: T
}

/** Facts around a change; everything a decision may depend on besides the object itself. */
export interface ChangeContext {
  policy: Policy
  agent(id: string): Agent | undefined
  connector(name: string): Connector | undefined
  /** The tenant's calendars; without them anchors are taken as they are. */
  calendars?: {
    find: FindAnchors
    lost(anchor: Anchor['anchor']): 'deleted' | 'cancelled' | null
  }
  /** End offsets of the ingress topics, read after the change was. */
  startsAt: StartsAt
  /** The store's time. */
  now: number
}

/** A change that is not applied: an expected outcome, so a value. */
export interface Refusal {
  refused: ErrorCode
  message: string
  facts?: ErrorFacts
}

export type Applied<T> = { next: RegistryObject<T>; status: number } | Refusal

export function refuse(refused: ErrorCode, message: string, facts?: ErrorFacts): Refusal {
  return { refused, message, facts }
}

export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}

/** Runs a step that may throw an operating error, and makes it a refusal. */
export function refusable<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    if (error instanceof AmbitError) return refuse(error.code, error.message, error.facts)
    throw error
  }
}

/** Refusal for `ifVersion`, or undefined when it holds. */
export function versionMismatch(
  current: RegistryObject | undefined,
  ifVersion: number | null,
): Refusal | undefined {
  const version = current?.version ?? 0
  if (ifVersion === null || ifVersion === version) return undefined
  return refuse(
    'version-mismatch',
    `The change was made for version ${ifVersion}, the object has ${version}; read it again.`,
    { expected: String(ifVersion), actual: String(version), extra: { version } },
  )
}
