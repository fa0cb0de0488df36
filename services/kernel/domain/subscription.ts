/**
 * The contract: who is woken, by what, for whom, why, until when and how often. One schema for
 * what people write, one type for what the registry stores.
 */
import { z } from 'zod'
import { filtersSchema } from './filter/filter-schema.ts'
import { type Limits, limitsSchema } from './limits.ts'
import type { Principal } from './principal.ts'
import { observeSchema, onSchema, scheduleSchema, type Trigger } from './trigger.ts'

/** Names that may stand in a path: no slash, no control characters. */
export const nameSchema = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:@-]*$/, 'letters, digits and . _ : @ - after a letter or digit')

/** A semantic condition; it waits as `held` where no judge runs. */
export const conditionSchema = z.strictObject({
  criterion: z.string().min(1).max(2000),
  minConfidence: z.number().min(0).max(1).default(0.7),
  askConfidence: z.number().min(0).max(1).optional(),
  scope: z.enum(['each', 'set']).default('each'),
})

/** The members of what people write; `subscriptionSchema` adds that one trigger is set. */
const writtenSchema = z.strictObject({
  name: z.string().min(1).max(128),
  agent: nameSchema,
  owner: nameSchema.optional(),
  onBehalfOf: z.string().min(1).max(256).nullable().optional(),
  instruction: z.string().min(1).max(8000),
  session: z.string().min(1).max(256).nullable().optional(),
  workspace: z.string().min(1).max(256).nullable().optional(),
  managedBy: z.string().min(1).max(128).nullable().optional(),
  on: onSchema.nullable().optional(),
  schedule: scheduleSchema.nullable().optional(),
  observe: observeSchema.nullable().optional(),
  filters: filtersSchema.optional(),
  condition: conditionSchema.nullable().optional(),
  limits: limitsSchema.optional(),
})

const isSet = (value: unknown) => value !== undefined && value !== null

/** What `POST /v1/subscriptions` takes: exactly one of `on`, `schedule` and `observe`. */
export const subscriptionSchema = writtenSchema.refine(
  ({ on, schedule, observe }) => [on, schedule, observe].filter(isSet).length === 1,
  { message: 'exactly one of on, schedule and observe', path: ['on'] },
)

export type SubscriptionInput = z.infer<typeof subscriptionSchema>
export type Condition = z.infer<typeof conditionSchema>

export const APPROVALS = ['not-required', 'pending', 'approved', 'rejected'] as const
export const OPERATIONS = [
  'active',
  'paused',
  'suspended',
  'expired',
  'exhausted',
  'deleted',
] as const
export type Approval = (typeof APPROVALS)[number]
export type Operation = (typeof OPERATIONS)[number]

/** Lifecycle: approval and operation are independent parts. */
export interface SubscriptionState {
  approval: Approval
  operation: Operation
  reason: string
  by: string
  /** RFC 3339 instant of the last change. */
  at: string
  /** When a pause or a suspension ends by itself. */
  until?: string
  /** Subscription version at which the operation part last changed. */
  version: number
}

/** Who asked for the subscription. An agent's origin comes from its lease handle. */
export interface Origin {
  kind: 'person' | 'agent'
  id: string
  onBehalfOf?: string
  messageId?: string
}

/** End offsets of the ingress topics when the subscription started: topic → offset by partition. */
export type StartsAt = Record<string, number[]>

/** From when on which schedule counts. */
export interface Scheduled {
  /** Hash of the schedule's fields: saving without a change keeps it. */
  revision: string
  /** RFC 3339 instant, in store time: creation, change of the schedule, approval or resume. */
  since: string
}

/** The stored form. */
export interface Subscription extends Trigger {
  id: string
  tenant: string
  version: number
  name: string
  agent: string
  owner: string
  onBehalfOf: string | null
  instruction: string
  session: string | null
  workspace: string | null
  managedBy: string | null
  filters: z.infer<typeof filtersSchema>
  condition: Condition | null
  limits: Limits
  origin: Origin
  state: SubscriptionState
  startsAt: StartsAt
  /** Set by the registry for subscriptions with a schedule. */
  scheduled?: Scheduled | null
  createdAt: string
  updatedAt: string
}

/** May candidates of this subscription be delivered at all, lifecycle alone considered? */
export function isLive(state: SubscriptionState): boolean {
  const approved = state.approval === 'not-required' || state.approval === 'approved'
  return approved && state.operation === 'active'
}

/** The name of a principal in `by` and `owner` fields: `user:ana`, `agent:triage`. */
export function principalName(principal: Pick<Principal, 'kind' | 'id'>): string {
  if (principal.kind === 'person') {
    return principal.id.startsWith('user:') ? principal.id : `user:${principal.id}`
  }
  return `${principal.kind}:${principal.id}`
}
