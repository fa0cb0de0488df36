/** The subscriptions, agents and policies of a seed: every kind of limit, in small numbers. */
import type { SubscriptionInput } from '#kernel/domain/subscription.ts'
import type { Random } from './random.ts'

export const AGENTS = ['alpha', 'beta', 'gamma'] as const
export const OWNERS = ['user:ana', 'user:ben'] as const
export const TYPES = ['order.created', 'order.updated', 'alert.raised', 'deploy.done'] as const

export interface PlannedSubscription {
  id: string
  body: SubscriptionInput
}

type Limits = NonNullable<SubscriptionInput['limits']>
type Kind = (random: Random, nowMs: number) => Partial<SubscriptionInput>

const withLimits = (limits: Limits): Partial<SubscriptionInput> => ({ limits })

/** Kinds by name; a seed takes some of them, with its own numbers. */
const KINDS: Record<string, Kind> = {
  plain: () => ({}),
  exact: random => ({ filters: [{ exact: { subject: `s${random.below(4)}` } }] }),
  cel: random => ({ filters: [{ cel: `data.amount > ${random.between(10, 60)}` }] }),
  nested: () => ({
    filters: [{ any: [{ prefix: { subject: 's1' } }, { not: { exact: { 'data.lang': 'es' } } }] }],
  }),
  drop: random => withLimits({ cooldownMs: random.between(500, 4000), cooldownRule: 'drop' }),
  hold: random => withLimits({ cooldownMs: random.between(500, 3000), cooldownRule: 'group' }),
  group: random =>
    withLimits({
      group: {
        by: random.pick([[], ['subject'], ['data.lang']]),
        waitMs: random.pick([0, 300, 1500]),
        intervalMs: random.between(500, 3000),
        max: random.between(2, 6),
      },
      ...(random.chance(0.4) ? { cooldownMs: 700, cooldownRule: 'group' as const } : {}),
      ...(random.chance(0.3) ? { budget: { activationsPerDay: random.between(2, 6) } } : {}),
    }),
  budget: random => withLimits({ budget: { activationsPerDay: random.between(2, 12) } }),
  rate: random => withLimits({ rate: { perMinute: random.between(3, 10) } }),
  storm: random => withLimits({ storm: { windowMs: 5000, max: random.between(4, 12) } }),
  skip: () => withLimits({ concurrency: { max: null, overlap: 'skip' } }),
  queue: random => ({
    session: 'one',
    ...withLimits({ concurrency: { max: random.between(1, 2), overlap: 'queue' } }),
  }),
  aged: () => withLimits({ maxEventAgeMs: 5000 }),
  few: random => withLimits({ maxOccurrences: random.between(2, 8) }),
  ending: (random, nowMs) =>
    withLimits({ expiresAt: new Date(nowMs + random.between(8000, 30_000)).toISOString() }),
  later: (random, nowMs) =>
    withLimits({ notBefore: new Date(nowMs + random.between(5000, 20_000)).toISOString() }),
  runs: () => ({ on: { types: ['platform.run.finished'] }, agent: 'gamma' }),
  ping: random => ({ on: { types: ['loop.ping'] }, agent: random.pick(AGENTS) }),
  pong: random => ({ on: { types: ['loop.*'] }, agent: random.pick(AGENTS) }),
  hook: () => ({ on: { types: ['webhook.*'] } }),
}

/** Two loops are always there, and three to eight others. */
export function planSubscriptions(random: Random, nowMs: number): PlannedSubscription[] {
  const names = Object.keys(KINDS)
  const chosen = ['ping', 'pong', 'plain']
  const count = random.between(3, 8)
  for (let n = 0; n < count; n++) {
    const name = random.pick(names)
    // Each run of each `runs` would wake every other: one is enough.
    if (name !== 'runs' || !chosen.includes(name)) chosen.push(name)
  }
  return chosen.map((name, n) => ({
    id: `${name}-${n}`,
    body: planOne(random, name, nowMs),
  }))
}

export function planOne(random: Random, name: string, nowMs: number): SubscriptionInput {
  const kind = KINDS[name] ?? KINDS.plain
  return {
    name,
    agent: random.pick(AGENTS),
    owner: random.pick(OWNERS),
    instruction: `Handle ${name}.`,
    on: { types: random.pick([[random.pick(TYPES)], ['order.*'], [...TYPES]]) },
    ...kind?.(random, nowMs),
  }
}

/** Changes of limits and filters that an editor may make. */
export function planPatch(random: Random): Record<string, unknown> {
  return random.pick<() => Record<string, unknown>>([
    () => ({ filters: [{ cel: `data.amount > ${random.between(0, 90)}` }] }),
    () => ({ filters: [] }),
    () => ({ limits: { cooldownMs: random.pick([null, 500, 2000]) } }),
    () => ({ limits: { group: random.pick([null, { by: [], waitMs: 200, intervalMs: 800 }]) } }),
    () => ({ limits: { budget: { activationsPerDay: random.between(4, 20) } } }),
    () => ({ instruction: `Edited ${random.below(100)}.` }),
    () => ({ on: { types: [random.pick(TYPES), 'alert.*'] } }),
    () => ({ agent: random.pick(AGENTS) }),
  ])()
}

/** Policies in force one after the other. */
export function planPolicy(random: Random): Record<string, unknown> {
  const some = (low: number, high: number) =>
    random.chance(0.5) ? { activationsPerDay: random.between(low, high) } : undefined
  return {
    zone: random.pick(['UTC', 'Europe/Madrid', 'America/New_York']),
    budgets: { owner: some(20, 60), agent: some(20, 60), tenant: some(40, 90) },
    agentRules: random.chance(0.5)
      ? [
          {
            from: random.pick(AGENTS),
            to: random.pick(AGENTS),
            allow: random.chance(0.7),
            reentries: random.between(0, 2),
          },
        ]
      : [],
    ...(random.chance(0.25)
      ? { grants: [{ person: 'user:ana', agent: '*', may: ['subscribe'] }] }
      : {}),
  }
}
