/**
 * The guard as a step: candidates, change markers and outcomes of a subscription in their order,
 * one at a time, and the flushes that its groups wait for.
 */
import { limitsOf } from '#kernel/domain/budget-counters.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { compileFilters } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { splitTenantKey } from '#kernel/domain/ids.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Step, StepItem } from '#kernel/host/step.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, Decision, EventRef, Marker, Outcome } from '#schemas/generated/records.ts'
import { decideCandidate, groupOf, hasOwnDedupKey } from './decide-candidate.ts'
import { decideFlush } from './decide-flush.ts'
import { decideMarker } from './decide-marker.ts'
import { decideOutcome } from './decide-outcome.ts'
import { groupRule, needsData } from './group-placement.ts'
import type { Arrival, GuardWorld } from './guard-facts.ts'
import { type DecisionKind, journal, kindOf, readState } from './guard-outputs.ts'
import { guardRebuild } from './guard-rebuild.ts'
import { candidateKey, claimKey, groupDocumentKey, guardKey, parseFlushId } from './guard-state.ts'

/** What the guard reads from a record. */
export type GuardItem =
  | ({ kind: 'candidate' } & Arrival)
  | { kind: 'marker'; candidate: Candidate & { marker: Marker } }
  | { kind: 'outcome'; outcome: Outcome }

export interface GuardOptions {
  directory: GuardWorld['directory']
  codec: RecordCodec
  /** Default: the subscription's own filters, compiled once per version. */
  compile?: GuardWorld['compile']
  /**
   * Reads events whose body travels by reference, where a filter or a group needs the body. A
   * body that retention took stays undefined. Without it such filters do not match.
   */
  readBodies?(refs: EventRef[]): Promise<(CloudEvent | undefined)[]>
  /** Counts decisions, replays left out; see `committed`. */
  onDecision?(decision: Decision, kind: Exclude<DecisionKind, 'replay'>): void
}

export type GuardStep = Step<GuardItem> & {
  /**
   * To be called with the outputs of every commit: deciding may be tried several times, so only
   * what was committed is counted (I12).
   */
  committed(outputs: readonly Output[]): void
}

export function createGuardStep(options: GuardOptions): GuardStep {
  const { directory, codec } = options
  const world: GuardWorld = { directory, codec, compile: options.compile ?? compileOnce() }
  return {
    name: 'guard',
    topics: ['candidates', 'outcomes'],
    lastTopics: ['mailbox'],
    journal: 'guard.state',
    rebuild: guardRebuild(world),
    read: record => readItem(codec, record),
    prepare: items => loadBodies(options, items),
    hints: (item, now) => hintsOf(world, item, now),
    decide: (unit, item) => decideItem(unit, world, item),
    dueHints: ({ id }) => {
      const { subscription, hash } = parseFlushId(id)
      const documents = [guardKey(subscription), groupDocumentKey(subscription, hash)]
      return { documents, counters: [] }
    },
    decideDue: (unit, { id }) => decideFlush(unit, world, parseFlushId(id)),
    reassertHints: (_tenant, key) => ({ documents: [guardKey(subscriptionOf(key))], counters: [] }),
    reassert: (unit, key) => reassertState(unit, subscriptionOf(key)),
    committed: outputs => {
      for (const { topic, value } of outputs) {
        if (topic === 'decisions' && value) report(options, value as Decision)
      }
    },
  }
}

function report({ onDecision }: GuardOptions, decision: Decision): void {
  const kind = kindOf(decision)
  if (kind !== 'replay') onDecision?.(decision, kind)
}

/** Compiles each stored version once; a condition that cannot be compiled never matches. */
export function compileOnce(): GuardWorld['compile'] {
  const compiled = new WeakMap<Subscription, ReturnType<GuardWorld['compile']>>()
  return subscription => {
    const known = compiled.get(subscription)
    if (known) return known
    const made = compileSafely(subscription)
    compiled.set(subscription, made)
    return made
  }
}

function compileSafely(subscription: Subscription): ReturnType<GuardWorld['compile']> {
  try {
    return compileFilters(matchSpecOf(subscription))
  } catch {
    return { test: () => false }
  }
}

/** Understands both topics; a candidate without an event is poison. */
function readItem(codec: RecordCodec, { topic, value }: LogRecord) {
  if (!value) return null
  if (topic === 'outcomes') {
    const outcome = codec.decode('outcome', value)
    return { tenant: outcome.tenant, value: { kind: 'outcome', outcome } satisfies GuardItem }
  }
  const candidate = codec.decode('candidate', value)
  return { tenant: candidate.tenant, value: itemOf(candidate) }
}

function itemOf(candidate: Candidate): GuardItem {
  const { kind, marker, event } = candidate
  if (kind === 'marker' && marker) return { kind, candidate: { ...candidate, marker } }
  if (kind === 'candidate' && event) return { kind, candidate: { ...candidate, event } }
  throw new AmbitError('bad-request', `Expected a candidate or a marker, got ${kind} without one.`)
}

function decideItem(unit: UnitOfWork, world: GuardWorld, item: StepItem<GuardItem>): void {
  const { value, record } = item
  if (value.kind === 'candidate') decideCandidate(unit, world, value)
  else if (value.kind === 'marker') decideMarker(unit, value.candidate)
  else decideOutcome(unit, world, { outcome: value.outcome, offset: record.offset })
}

function hintsOf({ directory }: GuardWorld, { tenant, value }: StepItem<GuardItem>, now: number) {
  if (value.kind === 'outcome') {
    return { documents: [guardKey(value.outcome.subscription)], counters: [] }
  }
  const { subscription: id, candidateId, occurrenceId } = value.candidate
  if (value.kind === 'marker') return { documents: [guardKey(id)], counters: [] }
  const documents = [guardKey(id), candidateKey(id, candidateId)]
  if (hasOwnDedupKey(value.candidate)) documents.push(claimKey(id, occurrenceId))
  const subscription = directory.subscription(tenant, id)
  if (!subscription) return { documents, counters: [] }
  const group = groupOf(subscription, value)
  if (group) documents.push(group.documentKey)
  const limits = limitsOf(subscription, directory.policy(tenant), now)
  return { documents, counters: limits.map(({ counter }) => counter) }
}

/** Fetches the bodies that deciding will look into. */
async function loadBodies(options: GuardOptions, items: StepItem<GuardItem>[]): Promise<void> {
  const { readBodies, directory } = options
  if (!readBodies) return
  const wanted = items.flatMap(({ tenant, value }) => {
    if (value.kind !== 'candidate') return []
    const { event, subscription, version } = value.candidate
    const current = event.ref && directory.subscription(tenant, subscription)
    if (!current || !event.ref) return []
    const rule = groupRule(current.limits)
    const isNeeded = version < current.version || (rule && needsData(rule))
    return isNeeded ? [{ value, ref: event.ref }] : []
  })
  if (wanted.length === 0) return
  const bodies = await readBodies(wanted.map(({ ref }) => ref))
  for (const [at, { value }] of wanted.entries()) value.body = bodies[at]
}

const subscriptionOf = (key: string) => splitTenantKey(key)[1] ?? ''

function reassertState(unit: UnitOfWork, subscription: string): void {
  const version = unit.version(guardKey(subscription))
  if (version > 0) journal(unit, subscription, { version, state: readState(unit, subscription) })
}
