/** One document per tenant: grants, agent rules, budgets, defaults, bounds, calendar zone. */
import { z } from 'zod'
import { budgetSchema, limitsSchema } from './limits.ts'

const zone = z.string().refine(isZone, 'an IANA time zone such as Europe/Madrid')

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** What `PUT /v1/policy` takes. */
export const policySchema = z.strictObject({
  /** Days and months of budgets are counted here. Default UTC. */
  zone: zone.default('UTC'),
  currency: z.string().length(3).default('EUR'),
  /** `null` grants everybody everything; a list grants only what it names. */
  grants: z
    .array(
      z.strictObject({
        person: z.string().min(1),
        agent: z.string().min(1),
        may: z.array(z.enum(['subscribe'])).min(1),
      }),
    )
    .nullable()
    .default(null),
  agentRules: z
    .array(
      z.strictObject({
        from: z.string().min(1),
        to: z.string().min(1),
        allow: z.boolean(),
        /** How often the pair may re-enter a lineage. Default 0. */
        reentries: z.int().min(0).max(8).default(0),
      }),
    )
    .default([]),
  connectors: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        operations: z.array(z.string()),
        persons: z.array(z.string()),
      }),
    )
    .default([]),
  approval: z
    .array(
      z.strictObject({
        when: z.strictObject({ origin: z.enum(['person', 'agent']).optional() }),
        require: z.boolean(),
      }),
    )
    .default([]),
  /** Budgets above the subscription's own; each agent and owner has one of the given size. */
  budgets: z
    .strictObject({
      tenant: budgetSchema.optional(),
      owner: budgetSchema.optional(),
      agent: budgetSchema.optional(),
    })
    .default({}),
  defaults: limitsSchema.default({}),
  bounds: z
    .strictObject({
      minIntervalMs: z.int().min(1000).default(60_000),
      maxSubscriptions: z.int().min(1).nullable().default(null),
    })
    .prefault({}),
  retention: z.strictObject({ evidenceDays: z.int().min(1).max(3650).default(30) }).prefault({}),
})

export type PolicyInput = z.input<typeof policySchema>

/** The stored form. */
export type Policy = z.output<typeof policySchema> & { tenant: string; version: number }

/** Read once: decisions ask for the default of tenants that have no policy. Never written to. */
const DEFAULTS = policySchema.parse({})

/** What a tenant has before anybody wrote a policy: version 0, permissive. */
export function defaultPolicy(tenant: string): Policy {
  return { ...DEFAULTS, tenant, version: 0 }
}

/** May this owner have that agent woken? Seeing an agent is not enough. */
export function isEntitled(policy: Policy, owner: string, agent: string): boolean {
  if (policy.grants === null) return true
  const names = (given: string, wanted: string) => given === '*' || given === wanted
  return policy.grants.some(
    grant =>
      names(grant.person, owner) && names(grant.agent, agent) && grant.may.includes('subscribe'),
  )
}

/** How often `to` may be woken again in a lineage that already woke it from `from`. */
export function reentriesOf(policy: Policy, from: string, to: string): number {
  const rule = policy.agentRules.find(r => r.from === from && r.to === to && r.allow)
  return rule?.reentries ?? 0
}
