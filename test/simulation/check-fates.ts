/** I1 no loss, I2 no duplicate, I4 offsets, I11 groups, I14 order. */
import { type Fate, isFinal } from '#kernel/domain/fate.ts'
import { candidateIdOf } from '#kernel/domain/ids.ts'
import type { Facts } from './facts.ts'
import { hasStarted, type IngressEvent, type Timeline, takes, versionsSeen } from './timeline.ts'
import type { Violation } from './violation.ts'
import type { World } from './world.ts'

/** Every event that a subscription took has a candidate, written before the offset was stored. */
export function checkMatching(world: World, timeline: Timeline): Violation[] {
  const readAt = readTimes(world)
  const wasReset = world.faults.counts.has('F9')
  const found: Violation[] = []
  const expected = new Set<string>()
  for (const at of timeline.ingress) {
    const to = readAt(at) ?? world.history.order()
    for (const [key, versions] of timeline.subscriptions) {
      const [tenant = '', id = ''] = key.split('/')
      if (tenant !== at.tenant) continue
      const seen = versionsSeen(versions, { from: at.order, to })
      const taken = seen.map(version => takes(version, at))
      const candidateId = candidateIdOf(tenant, id, at.event)
      if (taken.some(Boolean)) expected.add(candidateId)
      const candidate = timeline.firstCandidate.get(candidateId)
      if (taken.every(Boolean) && !(candidate && candidate.order < to)) {
        const text = `${key} took ${at.event.id} of ${place(at)} and has no candidate in time`
        found.push({ invariant: 'I1', text, ids: [candidateId, id, String(at.event.id)] })
      }
    }
  }
  for (const { value } of timeline.firstCandidate.values()) {
    const { tenant, subscription, version, position, candidateId } = value
    const doc = timeline.subscriptionAt(tenant, subscription, version)
    if (!doc || !position || hasStarted(doc, position)) continue
    const text = `${candidateId} of ${subscription} came before the subscription started`
    found.push({ invariant: 'I1', text, ids: [candidateId, subscription] })
  }
  for (const { value } of wasReset ? [] : timeline.firstCandidate.values()) {
    if (expected.has(value.candidateId)) continue
    const text = `candidate ${value.candidateId} of ${value.subscription}, which did not take it`
    found.push({ invariant: 'I1', text, ids: [value.candidateId, value.subscription] })
  }
  return found
}

const place = ({ record }: IngressEvent) => `${record.topic}/${record.partition}/${record.offset}`

/** When the offset behind a record was stored first. */
function readTimes({ history }: World): (at: IngressEvent) => number | undefined {
  const commits = Map.groupBy(
    history.commits.filter(({ group }) => group === 'match'),
    ({ topic, partition }) => `${topic}/${partition}`,
  )
  return ({ record }) =>
    commits.get(`${record.topic}/${record.partition}`)?.find(({ offset }) => offset > record.offset)
      ?.order
}

/** A final fate stays; the same step says the same every time. */
export function checkFates(_world: World, timeline: Timeline): Violation[] {
  const found: Violation[] = []
  for (const [id, fates] of timeline.fates) {
    for (const [at, fate] of fates.entries()) {
      const before = fates[at - 1]
      if (!before || !isFinal(before.fate as Fate) || before.fate === 'evaluation-failed') continue
      if (before.fate === fate.fate && before.messageId === fate.messageId) continue
      const text = `${id}: ${before.fate}/${before.seq} became ${fate.fate}/${fate.seq}`
      found.push({ invariant: 'I2', text, ids: [id] })
    }
    const same = fates.find((fate, at) => fates[at - 1]?.seq === fate.seq)
    if (!same) continue
    const text = `${id}: two different decisions are number ${same.seq}`
    found.push({ invariant: 'I2', text, ids: [id] })
  }
  return found
}

/** A candidate is in one message, an occurrence makes one, and a message lists all of its own. */
export function checkMessages(_world: World, timeline: Timeline): Violation[] {
  const found: Violation[] = []
  const messageOf = new Map<string, string>()
  const listed = new Map<string, string>()
  for (const { value } of timeline.messages) {
    const text = value.candidateIds.toSorted().join(' ')
    const known = listed.get(value.id)
    if (known !== undefined && known !== text) {
      const why = `message ${value.id} lists other candidates the second time`
      found.push({ invariant: 'I11', text: why, ids: [value.id] })
    }
    listed.set(value.id, text)
    for (const id of value.candidateIds) {
      const other = messageOf.get(id)
      if (other !== undefined && other !== value.id) {
        const why = `candidate ${id} is in the messages ${other} and ${value.id}`
        found.push({ invariant: 'I2', text: why, ids: [id, other, value.id] })
      }
      messageOf.set(id, value.id)
    }
  }
  const occurrences = new Map<string, string>()
  for (const [id, fates] of timeline.fates) {
    const last = fates.at(-1)
    const messageId = messageOf.get(id)
    if (last?.fate === 'delivered' && last.messageId !== messageId) {
      const text = `candidate ${id} was delivered with ${last.messageId}, listed by ${messageId}`
      found.push({ invariant: 'I1', text, ids: [id, last.messageId ?? id] })
    }
    if (messageId !== undefined && last?.fate !== 'delivered') {
      const text = `candidate ${id} is in message ${messageId} and its fate is ${last?.fate}`
      found.push({ invariant: 'I2', text, ids: [id, messageId] })
    }
    if (!last || messageId === undefined) continue
    const other = occurrences.get(last.occurrenceId)
    if (other !== undefined && other !== messageId) {
      const text = `occurrence ${last.occurrenceId} made the messages ${other} and ${messageId}`
      found.push({ invariant: 'I2', text, ids: [last.occurrenceId, other, messageId] })
    }
    occurrences.set(last.occurrenceId, messageId)
  }
  return found
}

/** After a change was answered, nothing is delivered that was decided under an older version. */
export function checkChanges({ fates }: Timeline, { changes }: Facts): Violation[] {
  const found: Violation[] = []
  for (const [candidateId, list] of fates) {
    const decision = list.find(({ fate }) => fate === 'delivered')
    if (!decision) continue
    const { tenant, subscription, version, at } = decision
    const change = changes.find(
      each =>
        each.tenant === tenant &&
        each.id === subscription &&
        each.version > version &&
        each.storeAt < at,
    )
    if (!change) continue
    const late = `${at - change.storeAt} ms after version ${change.version} was answered`
    const text = `${subscription} delivered under version ${version}, ${late}`
    found.push({ invariant: 'I13', text, ids: [candidateId, subscription] })
  }
  return found
}

/** No offset is stored above a record without a durable decision. */
export function checkOffsets({ history }: World, timeline: Timeline): Violation[] {
  const done = new Map<string, number>()
  const note = (id: string, order: number) => {
    if (!done.has(id)) done.set(id, order)
  }
  for (const { value, order } of timeline.decisions) note(value.candidateId, order)
  for (const { value, order } of history.values('mailbox.state', 'mailbox-transition')) {
    note(value.messageId, order)
  }
  for (const { value, order } of history.values('audit', 'audit-entry')) note(value.changeId, order)
  const read = [
    ...timeline.candidates.map(c => ({ ...c, group: 'guard', id: c.value.candidateId })),
    ...timeline.messages.map(m => ({ ...m, group: 'mailbox-dispatcher', id: m.value.id })),
    ...history
      .values('registry.changes', 'change')
      .map(c => ({ ...c, group: 'registry', id: c.value.changeId })),
  ]
  const latest = Map.groupBy(read, ({ group, record }) => placeOf(group, record))
  const prefixes = new Map([...latest].map(([key, list]) => [key, prefixOf(list, done)]))
  for (const { group, topic, partition, offset, order } of history.commits) {
    const prefix = prefixes.get(placeOf(group, { topic, partition })) ?? []
    const behind = prefix.findLast(each => each.offset < offset)
    if (!behind || behind.doneAt < order) continue
    const text = `${group} stored ${topic}/${partition}@${offset} before ${behind.id} was durable`
    return [{ invariant: 'I4', text, ids: [behind.id] }]
  }
  return []
}

const placeOf = (group: string, at: { topic: string; partition: number }) =>
  `${group} ${at.topic}/${at.partition}`

/** For each record the one at or before it whose decision became durable last. */
function prefixOf(
  list: { id: string; record: { offset: number } }[],
  done: ReadonlyMap<string, number>,
): { offset: number; id: string; doneAt: number }[] {
  let last = { id: '', doneAt: 0 }
  return list.map(({ id, record: { offset } }) => {
    const doneAt = done.get(id) ?? Number.POSITIVE_INFINITY
    if (doneAt > last.doneAt) last = { id, doneAt }
    return { offset, ...last }
  })
}

/** Per subscription and ingress partition, mailboxes follow the order of acceptance. */
export function checkOrder(_world: World, timeline: Timeline): Violation[] {
  const found: Violation[] = []
  const last = new Map<string, { candidate: number; id: string }>()
  for (const { value, record } of timeline.firstMessage.values()) {
    const { tenant, subscription } = value
    if (!subscription || value.groupKey !== null) continue
    const versions = timeline.subscriptions.get(`${tenant}/${subscription.id}`) ?? []
    if (!isPlain(versions.map(({ doc }) => doc.limits))) continue
    const [candidateId = ''] = value.candidateIds
    const candidate = timeline.firstCandidate.get(candidateId)
    if (!candidate) continue
    const { position } = candidate.value
    const lane = `${tenant}/${subscription.id}/${value.agent}/${record.partition}`
    const key = `${lane}/${position?.topic}/${position?.partition}`
    const before = last.get(key)
    if (before && before.candidate > candidate.record.offset) {
      const text = `message ${value.id} of ${subscription.id} came after its successor ${before.id}`
      found.push({ invariant: 'I14', text, ids: [value.id, before.id, candidateId] })
    }
    last.set(key, { candidate: candidate.record.offset, id: value.id })
  }
  return found
}

function isPlain(limits: { group: unknown; cooldownRule: unknown }[]): boolean {
  return limits.every(({ group, cooldownRule }) => !group && cooldownRule !== 'group')
}
