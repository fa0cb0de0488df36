/** Who a credential stands for; tenant and principal never come from a body. */
import { z } from 'zod'

export const ROLES = [
  'admin',
  'viewer',
  'owner',
  'approver',
  'operator',
  'producer',
  'executor',
  'platform',
] as const
export type Role = (typeof ROLES)[number]

/** `POST /v1/keys`. */
export const keySchema = z.strictObject({
  principal: z.strictObject({
    kind: z.enum(['person', 'agent', 'platform']),
    id: z.string().min(1).max(128),
  }),
  roles: z.array(z.enum(ROLES)).max(ROLES.length).default([]),
})

/** An authenticated caller. */
export interface Principal {
  tenant: string
  kind: 'person' | 'agent' | 'platform' | 'system'
  id: string
  roles: Role[]
  /** The message that the caller works on, where a lease handle proved it. */
  under?: { messageId: string; onBehalfOf: string | null }
}

/** A stored API key: only the hash of its secret. */
export interface StoredKey {
  id: string
  tenant: string
  version: number
  principal: { kind: 'person' | 'agent' | 'platform'; id: string }
  roles: Role[]
  /** SHA-256 of the secret, hex. */
  secretHash: string
  createdAt: string
}

/** What each kind of call needs; `admin` holds everything. */
export type Permission =
  | 'events:publish'
  | 'subscriptions:write'
  | 'read'
  | 'policy:write'
  | 'calendars:write'
  | 'mailbox:work'
  | 'approve'

const GRANTED: Record<Permission, Role[]> = {
  'events:publish': ['producer', 'platform', 'executor', 'owner', 'operator'],
  'subscriptions:write': ['owner', 'operator'],
  read: ['viewer', 'owner', 'approver', 'operator', 'executor', 'platform'],
  'policy:write': ['operator'],
  'calendars:write': ['producer', 'platform', 'owner', 'operator'],
  'mailbox:work': ['executor', 'operator'],
  approve: ['approver', 'operator'],
}

/** What agents need no role for; the registry decides which subscriptions they may ask for. */
const AGENTS_OWN: Permission[] = ['events:publish', 'mailbox:work', 'subscriptions:write']

/**
 * Does the caller hold the permission? Agents may always publish, work their own mailbox and ask
 * for subscriptions, the platform may publish; everything else comes from roles.
 */
export function isPermitted(principal: Principal, permission: Permission): boolean {
  if (principal.kind === 'system' || principal.roles.includes('admin')) return true
  if (principal.kind === 'agent' && AGENTS_OWN.includes(permission)) return true
  if (principal.kind === 'platform' && permission === 'events:publish') return true
  return principal.roles.some(role => GRANTED[permission].includes(role))
}
