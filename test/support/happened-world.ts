/** A log with made-up history, and a read model over it. */
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import { openProjectionDatabase } from '#kernel/adapters/sqlite/projection-database.ts'
import { systemClock } from '#kernel/adapters/system/system-clock.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { candidateIdOf, tenantKey } from '#kernel/domain/ids.ts'
import { DEFAULT_LIMITS } from '#kernel/domain/limits.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { TopicName } from '#kernel/domain/topic-name.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type {
  Candidate,
  Decision,
  MailboxTransition,
  Message,
  Notice,
  Usage,
} from '#schemas/generated/records.ts'
import { openReadModel, type ReadModel } from '#services/control-plane/read-model/read-model.ts'

export const TENANT = 'local'
export const SOURCE = '/shop/orders'

export const codec = createRecordCodec()
const writer = createRecordWriter(codec, 'test')

export function logRecord(
  topic: TopicName,
  key: string,
  value: object,
  tenant = TENANT,
): OutgoingRecord {
  return writer.encode({ topic, key, id: key, tenant, value })
}

export function anEvent(id: string, more: Partial<CloudEvent> = {}): CloudEvent {
  return {
    specversion: '1.0',
    source: SOURCE,
    id,
    type: 'com.shop.order.created',
    data: { total: 12 },
    ...more,
  }
}

export const eventRecord = (event: CloudEvent) =>
  logRecord('ingress.platform', tenantKey(TENANT, event.source), toEventRecord(event))

const idOf = (event: CloudEvent, subscription: string) => candidateIdOf(TENANT, subscription, event)

export function candidateRecord(
  event: CloudEvent,
  subscription: string,
  more: Partial<Candidate> = {},
  topic: 'candidates' | 'evaluations' = 'candidates',
) {
  const value: Candidate = {
    kind: 'candidate',
    tenant: TENANT,
    subscription,
    version: 1,
    candidateId: idOf(event, subscription),
    occurrenceId: `o-${event.id}`,
    event: toEventRecord(event),
    position: null,
    recordedAt: Date.now(),
    verdict: null,
    skipped: null,
    marker: null,
    at: Date.now(),
    ...more,
  }
  return logRecord(topic, tenantKey(TENANT, subscription), value)
}

export function decisionRecord(
  event: CloudEvent,
  subscription: string,
  more: Partial<Decision> = {},
) {
  const value: Decision = {
    tenant: TENANT,
    candidateId: idOf(event, subscription),
    occurrenceId: `o-${event.id}`,
    subscription,
    version: 1,
    policyVersion: 0,
    agent: 'triage',
    owner: 'user:ana',
    event: { source: event.source, id: event.id, type: event.type, time: null },
    fate: 'delivered',
    stage: 'delivery',
    reason: 'delivered',
    details: {},
    messageId: `m-${event.id}`,
    groupKey: null,
    verdictId: null,
    repeats: 0,
    seq: 0,
    at: Date.now(),
    emit: null,
    ...more,
  }
  return logRecord('decisions', tenantKey(TENANT, subscription), value)
}

export function messageRecord(event: CloudEvent, more: Partial<Message> = {}) {
  const value: Message = {
    id: `m-${event.id}`,
    kind: 'activation',
    tenant: TENANT,
    onBehalfOf: null,
    agent: 'triage',
    session: null,
    workspace: null,
    subscription: { id: 's1', version: 1, name: 'orders', owner: 'user:ana' },
    instruction: 'Look at it.',
    events: [toEventRecord(event)],
    evidence: [{ quote: 'twelve', source: event.source, pointer: '/data' }],
    lineage: [],
    candidateIds: [],
    groupKey: null,
    policyVersion: 0,
    createdAt: Date.now(),
    expiresAt: null,
    concurrencyMax: 0,
    input: null,
    ...more,
  }
  return logRecord('mailbox', tenantKey(TENANT, value.agent), value)
}

export function transitionRecord(
  event: CloudEvent,
  step: Pick<MailboxTransition, 'state' | 'version'> & Partial<MailboxTransition>,
) {
  const value: MailboxTransition = {
    tenant: TENANT,
    agent: 'triage',
    messageId: `m-${event.id}`,
    subscription: 's1',
    mailboxVersion: step.version,
    attempt: 1,
    token: 7,
    leaseId: 'lease-1',
    executor: 'worker',
    session: null,
    availableAt: null,
    expiresAt: null,
    reason: null,
    run: null,
    by: null,
    at: Date.now(),
    ...step,
  }
  return logRecord('mailbox.state', tenantKey(TENANT, value.agent), value)
}

export function noticeRecord(id: string, more: Partial<Notice> = {}) {
  const value: Notice = {
    id,
    tenant: TENANT,
    kind: 'storm',
    severity: 'warning',
    cause: `storm ${id}`,
    owner: 'user:ana',
    subscription: 's1',
    agent: null,
    messageId: null,
    text: 'Too much at once.',
    details: {},
    at: Date.now(),
    ...more,
  }
  return logRecord('notices', tenantKey(value.tenant, value.owner ?? ''), value, value.tenant)
}

export function usageRecord(subject: string, more: Partial<Usage> = {}) {
  const value: Usage = {
    tenant: TENANT,
    subscription: 's1',
    owner: 'user:ana',
    agent: 'triage',
    subject,
    stage: 'run',
    attempt: 1,
    activations: 0,
    inputTokens: 100,
    outputTokens: 20,
    calls: 1,
    cost: '0.1',
    day: new Date().toISOString().slice(0, 10),
    at: Date.now(),
    ...more,
  }
  return logRecord('usage', tenantKey(TENANT, value.subscription), value)
}

export function subscriptionRecord(id: string, more: Partial<Subscription> = {}) {
  const at = new Date(0).toISOString()
  const doc: Subscription = {
    ...{ id, tenant: TENANT, version: 1, name: id, agent: 'triage', owner: 'user:ana' },
    ...{ onBehalfOf: null, session: null, workspace: null, managedBy: null, condition: null },
    instruction: 'Look at it.',
    on: { types: ['com.shop.*'] },
    schedule: null,
    observe: null,
    filters: [],
    limits: DEFAULT_LIMITS,
    origin: { kind: 'person', id: 'ana' },
    state: {
      ...{ approval: 'not-required', operation: 'active', reason: '', by: 'user:ana' },
      ...{ at, version: 1 },
    },
    startsAt: {},
    ...{ createdAt: at, updatedAt: at },
    ...more,
  }
  return logRecord('subscriptions', tenantKey(TENANT, 'subscription', id), {
    ...{ tenant: TENANT, kind: 'subscription', id, version: doc.version, deleted: false },
    ...{ updatedAt: Date.now(), doc },
  })
}

export interface HappenedWorld {
  log: ReturnType<ReturnType<typeof createMemoryEventLog>['open']>
  model: ReadModel
  append(...records: OutgoingRecord[]): Promise<void>
  /** A further model over the same log. */
  another(database?: ProjectionDatabase): Promise<ReadModel>
  stop(): Promise<void>
}

export async function openHappenedWorld(): Promise<HappenedWorld> {
  const memory = createMemoryEventLog({ clock: systemClock, partitions: () => 2 })
  memory.createTopic(`ingress.ext.${TENANT}`, 2)
  const log = memory.open()
  const models = new Set<ReadModel>()
  const another = async (database = openProjectionDatabase(':memory:')) => {
    const model = await openReadModel({
      ...{ log, codec, database },
      clock: systemClock,
      logger: silentLogger,
    })
    models.add(model)
    const stop = async () => {
      if (models.delete(model)) await model.stop()
    }
    return { ...model, stop }
  }
  const model = await another()
  return {
    log,
    model,
    another,
    async append(...records) {
      await log.append(records)
      await model.fresh()
    },
    async stop() {
      for (const each of models) await each.stop()
      await log.stop()
    },
  }
}
