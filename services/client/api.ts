/**
 * The HTTP contract in types, written by hand after the API page: one file, so that a change of the
 * contract is one difference to read. Fields may be added by a server; nothing here goes away.
 * Instants are RFC 3339 in UTC; durations are whole milliseconds, last word `Ms`.
 */

/** A CloudEvent 1.0.2 in its JSON form; extension attributes stand beside the others. */
export interface CloudEvent {
  specversion: '1.0'
  id: string
  source: string
  type: string
  subject?: string
  time?: string
  datacontenttype?: string
  dataschema?: string
  data?: unknown
  data_base64?: string
  [extension: string]: unknown
}

/** An event to publish: `specversion` and `id` are filled in where they are missing. */
export interface EventInput {
  source: string
  type: string
  id?: string
  specversion?: '1.0'
  subject?: string
  time?: string
  datacontenttype?: string
  dataschema?: string
  data?: unknown
  data_base64?: string
  /** Events with the same key are one occurrence. Default: `source` + `id`. */
  dedupkey?: string
  [extension: string]: unknown
}

export interface EventIdentity {
  source: string
  id: string
}

/** 202 of `POST /v1/events`: the events are durable. */
export interface Accepted {
  accepted: EventIdentity[]
}

/** One page of a list; `next` goes back as `cursor`, and is absent or null on the last page. */
export interface Page<T> {
  items: T[]
  next?: string | null
}

/** Query of every list. `limit` is at most 200, 50 by default. */
export interface PageQuery {
  limit?: number
  cursor?: string
}

export interface OnTrigger {
  /** Exact or globs with `*`; an omitted list matches all. */
  types?: string[]
  sources?: string[]
}

export type ScheduleTrigger =
  | { once: string; tzid: string }
  | {
      dtstart: string
      tzid: string
      rrule?: string | null
      rdates?: string[]
      exdates?: string[]
      missed?: string
      jitterMs?: number
    }
  | {
      anchor: {
        calendar: string
        uid?: string
        query?: { category?: string; attendee?: string; summaryPrefix?: string }
        edge: 'start' | 'end'
        offsetMs: number
      }
    }

export interface ObserveTrigger {
  connector: string
  operation: string
  arguments?: Record<string, unknown>
  everyMs: number
  itemsPointer: string
  identityPointer: string
  watch: 'new' | 'changed'
  cursorArgument?: string
  cursorPointer?: string
}

/** A filter of the CloudEvents Subscriptions API dialects, or a CEL expression. */
export type Filter =
  | { readonly exact: Readonly<Record<string, string>> }
  | { readonly prefix: Readonly<Record<string, string>> }
  | { readonly suffix: Readonly<Record<string, string>> }
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly cel: string }

export interface Condition {
  criterion: string
  minConfidence?: number
  askConfidence?: number
  scope?: 'each' | 'set'
}

export interface Budget {
  activationsPerDay?: number | null
  activationsPerMonth?: number | null
  tokensPerDay?: number | null
  tokensPerMonth?: number | null
  /** Decimal, in the policy's currency. */
  moneyPerDay?: string | null
  moneyPerMonth?: string | null
}

/** `null` means no bound; an omitted field takes the tenant's default. */
export interface Limits {
  cooldownMs?: number | null
  cooldownRule?: 'drop' | 'group'
  group?: { by?: string[]; waitMs?: number; intervalMs?: number; max?: number } | null
  maxOccurrences?: number | null
  notBefore?: string | null
  expiresAt?: string | null
  maxEventAgeMs?: number | null
  budget?: Budget | null
  concurrency?: { max?: number | null; overlap?: 'skip' | 'queue' | 'parallel' } | null
  rate?: { perMinute: number } | null
  storm?: { windowMs: number; max: number } | null
}

/** What `POST /v1/subscriptions` takes: exactly one of `on`, `schedule` and `observe`. */
export interface SubscriptionInput {
  name: string
  agent: string
  owner?: string
  onBehalfOf?: string | null
  instruction: string
  session?: string | null
  workspace?: string | null
  managedBy?: string | null
  on?: OnTrigger
  schedule?: ScheduleTrigger
  observe?: ObserveTrigger
  filters?: readonly Filter[]
  condition?: Condition | null
  limits?: Limits
}

export type Approval = 'not-required' | 'pending' | 'approved' | 'rejected'
export type Operation = 'active' | 'paused' | 'suspended' | 'expired' | 'exhausted' | 'deleted'

export interface SubscriptionState {
  approval: Approval
  operation: Operation
  reason: string
  by: string
  at: string
  until?: string
}

/** The stored form. */
export interface Subscription extends SubscriptionInput {
  id: string
  version: number
  owner: string
  origin: { kind: 'person' | 'agent'; id: string; onBehalfOf?: string; messageId?: string }
  state: SubscriptionState
  createdAt: string
  updatedAt: string
  /** Up to ten coming instants of a schedule. */
  next?: string[]
  last?: { fate: Fate; at: string; eventId: string; messageId?: string } | null
}

/** JSON merge patch of a subscription. */
export type SubscriptionPatch = Partial<SubscriptionInput>

/** 202: the change is durable and not answered yet. */
export interface PendingChange {
  changeId: string
  /** Where to ask for the outcome. */
  status: string
}

/** A change that was asked for, as the audit log keeps it. */
export interface AuditEntry {
  changeId: string
  /** What kind of object: `subscription`, `agent`, `source`, `policy`, `key`. */
  kind: string
  id: string
  version: number
  action: string
  by: unknown
  reason: string
  outcome: 'applied' | 'refused'
  /** Members that changed, with the values before and after. */
  changes: unknown
  at: string
}

/** What `POST /v1/apply` does, or would do, with one subscription. */
export interface ApplyItem {
  action: 'create' | 'update' | 'unchanged' | 'delete'
  id: string
  name: string
}

export type Fate =
  | 'delivered'
  | 'grouped'
  | 'held'
  | 'duplicate'
  | 'cycle'
  | 'not-entitled'
  | 'over-budget'
  | 'cooldown'
  | 'overlap'
  | 'rejected'
  | 'evaluation-failed'
  | 'inactive'
  | 'stale'
  | 'storm'

export interface Verdict {
  id?: string
  outcome: string
  confidence?: number
  evidence?: Evidence[]
  model?: string
  usage?: RunUsage
  cached?: boolean
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

/** `accepted`, `matched`, `verdict`, `decided`, `message`, `leased` or `run`. */
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

/** Planes, services and their lag. */
export type SystemState = Record<string, unknown>

export interface Evidence {
  quote: string
  source: string
  pointer: string
  untrusted: true
}

export interface Hop {
  subscription: string
  agent: string
  message: string
}

export interface Message {
  id: string
  kind: string
  tenant: string
  onBehalfOf: string | null
  agent: string
  session: string | null
  workspace: string | null
  subscription: { id: string; version: number; name: string } | null
  instruction: string
  /** Their data is untrusted: something to read, never instructions to follow. */
  events: CloudEvent[]
  evidence: Evidence[]
  lineage: Hop[]
  policyVersion: number
  createdAt: string
  expiresAt: string | null
  state: string
  attempts: number
  run?: unknown
  /** What a continuation brings. */
  input?: unknown
}

export interface Lease {
  /** The fencing number: compare it where effects land. */
  token: number
  /** Signed proof of the lease; every call sends it. */
  handle: string
  expiresAt: string
}

export interface ClaimedMessage {
  message: Message
  lease: Lease
  attempt: number
}

export interface ClaimInput {
  executor: string
  leaseMs?: number
  /** Ms to wait for a first message. Default 0. */
  waitMs?: number
  max?: number
}

export interface RunUsage {
  inputTokens?: number
  outputTokens?: number
  calls?: number
  /** Decimal, in the policy's currency. */
  cost?: string
  [more: string]: unknown
}

export type RunError = string | { code?: string; message?: string; [more: string]: unknown }

export interface RunResult {
  ok: boolean
  stopReason: string
  error?: RunError | null
  usage?: RunUsage | null
  output?: unknown
  iterations?: number
  toolCalls?: number
  calls?: { tool: string; [more: string]: unknown }[]
}

export interface Settlement {
  id: string
  state: string
  attempts: number
  /** When a failed message may be claimed again. */
  availableAt?: string
  run?: unknown
}

export interface Effect {
  tool: string
  class: 'read' | 'write' | 'sensitive'
  egress?: boolean
  target?: string
}

export interface Authorization {
  allowed: boolean
  reason: string
  [more: string]: unknown
}

export interface Question {
  question: string
  options?: string[]
  effect?: { tool: string; target?: string }
  result?: RunResult
}

export interface ApprovalAnswer {
  decision: 'accept' | 'edit' | 'respond' | 'ignore'
  args?: unknown
  text?: string
  reason?: string
}

export interface Continuation {
  session: string
  kind: 'turn' | 'follow-up'
  input: unknown
  /** Needed for a follow-up: the handle of the run that opened it. */
  handle?: string
}

export interface MailboxSummary {
  agent: string
  /** How many messages are in each state. */
  messages: Record<string, number>
}

/** What waits for a person: a question of a run, or a subscription to approve. */
export interface PendingApproval {
  kind: 'question' | 'subscription'
  id: string
  agent: string | null
  owner: string | null
  askedAt: string
  [more: string]: unknown
}

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

export interface TestResult {
  items: { event: unknown; verdict?: Verdict | null; fate: Fate | null; reason?: string }[]
  usage?: RunUsage
}

/** Something that just happened; `data` is the `Decision`, the `Notice` or the `MailboxChange`. */
export interface StreamEvent {
  /** `decision`, `notice` or `mailbox`. */
  type: string
  /** Given back as `Last-Event-ID` after a broken connection, where the server sends one. */
  id?: string
  data: unknown
}

/** What changed about one message. */
export interface MailboxChange {
  messageId: string
  agent: string
  subscription: string | null
  state: string
  attempts: number
  at: string
}
