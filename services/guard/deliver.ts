/**
 * What a delivery and its opposite do: reserve or give back activations, put the message into the
 * mailbox, move cooldown, rate and lifetime count on.
 */
import { BUDGET_COUNTER_TTL_MS } from '#kernel/domain/budget-counters.ts'
import { parseLineage } from '#kernel/domain/event.ts'
import { parseRfc3339 } from '#kernel/domain/rfc3339.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { EventRecord, Evidence, Message } from '#schemas/generated/records.ts'
import { unionOfHops } from './group-placement.ts'
import type { GuardFacts, GuardWorld } from './guard-facts.ts'
import { emitMessage, requestChange } from './guard-outputs.ts'
import { type GuardState, withDelivery } from './guard-state.ts'

/** One event that a message lists. */
export interface Delivered {
  candidateId: string
  event: EventRecord
  evidence: Evidence[]
}

export interface Delivery {
  messageId: string
  groupKey: string | null
  items: Delivered[]
  /** Counters in which an activation is reserved already. */
  held: readonly string[]
}

/** Delivers; answers the state afterwards and the encoded message. */
export function deliver(
  unit: UnitOfWork,
  { codec }: GuardWorld,
  facts: GuardFacts,
  delivery: Delivery,
): { state: GuardState; encoded: Uint8Array } {
  const { messageId, held } = delivery
  const { limits } = facts.subscription
  reserve(unit, facts, held)
  const message = messageOf(facts, delivery)
  emitMessage(unit, facts, message)
  const state = withDelivery(facts.state, limits, { messageId, now: facts.now })
  const { maxOccurrences } = limits
  if (maxOccurrences !== null && state.delivered >= maxOccurrences) {
    requestChange(unit, facts, {
      action: 'exhaust',
      body: { maxOccurrences },
      reason: `delivered ${state.delivered} of at most ${maxOccurrences} times`,
    })
  }
  return { state, encoded: codec.encode('message', message) }
}

/**
 * Holds one activation in every budget that applies now, and in no other; answers the counters.
 * What is held already stays, so a group that is flushed in a new period pays there.
 */
export function reserve(
  unit: UnitOfWork,
  { budgets }: GuardFacts,
  held: readonly string[],
): string[] {
  const charged: string[] = []
  for (const { what, counter, limit, ttlMs } of budgets) {
    if (what !== 'activations') continue
    charged.push(counter)
    if (!held.includes(counter)) unit.add({ counter, amount: 1, limit, ttlMs })
  }
  giveBack(
    unit,
    held.filter(counter => !charged.includes(counter)),
  )
  return charged
}

/** Gives back what was reserved and not delivered (I8). */
export function giveBack(unit: UnitOfWork, held: readonly string[]): void {
  for (const counter of held) {
    unit.add({ counter, amount: -1, ttlMs: BUDGET_COUNTER_TTL_MS.month })
  }
}

function messageOf(facts: GuardFacts, { messageId, groupKey, items }: Delivery): Message {
  const { subscription, policy, tenant, now } = facts
  const { id, version, name, owner, limits } = subscription
  return {
    id: messageId,
    kind: 'activation',
    tenant,
    onBehalfOf: subscription.onBehalfOf,
    agent: subscription.agent,
    session: subscription.session,
    workspace: subscription.workspace,
    subscription: { id, version, name, owner },
    instruction: subscription.instruction,
    events: items.map(({ event }) => event),
    evidence: items.flatMap(({ evidence }) => evidence),
    lineage: unionOfHops(items.map(({ event }) => parseLineage(event.attributes.lineage))),
    candidateIds: items.map(({ candidateId }) => candidateId),
    groupKey,
    policyVersion: policy.version,
    createdAt: now,
    expiresAt: limits.expiresAt === null ? null : (parseRfc3339(limits.expiresAt) ?? null),
    concurrencyMax: concurrencyMax(limits.concurrency),
    input: null,
  }
}

/** 0 means no bound. Under `skip` one run at a time is the meaning, so that is the default. */
function concurrencyMax(concurrency: GuardFacts['subscription']['limits']['concurrency']): number {
  if (!concurrency) return 0
  return concurrency.max ?? (concurrency.overlap === 'skip' ? 1 : 0)
}
