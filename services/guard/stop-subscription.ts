/**
 * What a used-up budget or a storm does beyond the candidate's own fate: a latch that stops at
 * once, a suspension asked of the registry, one notice.
 */
import { parseLineage } from '#kernel/domain/event.ts'
import { parseRfc3339 } from '#kernel/domain/rfc3339.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import type { GuardFacts, Refusal } from './guard-facts.ts'
import { emitNotice, requestChange } from './guard-outputs.ts'
import type { GuardState } from './guard-state.ts'

/** Consequences of a refusal; most have none. Answers the state afterwards. */
export function afterRefusal(
  unit: UnitOfWork,
  facts: GuardFacts,
  { fate, details }: Refusal,
  event?: EventRecord,
): GuardState {
  if (fate === 'over-budget') return overBudget(unit, facts, details as unknown as BudgetDetails)
  if (fate !== 'storm') return facts.state
  return stopStorm(unit, facts, {
    what: 'candidates',
    ...(details as unknown as StormCount),
    event,
  })
}

interface BudgetDetails {
  scope: string
  what: string
  period: string
  limit: number
  until: string
  counter: string
}

/** The own budget suspends until its period ends; others suspend nobody (exact meaning 11). */
function overBudget(unit: UnitOfWork, facts: GuardFacts, details: BudgetDetails): GuardState {
  const { subscription, now } = facts
  const { scope, what, period, counter } = details
  const until = parseRfc3339(details.until) ?? now
  const told = Object.entries(facts.state.told).filter(([, end]) => end > now)
  let { latch } = facts.state
  const text = `The ${scope}'s ${what} of this ${period} are used up until ${details.until}.`
  if (!told.some(([name]) => name === counter)) {
    told.push([counter, until])
    emitNotice(unit, facts, { kind: 'budget', severity: 'warning', cause: counter, text, details })
  }
  if (scope === 'subscription') {
    latch = { kind: 'budget', version: subscription.version, until }
    const body = { until: details.until, kind: 'budget' }
    requestChange(unit, facts, { action: 'suspend', body, reason: text })
  }
  return { ...facts.state, latch, told: Object.fromEntries(told) }
}

export interface StormCount {
  count: number
  max: number
  windowMs: number
}

/** Stops a storm of candidates or of failed runs; a person has to resume (exact meaning 12). */
export function stopStorm(
  unit: UnitOfWork,
  facts: GuardFacts,
  storm: StormCount & { what: 'candidates' | 'failed runs'; event?: EventRecord },
): GuardState {
  const { subscription, state } = facts
  const { what, count, max, windowMs, event } = storm
  const { id, version, name } = subscription
  const text = `${name}: ${count} ${what} within ${windowMs} ms, at most ${max} are allowed.`
  requestChange(unit, facts, { action: 'suspend', body: { kind: 'storm' }, reason: text })
  const history = {
    candidates: state.recent,
    lineage: parseLineage(event?.attributes.lineage),
    event: event && { source: event.attributes.source, id: event.attributes.id },
    openMessages: state.open.slice(-3),
  }
  emitNotice(unit, facts, {
    kind: 'storm',
    severity: 'critical',
    cause: `storm/${id}/${version}`,
    text: `${text} The subscription is suspended until a person resumes it.`,
    details: { what, count, max, windowMs, history },
  })
  return { ...state, latch: { kind: 'storm', version, until: null } }
}
