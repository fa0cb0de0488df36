/** The HTTP contract in types: events, subscriptions and what other types share. */

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
  on?: OnTrigger | null
  schedule?: ScheduleTrigger | null
  observe?: ObserveTrigger | null
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
  /** What a rule of the clock says, in plain words. */
  described?: { en: string; es: string }
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
  /** When a person was asked, where the model was not sure enough. */
  askedAt?: string
  /** What that person said. */
  answer?: { decision: 'accept' | 'ignore'; by: string; at: string; reason?: string }
  /** Why nobody was left to ask. */
  lapse?: { fate: Fate; stage: string; reason: string; details: unknown; at: string }
}

export interface Evidence {
  quote: string
  source: string
  pointer: string
  untrusted: true
}

export interface RunUsage {
  inputTokens?: number
  outputTokens?: number
  calls?: number
  /** Decimal, in the policy's currency. */
  cost?: string
  [more: string]: unknown
}

export interface TestResult {
  items: {
    event: unknown
    verdict?: Verdict | null
    /** `null` where a filter refused the event; `details` names it then. */
    fate: Fate | null
    reason?: string
    details?: Record<string, unknown>
  }[]
  usage?: RunUsage
}
