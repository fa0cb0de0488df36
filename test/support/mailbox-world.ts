/** Whole mailboxes in memory: intake running as a step, and any number of hosts beside it. */

import { createHandleSigner } from '#kernel/adapters/crypto/handle-signer.ts'
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { type Agent, defaultAgent } from '#kernel/domain/agent.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { TopicName } from '#kernel/domain/topic-name.ts'
import type { Directory } from '#kernel/host/directory.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { type RunningStep, runStep } from '#kernel/host/step-runner.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createRecordCodec, type RecordTypes } from '#schemas/codec.ts'
import type { Message } from '#schemas/generated/records.ts'
import { createMailbox, type Mailbox } from '#services/mailbox-dispatcher/mailbox.ts'
import { createMailboxStep } from '#services/mailbox-dispatcher/mailbox-step.ts'
import { AGENT, START, TENANT } from './mailbox-bench.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'

const PARTITIONS = 2

export interface MailboxTestWorld {
  clock: ManualClock
  log: ReturnType<typeof createMemoryEventLog>
  store: ReturnType<typeof createMemoryStateStore>
  mailbox: Mailbox
  /** Agents by id; tests edit them. */
  agents: Map<string, Agent>
  subscriptions: Map<string, Subscription>
  /** Appends a message and waits until intake has it. */
  deliver(message: Message): Promise<void>
  /** Resolves a call while time goes on. */
  during<T>(call: Promise<T>): Promise<T>
  /** A further host of the same mailboxes; its clock may be ahead. */
  openHost(name: string, aheadMs?: number): Promise<Mailbox>
  /** Values of a topic, in order of time. */
  values<N extends keyof RecordTypes>(topic: TopicName, record: N): RecordTypes[N][]
  stop(): Promise<void>
}

export async function openMailboxWorld({ isAtomic = false } = {}): Promise<MailboxTestWorld> {
  const clock = createManualClock(START)
  const log = createMemoryEventLog({ clock, partitions: () => PARTITIONS })
  const store = createMemoryStateStore({
    now: () => clock.now(),
    log: isAtomic ? log : undefined,
  })
  const agents = new Map([[AGENT, { ...defaultAgent(TENANT, AGENT), maxConcurrentLeases: 10 }]])
  const subscriptions = new Map<string, Subscription>()
  const directory = directoryOf(agents, subscriptions)
  const codec = createRecordCodec()
  let randoms = 0
  const ids = { random: () => String(++randoms).padStart(32, '0') }
  const signer = createHandleSigner(['k'.repeat(32)])
  const logger = silentLogger
  const writer = createRecordWriter(codec, 'mailbox-dispatcher')
  const host = (name: string) => ({
    log: log.open(name),
    store: store.open(name),
    ...{ writer, codec, clock, ids, signer, directory, logger },
  })
  const during = <T>(call: Promise<T>) => clock.during(call, 120_000)
  const stepWorld = { ...host('intake'), gate: async () => {}, knownTenants: () => [TENANT] }
  const step: RunningStep = await during(
    runStep(createMailboxStep({ codec, directory }), stepWorld),
  )
  const hosts: Mailbox[] = []
  const openHost = async (name: string, aheadMs = 0) => {
    const own = { ...clock, now: () => clock.now() + aheadMs }
    const opened = await during(createMailbox({ ...host(name), clock: own }))
    hosts.push(opened)
    return opened
  }
  const mailbox = await openHost('first')
  const producer = log.open('guard')
  const values: MailboxTestWorld['values'] = (topic, record) =>
    log.records(topic).map(({ value }) => codec.decode(record, value ?? new Uint8Array()))
  return {
    ...{ clock, log, store, mailbox, agents, subscriptions, during, openHost },
    values,
    async deliver(message) {
      const key = tenantKey(message.tenant, message.agent)
      const value = codec.encode('message', message)
      await producer.append([{ topic: 'mailbox', key, value }])
      const isIn = () =>
        values('mailbox.state', 'mailbox-transition').some(
          ({ messageId }) => messageId === message.id,
        )
      await clock.until(isIn)
    },
    async stop() {
      await during(Promise.all([step.stop(), ...hosts.map(opened => opened.stop())]))
    },
  }
}

function directoryOf(
  agents: Map<string, Agent>,
  subscriptions: Map<string, Subscription>,
): Directory {
  return {
    subscription: (_, id) => subscriptions.get(id),
    policy: defaultPolicy,
    tenant: () => undefined,
    agent: (_, id) => agents.get(id),
    connector: () => undefined,
    key: () => undefined,
    source: () => undefined,
    calendar: () => undefined,
    tenants: () => [TENANT],
  }
}
