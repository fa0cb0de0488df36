/**
 * The step `match`: every event of the ingress topics against the declarative conditions of its
 * tenant. It keeps no state; its outputs have deterministic ids, so reading twice is harmless.
 */
import { type CloudEvent, dedupKeyOf } from '#kernel/domain/event.ts'
import { withBodyByReference } from '#kernel/domain/event-record.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { candidateIdOf, occurrenceIdOf, tenantKey } from '#kernel/domain/ids.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import { createMatchIndex, type MatchIndex } from './match-index.ts'
import { createStartBook, type Starts } from './start-book.ts'

/** An event as it was read from the log. */
export interface ReadEvent {
  tenant: string
  event: CloudEvent
  record: EventRecord
  position: { topic: string; partition: number; offset: number }
  recordedAt: number
  traceparent?: string
}

/** One index per tenant, so that no event ever meets another tenant's subscriptions (I19). */
export interface Matcher {
  update(tenant: string, subscription: Subscription): void
  match(read: ReadEvent, now: number): Output[]
}

/** What a match needs of a subscription besides its condition; small, for there may be many. */
interface Facts {
  version: number
  isSemantic: boolean
  starts: Starts
}

export function createMatcher(): Matcher {
  const tenants = new Map<string, { index: MatchIndex; facts: Map<string, Facts> }>()
  const startBook = createStartBook()
  const of = (tenant: string) => {
    const known = tenants.get(tenant)
    if (known) return known
    const made = { index: createMatchIndex(), facts: new Map<string, Facts>() }
    tenants.set(tenant, made)
    return made
  }
  return {
    update(tenant, subscription) {
      const { id, version, condition, state, startsAt } = subscription
      const { index, facts } = of(tenant)
      if (state.operation === 'deleted') {
        index.delete(id)
        facts.delete(id)
        return
      }
      index.set(id, matchSpecOf(subscription))
      facts.set(id, { version, isSemantic: condition !== null, starts: startBook.keep(startsAt) })
    },
    match(read, now) {
      const { index, facts } = of(read.tenant)
      return index.match(read.event).flatMap(id => {
        const known = facts.get(id)
        if (!known || !startBook.hasStarted(known.starts, read.position)) return []
        return [candidateOutput(read, { id, ...known }, now)]
      })
    },
  }
}

function candidateOutput(
  read: ReadEvent,
  subscription: { id: string; version: number; isSemantic: boolean },
  now: number,
): Output {
  const { tenant, event, record, position, recordedAt, traceparent } = read
  const { id, version, isSemantic } = subscription
  const candidateId = candidateIdOf(tenant, id, event)
  return {
    topic: isSemantic ? 'evaluations' : 'candidates',
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
      skipped: null,
      marker: null,
      at: now,
    },
  }
}
