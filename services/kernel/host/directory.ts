/** Typed reading of the live tables: what a decision is given about its surroundings. */
import type { Agent } from '#kernel/domain/agent.ts'
import type { Calendar } from '#kernel/domain/calendar/calendar.ts'
import type { Connector } from '#kernel/domain/connector.ts'
import {
  type ObjectKind,
  objectKey,
  POLICY_ID,
  TABLE_OF,
  TENANT_ID,
} from '#kernel/domain/object-key.ts'
import { defaultPolicy, type Policy } from '#kernel/domain/policy.ts'
import type { StoredKey } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { LiveTables } from './live-tables.ts'

export interface Directory {
  /** Deleted subscriptions too, while their document is kept. */
  subscription(tenant: string, id: string): Subscription | undefined
  /** The permissive default, version 0, where none was written. */
  policy(tenant: string): Policy
  /** `stopped` is set while a person has stopped the whole tenant. */
  tenant(tenant: string): { stopped?: { reason: string; by: string; at: string } } | undefined
  agent(tenant: string, id: string): Agent | undefined
  connector(tenant: string, name: string): Connector | undefined
  key(tenant: string, id: string): StoredKey | undefined
  source<T>(tenant: string, name: string): T | undefined
  calendar(tenant: string, name: string): Calendar | undefined
  /** Every tenant that has any document. */
  tenants(): string[]
}

export function createDirectory(tables: LiveTables): Directory {
  const find = <T>(tenant: string, kind: ObjectKind, id: string, withDeleted = false) => {
    const held = tables.get(TABLE_OF[kind], objectKey(tenant, kind, id))
    return held && (withDeleted || !held.deleted) ? (held.doc as T) : undefined
  }
  return {
    subscription: (tenant, id) => find<Subscription>(tenant, 'subscription', id, true),
    policy: tenant => find<Policy>(tenant, 'policy', POLICY_ID) ?? defaultPolicy(tenant),
    tenant: tenant => find(tenant, 'tenant', TENANT_ID),
    agent: (tenant, id) => find<Agent>(tenant, 'agent', id),
    connector: (tenant, name) => find<Connector>(tenant, 'connector', name),
    key: (tenant, id) => find<StoredKey>(tenant, 'key', id),
    source: (tenant, name) => find(tenant, 'source', name),
    calendar: (tenant, name) => find<Calendar>(tenant, 'calendar', name),
    tenants: tables.tenants,
  }
}
