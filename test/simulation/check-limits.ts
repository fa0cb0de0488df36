/** I8 budgets, I9 cooldowns, I10 cycles, I12 storms. */
import { budgetLimits } from '#kernel/domain/budget-counters.ts'
import { formatLineage, LINEAGE_HOPS_MAX, parseLineage } from '#kernel/domain/event.ts'
import { reentriesOf } from '#kernel/domain/policy.ts'
import type { Decision } from '#schemas/generated/records.ts'
import type { Facts } from './facts.ts'
import type { Timeline } from './timeline.ts'
import type { Violation } from './violation.ts'
import type { World } from './world.ts'

/** One decision per delivered message, in the order of the store's time. */
function deliveries({ fates }: Timeline): Map<string, Decision[]> {
  const seen = new Set<string>()
  const all = [...fates.values()]
    .flatMap(list => list.find(({ fate }) => fate === 'delivered') ?? [])
    .sort((a, b) => a.at - b.at)
    .filter(({ messageId }) => messageId !== null && !seen.has(messageId) && seen.add(messageId))
  return Map.groupBy(all, ({ tenant, subscription }) => `${tenant}/${subscription}`)
}

/** Charged activations never pass the limit in force. */
export function checkBudgets(world: World, timeline: Timeline): Violation[] {
  const found: Violation[] = []
  const counts = new Map<string, number>()
  // A budget of several partitions is known again when the last of them is rebuilt; until then
  // the others count without it. Only a subscription's own budget survives a loss to the letter.
  const isExact = !world.faults.counts.has('F11') && !world.faults.counts.has('F12')
  const all = [...deliveries(timeline).values()].flat().sort((a, b) => a.at - b.at)
  for (const decision of all) {
    const { tenant, subscription, version, policyVersion, owner, agent, at } = decision
    const doc = timeline.subscriptionAt(tenant, subscription, version)
    const policy = timeline.policyAt(tenant, policyVersion)
    if (!doc || !policy) continue
    const payer = { tenant, subscription, owner, agent }
    const budgets = { ...policy.budgets, subscription: doc.limits.budget }
    for (const scope of ['subscription', 'owner', 'agent', 'tenant'] as const) {
      const moment = { now: at, zone: policy.zone }
      const [free] = budgetLimits({ [scope]: { activationsPerDay: 0 } }, payer, moment)
      const limit = budgets[scope]?.activationsPerDay
      // Only limited counters are kept: what was spent before a limit was written is not in them.
      if (limit === undefined || limit === null) continue
      const key = `${tenant} ${free?.counter}`
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      if (count <= limit || (scope !== 'subscription' && !isExact)) continue
      const text = `${key} is charged ${count} of ${limit} by ${decision.messageId}`
      found.push({ invariant: 'I8', text, ids: [decision.candidateId, subscription] })
    }
  }
  return [...found, ...storeTimes(world)]
}

/** How long a decision may take from its time to its last append, ms. */
const LATE_MS = 20 * 60_000

/** `at` is the store's time, not a process's: never in the future, never long ago. */
function storeTimes({ history }: World): Violation[] {
  const stamped = [
    ...history.values('decisions', 'decision'),
    ...history.values('mailbox.state', 'mailbox-transition'),
    ...history.values('usage', 'usage'),
    ...history.values('outcomes', 'outcome'),
  ]
  return stamped.flatMap(({ value, storeNow, record }) => {
    const ahead = value.at - storeNow
    if (ahead <= 0 && ahead > -LATE_MS) return []
    const text = `${record.topic}/${record.partition}/${record.offset} is ${ahead} ms off`
    return [{ invariant: 'I9', text, ids: [value.tenant] }]
  })
}

/** Two deliveries are at least the cooldown apart. */
export function checkCooldowns(_world: World, timeline: Timeline): Violation[] {
  const found: Violation[] = []
  for (const [key, list] of deliveries(timeline)) {
    for (const [at, decision] of list.entries()) {
      const before = list[at - 1]
      const { tenant, subscription, version } = decision
      const limits = timeline.subscriptionAt(tenant, subscription, version)?.limits
      const distance = before ? decision.at - before.at : Number.POSITIVE_INFINITY
      if (distance < (limits?.cooldownMs ?? 0)) {
        const text = `${key} delivered after ${distance} ms, cooldown ${limits?.cooldownMs} ms`
        const ids = [decision.candidateId, before?.candidateId ?? '']
        found.push({ invariant: 'I9', text, ids })
      }
      const perMinute = limits?.rate?.perMinute
      const first = perMinute ? list[at - perMinute] : undefined
      if (first && decision.at - first.at < 60_000) {
        const text = `${key} delivered more than ${perMinute} times within a minute`
        found.push({ invariant: 'I9', text, ids: [decision.candidateId, first.candidateId] })
      }
      const most = limits?.maxOccurrences
      if (most && at >= most) {
        const text = `${key} delivered ${at + 1} of ${most} times`
        found.push({ invariant: 'I8', text, ids: [decision.candidateId, subscription] })
      }
    }
  }
  return found
}

/** Nothing wakes an agent from its own run beyond what policy allows; lineage is never lost. */
export function checkCycles(_world: World, timeline: Timeline, facts: Facts): Violation[] {
  const found: Violation[] = []
  for (const [id, fates] of timeline.fates) {
    const decision = fates.find(({ fate }) => fate === 'delivered')
    const event = timeline.firstCandidate.get(id)?.value.event
    if (!decision || !event) continue
    const hops = parseLineage(event.attributes.lineage)
    const wakes = hops.filter(({ agent }) => agent === decision.agent).length
    const policy = timeline.policyAt(decision.tenant, policyOf(fates))
    const from = hops.at(-1)?.agent ?? ''
    const allowed = policy ? reentriesOf(policy, from, decision.agent) : 0
    if (hops.length > LINEAGE_HOPS_MAX || (fates.length === 1 && wakes > allowed)) {
      const text = `${id} woke ${decision.agent} out of ${formatLineage(hops)}`
      found.push({ invariant: 'I10', text, ids: [id] })
    }
    const message = timeline.firstMessage.get(decision.messageId ?? '')?.value
    const kept = formatLineage(message?.lineage ?? []).split(' ')
    const lost = hops.find(hop => !kept.includes(formatLineage([hop])))
    if (!message || !lost) continue
    const text = `message ${message.id} lost the hop ${formatLineage([lost])} of ${id}`
    found.push({ invariant: 'I10', text, ids: [id, message.id] })
  }
  return [...found, ...emittedLineage(timeline, facts)]
}

const policyOf = (fates: Decision[]) => fates[0]?.policyVersion ?? 0

/** Events that a run emits carry the lineage of its message and the message's own hop. */
function emittedLineage(timeline: Timeline, facts: Facts): Violation[] {
  const found: Violation[] = []
  for (const { tenant, id, source, messageId } of facts.emitted) {
    const message = timeline.firstMessage.get(messageId)?.value
    const at = timeline.ingress.find(
      each => each.tenant === tenant && each.event.id === id && each.event.source === source,
    )
    if (!message || !at) continue
    const own = { subscription: message.subscription?.id ?? '', agent: message.agent }
    const expected = formatLineage([...message.lineage, { ...own, message: message.id }])
    if (at.event.lineage === expected) continue
    const text = `${id} carries ${String(at.event.lineage)} instead of ${expected}`
    found.push({ invariant: 'I10', text, ids: [id, messageId] })
  }
  for (const { value } of timeline.candidates) {
    const read = timeline.ingress.find(
      ({ record }) =>
        record.topic === value.position?.topic &&
        record.partition === value.position.partition &&
        record.offset === value.position.offset,
    )
    if (!read || read.event.lineage === value.event?.attributes.lineage) continue
    const text = `candidate ${value.candidateId} has another lineage than its event`
    found.push({ invariant: 'I10', text, ids: [value.candidateId] })
  }
  return found
}

/** After a storm nothing is delivered under that version, and the owner is told once. */
export function checkStorms({ history }: World, timeline: Timeline): Violation[] {
  const found: Violation[] = []
  const notices = new Map<string, Set<string>>()
  for (const { value } of history.values('notices', 'notice')) {
    notices.set(value.cause, (notices.get(value.cause) ?? new Set()).add(value.id))
  }
  const delivered = deliveries(timeline)
  for (const fates of timeline.fates.values()) {
    const storm = fates.find(({ fate }) => fate === 'storm')
    if (!storm) continue
    const { tenant, subscription, version, at, candidateId } = storm
    const late = delivered
      .get(`${tenant}/${subscription}`)
      ?.find(each => each.version <= version && each.at > at)
    if (late) {
      const text = `${subscription} delivered ${late.at - at} ms after its storm`
      found.push({ invariant: 'I12', text, ids: [candidateId, late.candidateId] })
    }
    const told = notices.get(`storm/${subscription}/${version}`)?.size ?? 0
    if (told === 0) {
      const text = `nobody was told of the storm of ${subscription}/${version}`
      found.push({ invariant: 'I12', text, ids: [candidateId, subscription] })
    }
  }
  return found
}
