/**
 * The step `match`: every event of the ingress topics against the declarative conditions of its
 * tenant. It keeps no state; its outputs have deterministic ids, so reading twice is harmless.
 */
import { type CloudEvent, dedupKeyOf } from '#kernel/domain/event.ts'
import { withBodyByReference } from '#kernel/domain/event-record.ts'
import type { MatchSpec } from '#kernel/domain/filter/compile-filters.ts'
import { candidateIdOf, occurrenceIdOf, tenantKey } from '#kernel/domain/ids.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import { createMatchIndex, type MatchIndex } from './match-index.ts'

/** An event as it was read from the log. */
export interface ReadEvent {
  tenant: string
  event: CloudEvent
  record: EventRecord
  position: { topic: string; partition: number; offset: number }
  recordedAt: number
  traceparent?: string
}

/** What matching asks of a subscription. */
export function matchSpecOf(subscription: Pick<Subscription, 'on' | 'filters'>): MatchSpec {
  const { on, filters } = subscription
  return { types: on.types, sources: on.sources, filters }
}

/** One index per tenant, so that no event ever meets another tenant's subscriptions (I19). */
export interface Matcher {
  update(tenant: string, subscription: Subscription): void
  match(read: ReadEvent, find: (id: string) => Subscription | undefined, now: number): Output[]
}

export function createMatcher(): Matcher {
  const indexes = new Map<string, MatchIndex>()
  const indexOf = (tenant: string) => {
    const known = indexes.get(tenant)
    if (known) return known
    const index = createMatchIndex()
    indexes.set(tenant, index)
    return index
  }
  return {
    update(tenant, subscription) {
      const index = indexOf(tenant)
      if (subscription.state.operation === 'deleted') index.delete(subscription.id)
      else index.set(subscription.id, matchSpecOf(subscription))
    },
    match(read, find, now) {
      const ids = indexOf(read.tenant).match(read.event)
      return ids.flatMap(id => {
        const subscription = find(id)
        if (!subscription || !hasStarted(subscription, read.position)) return []
        return [candidateOutput(read, subscription, now)]
      })
    },
  }
}

/** A subscription sees events at or after the ingress ends of its start; no clock is compared. */
export function hasStarted(
  { startsAt }: Pick<Subscription, 'startsAt'>,
  { topic, partition, offset }: ReadEvent['position'],
): boolean {
  return offset >= (startsAt[topic]?.[partition] ?? 0)
}

function candidateOutput(read: ReadEvent, subscription: Subscription, now: number): Output {
  const { tenant, event, record, position, recordedAt, traceparent } = read
  const { id, version, condition } = subscription
  const candidateId = candidateIdOf(tenant, id, event)
  return {
    topic: condition ? 'evaluations' : 'candidates',
    key: tenantKey(tenant, id),
    id: candidateId,
    tenant,
    traceparent,
    value: {
      kind: 'candidate',
      tenant,
      subscription: id,
      version,
      candidateId,
      occurrenceId: occurrenceIdOf(tenant, id, dedupKeyOf(event)),
      event: withBodyByReference(record, position),
      position,
      recordedAt,
      verdict: null,
      marker: null,
      at: now,
    },
  }
}
