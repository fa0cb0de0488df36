/** Objects that the registry writes, the table each lives in, and their keys. */
import { tenantKey } from './ids.ts'

export const TABLE_OF = {
  subscription: 'subscriptions',
  policy: 'policies',
  agent: 'policies',
  key: 'policies',
  tenant: 'policies',
  source: 'sources',
  calendar: 'sources',
  connector: 'sources',
  label: 'labels',
} as const
export type ObjectKind = keyof typeof TABLE_OF

/** Key of an object in its table, in `registry.changes` and in `audit`. */
export function objectKey(tenant: string, kind: ObjectKind, id: string): string {
  return tenantKey(tenant, kind, id)
}

/** The one policy document of a tenant has this id. */
export const POLICY_ID = 'policy'
/** The switch of a whole tenant has this id. */
export const TENANT_ID = 'tenant'
