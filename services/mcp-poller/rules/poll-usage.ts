/**
 * What polls cost: how many there were. A quiet poll is not worth a record, so they are counted
 * with the observation's state and told whenever that is written; a process that ends forgets at
 * most a minute's worth. No money and no tokens: no budget knows of them.
 */
import { tenantKey } from '#kernel/domain/ids.ts'
import { dayOf } from '#kernel/domain/period.ts'
import { POLL_STAGE } from '#kernel/domain/poll-stage.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Usage } from '#schemas/generated/records.ts'
import type { Observation, Subscriber } from './observation-book.ts'
import type { Decided, PollResult } from './poll-result.ts'

export interface PollCount {
  observation: Observation
  /** Those who want it now; of a probe nobody does. */
  live: readonly Subscriber[]
  /** Polls of an observation of this name that was forgotten since. */
  pollsBefore: number
  /** Zone of the tenant's day. */
  zone: string
  now: number
}

/** Was the server asked at all? */
export function hasAsked(result: PollResult): boolean {
  if (result.kind !== 'refused') return true
  return result.refusal === 'operation-changed' && !result.isFlagged
}

/**
 * Counts one poll, and tells the count where the state is written anyway. The number of the last
 * poll names the record, so that what is told again after a crash counts once.
 */
export function withPollCounted(decided: Decided, count: PollCount): Decided {
  const { state, outputs, isNews } = decided
  const polls = (state.polls ?? count.pollsBefore) + 1
  const untold = (state.pollsUntold ?? 0) + 1
  const payer = payerOf(count)
  if (!isNews || !payer) return { ...decided, state: { ...state, polls, pollsUntold: untold } }
  return {
    state: { ...state, polls, pollsUntold: 0 },
    outputs: [...outputs, usageOutput(count, payer, { attempt: polls, calls: untold })],
    isNews,
  }
}

/** One pays, however many share: whose interval is the shortest, the first by id among equals. */
function payerOf({ observation, live }: PollCount): Subscriber | undefined {
  const sharers = live.length > 0 ? live : [...observation.subscribers.values()]
  const isBefore = (a: Subscriber, b: Subscriber) =>
    a.everyMs < b.everyMs || (a.everyMs === b.everyMs && a.id < b.id)
  return sharers.reduce<Subscriber | undefined>(
    (first, each) => (first && isBefore(first, each) ? first : each),
    undefined,
  )
}

/** A record of so many polls. */
function usageOutput(
  { observation, zone, now }: PollCount,
  { id: subscription, owner, agent }: Subscriber,
  { attempt, calls }: { attempt: number; calls: number },
): Output {
  const { tenant, id: subject } = observation
  return pollUsage({ tenant, subscription, owner, agent, subject, attempt, calls, zone, now })
}

/** The record itself; `subject` is the observation, or the dry run that looked. */
export function pollUsage(
  polls: Pick<Usage, 'tenant' | 'subscription' | 'owner' | 'agent' | 'subject' | 'attempt'> & {
    calls: number
    zone: string
    now: number
  },
): Output {
  const { calls, zone, now, ...names } = polls
  const value: Usage = {
    ...{ ...names, stage: POLL_STAGE, calls },
    ...{ activations: 0, inputTokens: 0, outputTokens: 0, cost: '0' },
    ...{ day: dayOf(now, zone), at: now },
  }
  const { tenant, subscription, subject, attempt } = names
  const key = tenantKey(tenant, subscription)
  return { topic: 'usage', key, id: `${subject}/${POLL_STAGE}/${attempt}`, tenant, value }
}
