/** What the log says, read once for all checks. */

import { parseKafkaEvent } from '#kernel/domain/cloud-events-kafka.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { compileFilters } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Candidate, Decision, Message } from '#schemas/generated/records.ts'
import { extTenant } from '#topologies/topics.ts'
import type { Written } from './history.ts'
import type { World } from './world.ts'

export type Read<T> = Written & { value: T }

/** One event as it lies in an ingress topic. */
export interface IngressEvent extends Written {
  tenant: string
  event: CloudEvent
}

export interface SubscriptionVersion {
  order: number
  doc: Subscription
  matches(event: CloudEvent): boolean
}

export interface Timeline {
  ingress: IngressEvent[]
  /** Candidates without markers, in the order of writing. */
  candidates: Read<Candidate>[]
  firstCandidate: Map<string, Read<Candidate>>
  decisions: Read<Decision>[]
  /** Decisions of one candidate, by `seq`, each once. */
  fates: Map<string, Decision[]>
  messages: Read<Message>[]
  firstMessage: Map<string, Read<Message>>
  /** Versions by `tenant/id`, oldest first. */
  subscriptions: Map<string, SubscriptionVersion[]>
  policies: Map<string, Policy[]>
  /** The document of a version that was decided under. */
  subscriptionAt(tenant: string, id: string, version: number): Subscription | undefined
  policyAt(tenant: string, version: number): Policy | undefined
}

export function readTimeline(world: World): Timeline {
  const { history } = world
  const candidates = history
    .values('candidates', 'candidate')
    .filter(({ value }) => value.kind === 'candidate')
  const decisions = history.values('decisions', 'decision')
  const messages = history.values('mailbox', 'message')
  const subscriptions = subscriptionsOf(world)
  const policies = policiesOf(world)
  return {
    ingress: ingressOf(world),
    candidates,
    firstCandidate: firstBy(candidates, ({ value }) => value.candidateId),
    decisions,
    fates: fatesOf(decisions),
    messages,
    firstMessage: firstBy(messages, ({ value }) => value.id),
    subscriptions,
    policies,
    subscriptionAt: (tenant, id, version) =>
      subscriptions.get(`${tenant}/${id}`)?.find(({ doc }) => doc.version === version)?.doc,
    policyAt: (tenant, version) => policies.get(tenant)?.find(p => p.version === version),
  }
}

function firstBy<T>(list: readonly T[], keyOf: (item: T) => string): Map<string, T> {
  const first = new Map<string, T>()
  for (const item of list) if (!first.has(keyOf(item))) first.set(keyOf(item), item)
  return first
}

function fatesOf(decisions: Read<Decision>[]): Map<string, Decision[]> {
  const fates = new Map<string, Decision[]>()
  for (const { value } of decisions) {
    const list = fates.get(value.candidateId) ?? []
    fates.set(value.candidateId, list)
    if (!list.some(each => each.seq === value.seq && isSame(each, value))) list.push(value)
  }
  for (const list of fates.values()) list.sort((a, b) => a.seq - b.seq)
  return fates
}

/** Do two records of one `seq` say the same? */
function isSame(a: Decision, b: Decision): boolean {
  return a.fate === b.fate && a.messageId === b.messageId
}

function ingressOf({ history, codec }: World): IngressEvent[] {
  const topics = history.topics().filter(topic => topic.startsWith('ingress.'))
  return topics.flatMap(topic =>
    history.of(topic).flatMap(written => {
      const read = readIngress(written, codec)
      return read ? [{ ...written, ...read }] : []
    }),
  )
}

function readIngress({ record }: Written, codec: World['codec']) {
  const outside = extTenant(record.topic)
  try {
    if (outside) {
      const event = parseKafkaEvent(record)
      return event instanceof Promise ? undefined : { tenant: outside, event }
    }
    const { ce_tenant: tenant } = record.headers
    if (!record.value || !tenant) return undefined
    const event = toCloudEvent(codec.decode('event', record.value))
    return { tenant: Buffer.from(tenant).toString(), event }
  } catch {
    return undefined
  }
}

function subscriptionsOf({ history }: World): Map<string, SubscriptionVersion[]> {
  const versions = new Map<string, SubscriptionVersion[]>()
  for (const { order, value } of history.values('subscriptions', 'table-document')) {
    if (value.kind !== 'subscription') continue
    const key = `${value.tenant}/${value.id}`
    const list = versions.get(key) ?? []
    versions.set(key, list)
    if (list.some(({ doc }) => doc.version === value.version)) continue
    // The registry alone writes this topic.
    const doc = value.doc as Subscription
    const { test } = compileFilters(matchSpecOf(doc))
    list.push({ order, doc, matches: event => doc.state.operation !== 'deleted' && test(event) })
  }
  return versions
}

function policiesOf({ history }: World): Map<string, Policy[]> {
  const policies = new Map<string, Policy[]>()
  for (const { value } of history.values('policies', 'table-document')) {
    if (value.kind !== 'policy') continue
    policies.set(value.tenant, [...(policies.get(value.tenant) ?? []), value.doc as Policy])
  }
  return policies
}

/**
 * Versions that the match step may have seen for a record: the newest before it was written, and
 * those that came until the offset behind it was stored.
 */
export function versionsSeen(
  versions: readonly SubscriptionVersion[],
  { from, to }: { from: number; to: number },
): (SubscriptionVersion | undefined)[] {
  const before = versions.filter(({ order }) => order < from)
  const newest = before.reduce<SubscriptionVersion | undefined>(
    (best, each) => (best && best.doc.version > each.doc.version ? best : each),
    undefined,
  )
  const later = versions.filter(
    ({ order, doc }) => order >= from && order <= to && doc.version > (newest?.doc.version ?? 0),
  )
  return [newest, ...later]
}

/** Would this version make a candidate of the event? */
export function takes(version: SubscriptionVersion | undefined, at: IngressEvent): boolean {
  return version !== undefined && isTaken(version, at)
}

function isTaken({ matches, doc }: SubscriptionVersion, { event, record }: IngressEvent): boolean {
  return matches(event) && hasStarted(doc, record)
}

/** Is the event at or after the ingress ends that the subscription starts at? */
export function hasStarted(
  { startsAt }: Pick<Subscription, 'startsAt'>,
  { topic, partition, offset }: { topic: string; partition: number; offset: number },
): boolean {
  return offset >= (startsAt[topic]?.[partition] ?? 0)
}
