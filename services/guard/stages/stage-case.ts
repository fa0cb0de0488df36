/** Test support: a context in which every stage says `next`, with the parts that a test changes. */
import { defaultAgent } from '#kernel/domain/agent.ts'
import { budgetLimits } from '#kernel/domain/budget-counters.ts'
import { DEFAULT_LIMITS, type Limits } from '#kernel/domain/limits.ts'
import { type PolicyInput, policySchema } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import { groupRule, placeInGroup } from '../group-placement.ts'
import type { GuardFacts, StageContext } from '../guard-facts.ts'
import { BLANK_STATE, type GroupDocument, type GuardState } from '../guard-state.ts'

/** Store time of every case. */
export const NOW = Date.parse('2026-11-30T10:00:00Z')

export interface StageCase {
  limits?: Partial<Limits>
  state?: Partial<GuardState>
  subscription?: Partial<Subscription>
  policy?: PolicyInput
  facts?: Partial<GuardFacts>
  attributes?: EventRecord['attributes']
  counters?: Record<string, number>
  /** Document of the one group `*`. */
  group?: GroupDocument
  context?: Partial<StageContext>
}

export function stageContext(given: StageCase = {}): StageContext {
  const { counters = {}, group, context } = given
  const facts = factsOf(given, counters)
  const rule = groupRule(facts.subscription.limits)
  const attributes = {
    specversion: '1.0',
    id: 'e1',
    source: '/shop',
    type: 'a',
    ...given.attributes,
  }
  return {
    facts,
    event: {
      record: { attributes, json: null, bytes: null, ref: null },
      recordedAt: NOW,
      version: facts.subscription.version,
      matches: () => true,
    },
    verdict: null,
    skipped: null,
    claimant: undefined,
    reservation: { activations: 1, held: [] },
    placement: rule && placeInGroup(rule, '*', group),
    ...context,
  }
}

function factsOf(given: StageCase, counters: Record<string, number>): GuardFacts {
  const limits = { ...DEFAULT_LIMITS, ...given.limits }
  const subscription = { ...subscriptionOf(limits), ...given.subscription }
  const policy = { ...policySchema.parse(given.policy ?? {}), tenant: 'acme', version: 1 }
  const payer = { tenant: 'acme', subscription: 's1', owner: 'user:ana', agent: 'triage' }
  const budgets = { ...policy.budgets, subscription: limits.budget }
  return {
    tenant: 'acme',
    now: NOW,
    subscription,
    policy,
    agent: defaultAgent('acme', 'triage'),
    isTenantStopped: false,
    state: { ...BLANK_STATE, ...given.state },
    budgets: budgetLimits(budgets, payer, { now: NOW, zone: 'UTC' }),
    counter: name => counters[name] ?? 0,
    ...given.facts,
  }
}

function subscriptionOf(limits: Limits): Subscription {
  const at = '2026-11-30T09:00:00Z'
  return {
    ...{ id: 's1', tenant: 'acme', version: 3, name: 'refunds', agent: 'triage' },
    ...{ owner: 'user:ana', onBehalfOf: null, instruction: 'Answer.', session: null },
    ...{
      workspace: null,
      managedBy: null,
      on: {},
      schedule: null,
      observe: null,
      filters: [],
      condition: null,
      limits,
    },
    origin: { kind: 'person', id: 'ana' },
    state: {
      ...{ approval: 'not-required', operation: 'active', reason: '', by: 'user:ana' },
      ...{ at, version: 1 },
    },
    ...{ startsAt: {}, createdAt: at, updatedAt: at },
  }
}
