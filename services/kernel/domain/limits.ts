/**
 * Limits of a subscription. In what people write, an omitted field takes the tenant's default
 * and `null` means no bound; the stored form has every field.
 */
import { z } from 'zod'

const positiveMs = z.int().min(0).max(31_622_400_000)
const instant = z.iso.datetime({ offset: true })

/** Alertmanager's meaning: `waitMs` before a first flush, `intervalMs` between flushes. */
export const groupSchema = z.strictObject({
  /** Attributes or `data.<path>` whose values name the group; empty means one group. */
  by: z.array(z.string().min(1).max(256)).max(8).default([]),
  /** Ms from the first member to the first flush of a key. Default 0. */
  waitMs: positiveMs.default(0),
  /** Ms from a flush to the next one of the same key. Default 300 000. */
  intervalMs: positiveMs.default(300_000),
  /** Events in one message; a full group closes. Default 50, at most 100. */
  max: z.int().min(1).max(100).default(50),
})

const amount = z.int().min(0).nullable().optional()
const money = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,6})?$/, 'a decimal number such as "12.50"')
  .nullable()
  .optional()

/** Counted per calendar day or month in the tenant's zone. */
export const budgetSchema = z.strictObject({
  activationsPerDay: amount,
  activationsPerMonth: amount,
  tokensPerDay: amount,
  tokensPerMonth: amount,
  moneyPerDay: money,
  moneyPerMonth: money,
})

export const limitsSchema = z.strictObject({
  /** Shortest distance of two deliveries, ms. */
  cooldownMs: positiveMs.nullable().optional(),
  /** What happens inside it: `drop` the candidate or `group` it until the end. */
  cooldownRule: z.enum(['drop', 'group']).optional(),
  group: groupSchema.nullable().optional(),
  /** Deliveries in the subscription's life; then it is `exhausted`. */
  maxOccurrences: z.int().min(1).nullable().optional(),
  notBefore: instant.nullable().optional(),
  expiresAt: instant.nullable().optional(),
  /** Counted from `time`, else from reception. */
  maxEventAgeMs: positiveMs.nullable().optional(),
  budget: budgetSchema.nullable().optional(),
  concurrency: z
    .strictObject({
      /** Runs of this subscription at once; `null` means no bound. */
      max: z.int().min(1).max(1000).nullable().default(null),
      overlap: z.enum(['skip', 'queue', 'parallel']).default('queue'),
    })
    .nullable()
    .optional(),
  rate: z
    .strictObject({ perMinute: z.int().min(1).max(100_000) })
    .nullable()
    .optional(),
  storm: z
    .strictObject({ windowMs: z.int().min(1000).max(86_400_000), max: z.int().min(1).max(100_000) })
    .nullable()
    .optional(),
})

/** Limits as people write them. */
export type LimitsInput = z.infer<typeof limitsSchema>
export type Budget = z.infer<typeof budgetSchema>
export type Group = z.infer<typeof groupSchema>

/** Limits as stored: every field decided. */
export type Limits = { [K in keyof LimitsInput]-?: Exclude<LimitsInput[K], undefined> }

/** What a tenant without a policy of its own gets: permissive, but a runaway still stops. */
export const DEFAULT_LIMITS: Limits = {
  cooldownMs: null,
  cooldownRule: 'drop',
  group: null,
  maxOccurrences: null,
  notBefore: null,
  expiresAt: null,
  maxEventAgeMs: null,
  budget: null,
  concurrency: { max: null, overlap: 'queue' },
  rate: null,
  storm: { windowMs: 60_000, max: 1000 },
}

/** Fills what was omitted: the tenant's default first, then ours. */
export function resolveLimits(input: LimitsInput | undefined, tenant: LimitsInput): Limits {
  const decided = (from: LimitsInput | undefined) =>
    Object.fromEntries(Object.entries(from ?? {}).filter(([, value]) => value !== undefined))
  const limits = { ...DEFAULT_LIMITS, ...decided(tenant), ...decided(input) }
  const { notBefore, expiresAt } = limits
  return { ...limits, notBefore: inUtc(notBefore), expiresAt: inUtc(expiresAt) }
}

/** Stored instants are in UTC with `Z`, whatever offset they were written with. */
function inUtc(instant: string | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}
