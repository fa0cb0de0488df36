/** The HTTP contract in types: what happened. */

import type { MailboxChange } from './api-mailbox.ts'
import type { Role } from './api-objects.ts'
import type { CloudEvent, EventIdentity, Fate, PageQuery, Verdict } from './api-subscription.ts'

/** A change that was asked for, as the audit log keeps it. */
export interface AuditEntry {
  changeId: string
  /** What kind of object: `subscription`, `agent`, `source`, `policy`, `key`. */
  kind: string
  id: string
  version: number
  action: string
  by: { tenant: string; kind: string; id: string; roles: Role[] }
  reason: string
  outcome: 'applied' | 'refused'
  /** Members that changed, with the values before and after. */
  changes: unknown
  at: string
}

export interface Decision {
  candidateId: string
  subscription: string
  version: number
  event: EventIdentity & { type: string; time?: string | null }
  fate: Fate
  stage: string
  reason: string
  details?: unknown
  messageId?: string | null
  groupKey?: string | null
  verdict?: Verdict | null
  policyVersion: number
  repeats?: number
  at: string
}

export interface DecisionQuery extends PageQuery {
  subscription?: string
  /** Id of an event; `source` narrows it. */
  event?: string
  source?: string
  fate?: Fate
  since?: string
  until?: string
}

export interface Trace {
  /** Only its identity where the body is no longer kept. */
  event: CloudEvent | EventIdentity
  hops: TraceHop[]
}

/** `accepted`, `matched`, `verdict`, `answered`, `decided`, `message`, `leased` or `run`. */
export interface TraceHop {
  hop: string
  at: string
  [more: string]: unknown
}

export interface Explanation {
  /** True only for `delivered`. */
  fired: boolean
  /** Null for a pair that never matched. */
  fate: Fate | null
  subscription?: { id: string; name: string; version: number }
  steps: ExplainStep[]
  messageId?: string
}

export interface ExplainStep {
  step: string
  /** `passed`, `failed`, `waiting` or `skipped`. */
  outcome: string
  expected?: unknown
  actual?: unknown
  reason?: string
}

export interface Notice {
  id: string
  kind: string
  severity: string
  cause: string
  subscription?: string | null
  agent?: string | null
  messageId?: string | null
  text: string
  at: string
  ackAt?: string | null
}

export interface DeadLetter {
  id: string
  /** Where the refused record stands. */
  topic: string
  partition: number
  offset: number
  code: string
  reason: string
  at: string
  redrivenAt?: string
}

/** Sums per value of the dimension asked for, which stands beside them under its name. */
export interface UsageRow {
  activations?: number
  /** Reads of MCP servers: observations and their probes. */
  polls?: number
  /** Calls of models: verdicts and runs. */
  calls: number
  inputTokens: number
  outputTokens: number
  totalTokens: number
  /** Decimal, in the policy's currency. */
  cost: string
  [dimension: string]: unknown
}

export interface ScheduleEntry {
  subscription: string
  at: string
  [more: string]: unknown
}

/** Planes, steps and services, with their lag. */
export interface SystemState {
  planes?: {
    control: { alive: boolean; heartbeatAgeMs: number }
    /** `running`, or `waiting for policy` once the continuity is over. */
    execution: { state: string; continuityMs: number }
  }
  /** Steps that read topics; `lag` is a number of records. */
  steps?: { step: string; service: string; lag: number; caughtUp: boolean }[]
  /** Services whose lag is no number of records. */
  services?: ServiceState[]
  [more: string]: unknown
}

/** `state` is `ok`, `behind` or `degraded`; the other members are the service's own numbers. */
export interface ServiceState {
  service: string
  state: string
  /** How late the oldest overdue work is. */
  lagMs?: number
  [fact: string]: string | number | null | undefined
}

/** Something that just happened. */
export type StreamEvent =
  | { type: 'decision'; data: Decision }
  | { type: 'notice'; data: Notice }
  | { type: 'mailbox'; data: MailboxChange }
