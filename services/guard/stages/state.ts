/**
 * Stage 0: may this subscription wake anybody now, is the event young enough, and does the
 * current version still take it? Runs again at a flush, for the group and for every member.
 */
import { parseRfc3339 } from '#kernel/domain/rfc3339.ts'
import { isLive, type Subscription, type SubscriptionState } from '#kernel/domain/subscription.ts'
import {
  type EventFacts,
  type GuardFacts,
  isRefusal,
  NEXT,
  type Refusal,
  type StageContext,
  type StageVerdict,
} from '../guard-facts.ts'

export function stateStage({ facts, event }: StageContext): StageVerdict {
  const verdict = judgeSubscription(facts)
  return isRefusal(verdict) ? verdict : judgeEvent(facts, event)
}

/** Stops, lifecycle, latch, dates and the number of deliveries. */
export function judgeSubscription(facts: GuardFacts): StageVerdict {
  const { subscription, state, now } = facts
  if (facts.isTenantStopped) return inactive('tenant-stopped')
  if (facts.agent?.stopped) return inactive('agent-stopped', { by: facts.agent.stopped.by })
  const lifecycle = lifecycleVerdict(facts)
  if (isRefusal(lifecycle)) return lifecycle
  const { latch } = state
  if (latch && subscription.version <= latch.version && now < (latch.until ?? Infinity)) {
    return inactive('suspended', { by: 'guard', kind: latch.kind, until: iso(latch.until) })
  }
  const { notBefore, expiresAt, maxOccurrences } = subscription.limits
  if (notBefore !== null && now < instant(notBefore)) return inactive('not-before', { notBefore })
  if (expiresAt !== null && now >= instant(expiresAt)) return inactive('expired', { expiresAt })
  if (maxOccurrences !== null && state.delivered >= maxOccurrences) {
    return inactive('exhausted', { maxOccurrences })
  }
  return NEXT
}

/** The newer of the table's lifecycle and the one that a marker announced. */
function lifecycleVerdict({ subscription, state }: GuardFacts): StageVerdict {
  const { lifecycle } = state
  const isMarkerNewer = lifecycle !== null && lifecycle.version > subscription.version
  const current = isMarkerNewer ? { ...subscription.state, ...lifecycle } : subscription.state
  const known = current as SubscriptionState
  if (isLive(known)) return NEXT
  const { approval, operation, reason, until } = known
  if (operation !== 'active') return inactive(operation, { why: reason, until: until ?? null })
  return inactive(approval === 'rejected' ? 'approval-rejected' : 'approval-pending')
}

/** Age, and, under a version newer than the one that matched, its start and its filters. */
export function judgeEvent({ subscription, now }: GuardFacts, event: EventFacts): StageVerdict {
  const { maxEventAgeMs } = subscription.limits
  if (maxEventAgeMs !== null) {
    const happenedAt = happenedAtOf(event)
    if (happenedAt !== undefined && now - happenedAt > maxEventAgeMs) {
      const details = { ageMs: now - happenedAt, maxEventAgeMs }
      return { fate: 'stale', stage: 'state', reason: 'too-old', details }
    }
  }
  if (event.version >= subscription.version) return NEXT
  const versions = { matchedVersion: event.version, version: subscription.version }
  if (isBeforeStart(subscription, event)) return inactive('before-start', versions)
  return event.matches() ? NEXT : inactive('superseded', versions)
}

/** A resumed or approved subscription starts at that moment: what came before stays undelivered. */
function isBeforeStart({ startsAt }: Subscription, { position }: EventFacts): boolean {
  if (!position) return false
  return position.offset < (startsAt[position.topic]?.[position.partition] ?? 0)
}

function happenedAtOf({ record, recordedAt }: EventFacts): number | undefined {
  const { time, recordedtime } = record.attributes
  const told = typeof time === 'string' ? parseRfc3339(time) : undefined
  if (told !== undefined) return told
  const received = typeof recordedtime === 'string' ? parseRfc3339(recordedtime) : undefined
  return received ?? recordedAt ?? undefined
}

function inactive(reason: string, details: Record<string, unknown> = {}): Refusal {
  return { fate: 'inactive', stage: 'state', reason, details }
}

const instant = (text: string) => parseRfc3339(text) ?? 0
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
