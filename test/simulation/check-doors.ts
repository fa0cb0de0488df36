/** I3 answers, I17 webhooks, I19 isolation, and what went to the dead letters. */
import { parseKafkaEvent } from '#kernel/domain/cloud-events-kafka.ts'
import { splitTenantKey } from '#kernel/domain/ids.ts'
import { extTenant, topicRow } from '#topologies/topics.ts'
import type { Facts } from './facts.ts'
import type { Timeline } from './timeline.ts'
import type { Violation } from './violation.ts'
import type { World } from './world.ts'

/** What was answered 2xx lay in the log before. */
export function checkAnswers(_world: World, timeline: Timeline, facts: Facts): Violation[] {
  const first = new Map<string, number>()
  for (const { tenant, event, order } of timeline.ingress) {
    const key = `${tenant} ${event.source} ${event.id}`
    if (!first.has(key)) first.set(key, order)
  }
  const lost = facts.accepted.filter(
    ({ tenant, source, id, order }) => !((first.get(`${tenant} ${source} ${id}`) ?? 1e15) <= order),
  )
  const found = lost.map(({ id }) => ({
    invariant: 'I3',
    text: `${id} was accepted and was not in the log`,
    ids: [id],
  }))
  const forged = facts.forged.filter(
    ({ tenant, id, wasAccepted }) =>
      wasAccepted || first.has(`${tenant} /webhooks/${tenant}-shop ${id}`),
  )
  const held = forged.map(({ id }) => ({
    invariant: 'I17',
    text: `a forged delivery ${id} had an effect`,
    ids: [id],
  }))
  return [...found, ...held]
}

/** No record of one tenant speaks of another's things. */
export function checkIsolation({ history }: World, timeline: Timeline): Violation[] {
  const found: Violation[] = []
  const isForeign = (tenant: string, source: unknown) => {
    const text = String(source)
    const named = /^\/(?:webhooks\/)?(acme|bravo)\b/.exec(text)?.[1]
    return named !== undefined && named !== tenant
  }
  for (const { value } of timeline.candidates) {
    if (!isForeign(value.tenant, value.event?.attributes.source)) continue
    const text = `${value.candidateId} of ${value.tenant} has another tenant's event`
    found.push({ invariant: 'I19', text, ids: [value.candidateId] })
  }
  for (const { value } of timeline.messages) {
    if (!value.events.some(event => isForeign(value.tenant, event.attributes.source))) continue
    const text = `${value.id} of ${value.tenant} carries another tenant's event`
    found.push({ invariant: 'I19', text, ids: [value.id] })
  }
  for (const topic of history
    .topics()
    .filter(name => topicRow(name)?.partitioning !== 'producer')) {
    for (const { record } of history.of(topic)) {
      const { ce_tenant: header } = record.headers
      if (!header || !record.key || topic === 'registry.answers' || topic === 'deadletter') continue
      const tenant = Buffer.from(header).toString()
      if (splitTenantKey(Buffer.from(record.key).toString())[0] === tenant) continue
      const text = `${topic}/${record.partition}/${record.offset} of ${tenant} has a foreign key`
      found.push({ invariant: 'I19', text, ids: [] })
    }
  }
  return found
}

/** Bad records are counted, good ones are not thrown away (I18). */
export function checkDeadLetters({ history, codec }: World): Violation[] {
  const found: Violation[] = []
  for (const { value } of history.values('deadletter', 'dead-letter')) {
    const row = topicRow(value.topic)
    if (!row || !value.value) continue
    try {
      if (extTenant(value.topic))
        void parseKafkaEvent({ headers: value.headers, value: value.value })
      else codec.decode(row.record, value.value)
    } catch {
      continue
    }
    const text = `${value.topic}/${value.partition}/${value.offset} was refused: ${value.reason}`
    found.push({ invariant: 'I18', text, ids: [value.id] })
  }
  return found
}
