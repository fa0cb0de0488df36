/** The HTTP contract in types: agents, sources, connectors, policy and keys. */
import type { Budget, Limits } from './api-subscription.ts'

export interface AgentInput {
  name?: string
  capabilities?: { selfSubscribe?: boolean }
  maxConcurrentLeases?: number
  maxAttempts?: number
  backoffMs?: number
  push?: { url: string }
}

export type Verification =
  | { scheme: 'standard-webhooks' | 'github' | 'stripe' | 'slack' | 'bearer'; secret: string }
  | {
      scheme: 'hmac'
      secret: string
      header: string
      algorithm: 'sha256' | 'sha512'
      encoding: 'hex' | 'base64'
      prefix?: string
      timestampHeader?: string
    }
  | { scheme: 'none' }

export interface SourceInput {
  kind: 'webhook'
  verification: Verification
  /** CEL expressions over `body` and `headers`. */
  map?: { type?: string; subject?: string; id?: string; dedupKey?: string }
  rateLimit?: { perSecond: number; burst: number }
  trust?: 'untrusted' | 'trusted'
}

export interface ConnectorInput {
  transport: 'http' | 'stdio'
  url?: string
  command?: string | string[]
  auth?: { scheme: 'bearer' | 'header' | 'oauth'; secret: string; [more: string]: unknown }
  allow?: { operation: string; [more: string]: unknown }[]
}

/** The tenant's policy document; an omitted part takes its default. */
export interface PolicyInput {
  zone?: string
  currency?: string
  grants?: { person: string; agent: string; may: 'subscribe'[] }[] | null
  agentRules?: { from: string; to: string; allow: boolean; reentries?: number }[]
  connectors?: { name: string; operations: string[]; persons: string[] }[]
  approval?: { when: { origin?: 'person' | 'agent' }; require: boolean }[]
  budgets?: { tenant?: Budget; owner?: Budget; agent?: Budget }
  defaults?: Limits
  bounds?: { minIntervalMs?: number; maxSubscriptions?: number | null }
  retention?: { evidenceDays?: number }
}

/** What a server adds to a stored object. */
export type Stored<T> = T & { version?: number }

export type Role =
  | 'admin'
  | 'viewer'
  | 'owner'
  | 'approver'
  | 'operator'
  | 'producer'
  | 'executor'
  | 'platform'

export interface KeyInput {
  principal: { kind: 'person' | 'agent' | 'platform'; id: string }
  roles?: Role[]
}

export interface Key extends KeyInput {
  id: string
  createdAt?: string
}

/** The one answer that shows the secret. */
export interface CreatedKey extends Key {
  /** The credential to send as bearer token; it is not shown again. */
  key: string
}
