/** I18: a store that is filled from the topics alone holds what the living one holds. */
import { createHash } from 'node:crypto'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { openLiveTables } from '#kernel/host/live-tables.ts'
import { rebuildTenant } from '#kernel/host/rebuild.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { Step } from '#kernel/host/step.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { StateStore, StoredDocument } from '#kernel/ports/state-store.ts'
import { createRegistryStep } from '#services/control-plane/registry/registry-step.ts'
import { candidateKey, claimKey, guardKey } from '#services/guard/guard-state.ts'
import { createGuardStep } from '#services/guard/guard-step.ts'
import { createMailboxStep } from '#services/mailbox-dispatcher/mailbox-step.ts'
import { messageKey } from '#services/mailbox-dispatcher/message-document.ts'
import { TABLE_TOPICS } from '#topologies/topics.ts'
import { noCalendars } from './services.ts'
import type { Timeline } from './timeline.ts'
import type { Violation } from './violation.ts'
import { PARTITIONS, TENANTS, type World } from './world.ts'

/** What of a document must come back; the rest may be known less exactly. */
type Essence = (body: Record<string, unknown>) => unknown

const ESSENCES: [prefix: string, essence: Essence][] = [
  ['reg/', body => body],
  ['candidate/', ({ fate, messageId, seq, groupKey }) => ({ fate, messageId, seq, groupKey })],
  ['claim/', body => body],
  ['guard/', ({ lifecycle, deliveredAt, delivered }) => ({ lifecycle, deliveredAt, delivered })],
  ['msg/', ({ state, attempts, lease, agent }) => ({ state, attempts, lease, agent })],
]

export async function checkRebuild(world: World, timeline: Timeline): Promise<Violation[]> {
  const rebuilt = await fillFromTopics(world)
  const found: Violation[] = []
  for (const tenant of TENANTS) {
    const documents = keysOf(timeline, tenant)
    const request = { tenant, documents }
    const living = await world.store.open('checker').load(request)
    const other = await rebuilt.load(request)
    for (const key of documents) {
      const [a, b] = [living, other].map(({ documents: d }) => essenceOf(key, d.get(key)))
      if (a === b || a === undefined) continue
      const text = `${tenant} ${key} is ${short(a)} in the store and ${short(b)} from the topics`
      found.push({ invariant: 'I18', text, ids: [key.split('/').at(-1) ?? key] })
    }
  }
  return found
}

const short = (text: string | undefined) => (text ?? 'absent').slice(0, 300)

function essenceOf(key: string, document: StoredDocument | undefined): string | undefined {
  if (!document) return undefined
  const [, essence] = ESSENCES.find(([prefix]) => key.startsWith(prefix)) ?? []
  const body = JSON.parse(document.body) as Record<string, unknown>
  const text = JSON.stringify(essence?.(body))
  return text.length < 200 ? text : createHash('sha256').update(text).digest('hex')
}

function keysOf({ fates, firstMessage, subscriptions }: Timeline, tenant: string): string[] {
  const decisions = [...fates.values()].flat().filter(each => each.tenant === tenant)
  const messages = [...firstMessage.values()].filter(({ value }) => value.tenant === tenant)
  const ids = [...subscriptions.keys()].filter(key => key.startsWith(`${tenant}/`))
  return [
    ...new Set([
      ...ids.map(key => guardKey(key.slice(tenant.length + 1))),
      ...ids.map(key => `reg/subscription/${key.slice(tenant.length + 1)}`),
      ...decisions.map(d => candidateKey(d.subscription, d.candidateId)),
      ...decisions.map(d => claimKey(d.subscription, d.occurrenceId)),
      ...messages.map(({ value }) => messageKey(value.id)),
    ]),
  ]
}

async function fillFromTopics({ log, codec, clock }: World): Promise<StateStore> {
  const store = createMemoryStateStore({ now: () => clock.now() }).open('rebuilt')
  const ports = {
    log: log.open('rebuild'),
    store,
    codec,
    clock: { now: () => clock.now(), sleep: (ms: number) => clock.sleep(ms) },
    ids: { random: () => 'rebuilt' },
    logger: silentLogger,
  }
  const tables = await openLiveTables({ ...ports, topics: [...TABLE_TOPICS] })
  const directory = createDirectory(tables)
  const world: StepWorld = {
    ...ports,
    log: { ...ports.log, append: async () => [] },
    writer: createRecordWriter(codec, 'check'),
    gate: async () => {},
    knownTenants: () => [...TENANTS],
  }
  const ingressEnds = async () => new Map()
  const fill = async <T>(step: Step<T>) => {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (const tenant of TENANTS) {
        const fence = { key: `fence/${step.name}/${partition}`, incarnation: 'r', epoch: 1, seq: 0 }
        await store.takeFence(tenant, fence)
        await rebuildTenant(step, world, { partition, tenant, fence })
      }
    }
  }
  await fill(createRegistryStep({ codec, directory, calendars: noCalendars, ingressEnds }))
  await fill(createGuardStep({ directory, codec }))
  await fill(createMailboxStep({ codec, directory }))
  return store
}
