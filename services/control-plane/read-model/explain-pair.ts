/**
 * `GET /v1/explain`: why one event did, or did not, wake the agent of one subscription. Every
 * check that stands between the two, in order, with what it wanted and what it found.
 */
import { askFactsOf } from '#kernel/domain/ask.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { STAGES } from '#kernel/domain/fate.ts'
import { compileFilters, type MatchSpec } from '#kernel/domain/filter/compile-filters.ts'
import { compileEventCel } from '#kernel/domain/filter/evaluate-filter.ts'
import { matchesSources, matchesTypes } from '#kernel/domain/filter/event-types.ts'
import { valuesOf } from '#kernel/domain/filter/explain-filter.ts'
import type { Filter } from '#kernel/domain/filter/filter-schema.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import { isLive, type Subscription } from '#kernel/domain/subscription.ts'
import { type DecisionItem, type DecisionRow, decisionItem, hasFate } from './decision-queries.ts'
import type { EventRow } from './event-query.ts'
import { stageWants } from './stage-wants.ts'

/** `waiting` has no answer yet; `skipped` was not asked, because an earlier step ended the way. */
export type StepOutcome = 'passed' | 'failed' | 'waiting' | 'skipped'

export interface ExplainStep {
  step: string
  outcome: StepOutcome
  expected: unknown
  actual: unknown
  /** Why a filter could not be evaluated, or the reason of a decision. */
  reason?: string
}

export interface Explanation {
  /** True only for `delivered`. */
  fired: boolean
  /** `null` for a pair that never matched. */
  fate: string | null
  subscription: { id: string; name: string; version: number }
  steps: ExplainStep[]
  messageId?: string
}

/** What is known of the pair. */
export interface PairFacts {
  subscription: Subscription
  event: { row: EventRow; body: CloudEvent } | undefined
  candidate: DecisionRow | undefined
  /** The event's body was erased, so filters over `data` cannot be asked again. */
  isErased: boolean
}

const PACING_STAGES = ['rate', 'cooldown', 'group', 'delivery']

export function explainPair(facts: PairFacts): Explanation {
  const { subscription, candidate } = facts
  const decision = candidate && hasFate(candidate) ? decisionItem(candidate) : undefined
  const matching = candidate ? matchedSteps(facts, candidate) : unmatchedSteps(facts)
  return {
    fired: decision?.fate === 'delivered',
    fate: decision?.fate ?? null,
    subscription: {
      id: subscription.id,
      name: subscription.name,
      version: decision?.version ?? subscription.version,
    },
    steps: [...matching, ...conditionSteps(subscription, candidate), ...guardSteps(decision)],
    ...(decision?.messageId ? { messageId: decision.messageId } : {}),
  }
}

function eventStep({ event, candidate }: PairFacts): ExplainStep {
  const expected = 'an accepted event in the days that are kept'
  if (event) {
    const { topic, accepted_at } = event.row
    const actual = { acceptedAt: instantOf(accepted_at), topic }
    return { step: 'event', outcome: 'passed', expected, actual }
  }
  const outcome = candidate ? 'passed' : 'failed'
  return {
    step: 'event',
    outcome,
    expected,
    actual: candidate ? 'no longer kept' : 'no such event',
  }
}

/** A change after the event's acceptance says nothing about how it stood then. */
function lifecycleStep({ subscription: { state }, event, candidate }: PairFacts): ExplainStep {
  const { approval, operation, reason, by, at, until } = state
  const isChangedSince = event !== undefined && Date.parse(at) > event.row.accepted_at
  const isOpen = isLive(state) || isChangedSince || candidate !== undefined
  return {
    step: 'lifecycle',
    outcome: isOpen ? 'passed' : 'failed',
    expected: { operation: 'active', approval: ['not-required', 'approved'] },
    actual: { operation, approval, by, at, ...(until ? { until } : {}) },
    ...(isOpen && !isLive(state) ? { reason: 'changed after the event' } : { reason }),
  }
}

function startStep({ subscription, event, candidate }: PairFacts): ExplainStep {
  if (!event) return { step: 'startsAt', outcome: 'skipped', expected: null, actual: null }
  const { topic, partition, offset } = event.row
  const from = subscription.startsAt[topic]?.[partition] ?? 0
  const isIn = offset >= from || candidate !== undefined
  return {
    step: 'startsAt',
    outcome: isIn ? 'passed' : 'failed',
    expected: { topic, partition, fromOffset: from },
    actual: { topic, partition, offset },
    ...(isIn ? {} : { reason: 'accepted before the subscription started, or was resumed' }),
  }
}

/** The pair has matched, whatever a later edit of the subscription would say. */
function matchedSteps(facts: PairFacts, { matched_version: version }: DecisionRow): ExplainStep[] {
  return unmatchedSteps(facts).map(step => {
    if (step.outcome === 'passed' || step.step === 'startsAt') return step
    return { ...step, outcome: 'passed', reason: `matched under version ${version}` }
  })
}

/** Every part of the declarative condition has a step of its own, also behind a failed one. */
function unmatchedSteps(facts: PairFacts): ExplainStep[] {
  const { subscription, event } = facts
  const { filters } = subscription
  const { types, sources, ownId } = matchSpecOf(subscription)
  const body = event?.body
  const { type, subject, source } = body ?? {}
  const isType = body && matchesTypes(types, body.type, { subject, ownId })
  const isSource = body && matchesSources(sources, body.source)
  return [
    eventStep(facts),
    lifecycleStep(facts),
    startStep(facts),
    triggerStep(ownId, isType, { types, type, subject }),
    plainStep('on.sources', isSource, { expected: sources ?? ['*'], actual: { source } }),
    ...filters.map((filter, at) => filterStep(facts, filter, `filters/${at}`)),
  ]
}

/** A schedule and an observation take the events that name them, and no others. */
function triggerStep(
  ownId: string | undefined,
  isMet: boolean | undefined,
  { types, type, subject }: { types: MatchSpec['types']; type?: string; subject?: unknown },
): ExplainStep {
  if (ownId === undefined) {
    return plainStep('on.types', isMet, { expected: types ?? ['*'], actual: { type } })
  }
  return plainStep('trigger', isMet, { expected: { subject: ownId }, actual: { type, subject } })
}

function plainStep(
  step: string,
  isMet: boolean | undefined,
  { expected, actual }: { expected: unknown; actual: unknown },
): ExplainStep {
  if (isMet === undefined) return { step, outcome: 'skipped', expected, actual: null }
  return { step, outcome: isMet ? 'passed' : 'failed', expected, actual }
}

/** Exact meaning 26: `expected` is the filter, `actual` the values that it read. */
function filterStep({ event, isErased }: PairFacts, filter: Filter, step: string): ExplainStep {
  const skipped = { step, outcome: 'skipped' as const, expected: filter, actual: null }
  if (!event) return skipped
  if (isErased) return { ...skipped, reason: 'the body of the event was erased' }
  const { body } = event
  // Its own type, so that only the filter can fail.
  const result = compileFilters({ types: [body.type], filters: [filter] }).matches(body)
  if (result.matched) {
    const actual = valuesOf(filter, body, compileEventCel)
    return { step, outcome: 'passed', expected: filter, actual }
  }
  const { failed } = result
  if (failed.filter !== '/filters/0') return skipped
  const { actual, error } = failed
  return { step, outcome: 'failed', expected: filter, actual, ...(error ? { reason: error } : {}) }
}

/** Only where the subscription has a condition, or a verdict was given. */
function conditionSteps(
  { condition }: Subscription,
  candidate: DecisionRow | undefined,
): ExplainStep[] {
  if (!condition && !candidate?.verdict) return []
  const { criterion, minConfidence } = condition ?? {}
  const expected = { criterion, minConfidence }
  const step = 'condition'
  if (!candidate) return [{ step, outcome: 'skipped', expected, actual: null }]
  const { verdict, stage, reason, fate } = decisionItem(candidate)
  if (verdict === undefined) {
    const outcome = fate === 'held' ? 'waiting' : 'skipped'
    return [{ step, outcome, expected, actual: null, reason }]
  }
  const shown = { step, expected, actual: verdict }
  if (fate === 'held') return [{ ...shown, outcome: 'waiting', reason }]
  if (askFactsOf({ body: verdict }).lapse) {
    return [{ ...shown, outcome: 'failed', reason: 'nobody-answered' }]
  }
  return [{ ...shown, outcome: stage === 'verdict' ? 'failed' : 'passed' }]
}

/** What a stage that lets a candidate pass has seen is not stored; what stopped it is. */
function guardSteps(decision: DecisionItem | undefined): ExplainStep[] {
  if (!decision || decision.fate === 'held') return []
  const { fate, stage, reason, details } = decision
  const isDelivered = fate === 'delivered'
  const stages: readonly string[] = STAGES
  const last = isDelivered ? stages.length - 1 : stages.indexOf(stage)
  const before = stages.slice(0, Math.max(last, 0)).filter(each => each !== 'verdict')
  const steps = before.map((step): ExplainStep => {
    // A storm ends the way whatever these said.
    const isUnknown = stage === 'storm' && PACING_STAGES.includes(step)
    const outcome = isUnknown ? 'skipped' : 'passed'
    return { step, outcome, expected: stageWants(step, undefined), actual: null }
  })
  const step = isDelivered ? 'storm' : stage
  const expected = stageWants(step, details)
  const end = { step, expected, actual: { fate, ...objectOf(details) }, reason }
  if (isDelivered) return [...steps, { outcome: 'passed', ...end }]
  return [...steps, { outcome: fate === 'grouped' ? 'waiting' : 'failed', ...end }]
}

function objectOf(details: unknown): object {
  return typeof details === 'object' && details !== null ? details : {}
}
