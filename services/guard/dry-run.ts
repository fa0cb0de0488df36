/**
 * The guard's stages on events that nobody has accepted: the same pure decisions over a working
 * copy, of which only the fates are kept.
 */
import { defaultAgent } from '#kernel/domain/agent.ts'
import { dedupKeyOf } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { hashId, occurrenceIdOf } from '#kernel/domain/ids.ts'
import type { OpenTrial, TrialItem } from '#kernel/domain/trial.ts'
import {
  createUnitOfWork,
  type Output,
  type UnitChanges,
  type UnitOfWork,
  wantMissing,
} from '#kernel/domain/unit-of-work.ts'
import type { Candidate, Decision } from '#schemas/generated/records.ts'
import { decideCandidate } from './decide-candidate.ts'
import { decideFlush } from './decide-flush.ts'
import type { Arrival, GuardWorld } from './guard-facts.ts'
import { parseFlushId } from './guard-state.ts'

/** The world in which the tried subscription is the stored one, and a draft's agent exists. */
export function trialWorld(
  world: GuardWorld,
  { subscription, tenant, isSaved }: OpenTrial,
): GuardWorld {
  const { directory } = world
  return {
    ...world,
    directory: {
      ...directory,
      subscription: (of, id) =>
        of === tenant && id === subscription.id ? subscription : directory.subscription(of, id),
      agent: (of, id) => directory.agent(of, id) ?? (isSaved ? undefined : defaultAgent(of, id)),
    },
  }
}

/** Fates of a test: what the guard would decide now, one event after the other. */
export function decideTest(unit: UnitOfWork, world: GuardWorld, trial: OpenTrial): TrialItem[] {
  const fates = new Map<string, Decision>()
  const watched = { ...unit, emit: (output: Output) => note(fates, output) }
  const arrivals = trial.items.map((item, at) => arrivalOf(trial, item, at, unit.now))
  for (const arrival of arrivals) if (arrival) decideCandidate(watched, world, arrival)
  return withFates(trial.items, arrivals, fates)
}

/**
 * Fates of a backtest: events come at their own times into a guard that remembers nothing from
 * before, and groups are flushed when their time comes.
 */
export function decideBacktest(world: GuardWorld, trial: OpenTrial, now: number): TrialItem[] {
  const memory = createDryMemory(trial.tenant)
  const fates = new Map<string, Decision>()
  const arrivals = trial.items.map((item, at) => arrivalOf(trial, item, at, item.at ?? now))
  const flushUntil = (end: number) => {
    for (let due = memory.nextDue(end); due; due = memory.nextDue(end)) {
      const name = parseFlushId(due.id)
      memory.decide(due.at, fates, unit => decideFlush(unit, world, name))
    }
  }
  for (const [index, arrival] of arrivals.entries()) {
    if (!arrival) continue
    const at = trial.items[index]?.at ?? now
    flushUntil(at)
    memory.decide(at, fates, unit => decideCandidate(unit, world, arrival))
  }
  flushUntil(Number.MAX_SAFE_INTEGER)
  return withFates(trial.items, arrivals, fates)
}

/** The candidate that matching would have made; none where a filter refused the event. */
function arrivalOf(
  { id: trial, tenant, subscription }: OpenTrial,
  { event, failed, verdict, skipped }: TrialItem,
  index: number,
  at: number,
): Arrival | undefined {
  if (failed) return undefined
  const candidate: Candidate = {
    kind: 'candidate',
    tenant,
    subscription: subscription.id,
    version: subscription.version,
    // Named after the trial: an event that had its fate already is tried as if it came anew.
    candidateId: hashId('c', tenant, subscription.id, trial, index),
    occurrenceId: occurrenceIdOf(tenant, subscription.id, dedupKeyOf(event)),
    event: toEventRecord(event),
    position: null,
    recordedAt: at,
    verdict: verdict ?? null,
    skipped: skipped ?? null,
    marker: null,
    at,
  }
  return { candidate: { ...candidate, event: toEventRecord(event) }, body: event }
}

function note(fates: Map<string, Decision>, { topic, value }: Output): void {
  if (topic !== 'decisions' || !value) return
  const decision = value as Decision
  fates.set(decision.candidateId, decision)
}

function withFates(
  items: readonly TrialItem[],
  arrivals: readonly (Arrival | undefined)[],
  fates: ReadonlyMap<string, Decision>,
): TrialItem[] {
  return items.map((item, at) => {
    const decision = fates.get(arrivals[at]?.candidate.candidateId ?? '')
    if (!decision) return { ...item, fate: null, stage: null, reason: 'not-matched' }
    const { fate, stage, reason } = decision
    const details = decision.details as Record<string, unknown>
    return {
      ...item,
      ...(waitsForPerson(item, decision) ? HELD : { fate, stage, reason, details }),
    }
  })
}

const HELD = { fate: 'held', stage: 'verdict', reason: 'waits-for-answer', details: {} }

/** What nothing but the missing answer stopped would be put to a person. */
function waitsForPerson({ verdict }: TrialItem, { reason }: Decision): boolean {
  return verdict?.outcome === 'ask' && reason === 'not-judged'
}

type Body = { version: number; body: string }

/** A store of one backtest: documents, counters and due entries in memory, under any clock. */
function createDryMemory(tenant: string) {
  const documents = new Map<string, Body>()
  const counters = new Map<string, number>()
  const due = new Map<string, { id: string; at: number }>()
  const keep = ({ put, add, due: entries }: UnitChanges) => {
    for (const { key, version, body } of put) {
      if (body === null) documents.delete(key)
      else documents.set(key, { version, body })
    }
    for (const { counter, amount } of add) {
      counters.set(counter, (counters.get(counter) ?? 0) + amount)
    }
    for (const { id, at } of entries) {
      if (at === null) due.delete(id)
      else due.set(id, { id, at })
    }
  }
  const decide = (now: number, fates: Map<string, Decision>, work: (unit: UnitOfWork) => void) => {
    const asked = { documents: new Set<string>(), counters: new Set<string>() }
    for (;;) {
      const { unit, changes } = createUnitOfWork(tenant, asked, { now, documents, counters })
      try {
        work(unit)
        const made = changes()
        for (const output of made.outputs) note(fates, output)
        return keep(made)
      } catch (error) {
        wantMissing(asked, error)
      }
    }
  }
  return {
    decide,
    /** The earliest due entry at or before a moment. */
    nextDue(until: number) {
      let first: { id: string; at: number } | undefined
      for (const entry of due.values()) {
        if (entry.at <= until && entry.at < (first?.at ?? Infinity)) first = entry
      }
      return first
    },
  }
}
