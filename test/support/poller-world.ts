/**
 * The poller over a log in memory and MCP servers that a test writes by hand: what they offer and
 * answer are plain functions, so that every fault is one line.
 */
import { createMemoryEventLog, type LogCall } from '#kernel/adapters/memory/memory-event-log.ts'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { type Connector, type ConnectorInput, connectorSchema } from '#kernel/domain/connector.ts'
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { DEFAULT_LIMITS } from '#kernel/domain/limits.ts'
import { type McpOffer, mcpOffer } from '#kernel/domain/mcp-offer.ts'
import { type ObjectKind, objectKey, POLICY_ID, TABLE_OF } from '#kernel/domain/object-key.ts'
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import { defaultPolicy, type PolicyInput, policySchema } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { observeSchema } from '#kernel/domain/trigger.ts'
import { createConnectorRate } from '#kernel/host/connector-rate.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { openLiveTables } from '#kernel/host/live-tables.ts'
import { createMcpConnections } from '#kernel/host/mcp-connections.ts'
import { createRecordWriter, type RecordWriter } from '#kernel/host/record-writer.ts'
import type { Running } from '#kernel/host/run-process.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import {
  type McpCall,
  type McpClient,
  type McpEventPage,
  McpFailure,
} from '#kernel/ports/mcp-client.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type {
  Change,
  EventRecord,
  Notice,
  TableDocument,
  Usage,
} from '#schemas/generated/records.ts'
import { runPoller } from '#services/mcp-poller/poller-runner.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'

export const TENANT = 'acme'
const START = Date.parse('2026-12-01T09:00:00Z')

/** A server, as it is now; a test changes it while polls go on. */
export interface FakeServer {
  offers: McpOffer[]
  /** Answers, or throws an `McpFailure`. */
  answer(call: McpCall): unknown
  events?(call: McpCall & { cursor: string | null }): McpEventPage
  /** Every call of an operation, in order. */
  calls: McpCall[]
}

export const tool = (operation: string, description = 'Lists.'): McpOffer =>
  mcpOffer({ operation, kind: 'tool', description, readOnlyHint: true, inputSchema: {} })

const codec = createRecordCodec()

export type PollerBench = ReturnType<typeof createPollerBench>

export function createPollerBench({ partitions = 2 } = {}) {
  const clock = createManualClock(START)
  const faults: { beforeLog?(call: LogCall): void } = {}
  const log = createMemoryEventLog({
    clock,
    partitions: () => partitions,
    hooks: { before: call => faults.beforeLog?.(call) },
  })
  const store = createMemoryStateStore({ now: () => clock.now() })
  const writer = createRecordWriter(codec, 'test')
  const servers = new Map<string, FakeServer>()
  const put = async (kind: ObjectKind, id: string, doc: object & { version: number }) => {
    const key = objectKey(TENANT, kind, id)
    const { version } = doc
    const record = { tenant: TENANT, kind, id, version, deleted: false, updatedAt: 0, doc }
    const output = { topic: TABLE_OF[kind], key, id: key, tenant: TENANT, value: record }
    await log.open('registry').append([writer.encode(output)])
  }
  const connectors = new Map<string, Connector>()
  return {
    ...{ clock, log, faults, servers },
    server(name: string, server: Partial<FakeServer> = {}): FakeServer {
      const made = { offers: [tool('list')], answer: () => ({ items: [] }), calls: [], ...server }
      servers.set(`https://${name}.test/`, made)
      return made
    },
    async connector(name: string, more: Partial<ConnectorInput & Connector> = {}) {
      const url = `https://${name}.test/`
      const allow = [{ operation: 'list' }]
      const { pins = {}, changed = {}, ...written } = more
      const input = connectorSchema.parse({ transport: 'http', url, allow, ...written })
      const version = (connectors.get(name)?.version ?? 0) + 1
      const own = { id: name, tenant: TENANT, version, owner: 'user:ops', pins, changed }
      const connector: Connector = { ...input, ...own }
      connectors.set(name, connector)
      await put('connector', name, connector)
    },
    policy: (input: PolicyInput, version = 1) =>
      put('policy', POLICY_ID, { ...defaultPolicy(TENANT), ...policySchema.parse(input), version }),
    subscription: (id: string, more: SubscriptionPlan = {}) =>
      put('subscription', id, subscriptionOf(id, more)),
    /** What the registry would do: marks of connectors and suspensions are applied. */
    async applyChanges() {
      for (const change of changesIn(log).splice(0)) {
        const { id, body } = change
        const known = connectors.get(id)
        if (change.kind !== 'connector' || !known || change.ifVersion !== known.version) continue
        const { operation, hash } = body as { operation: string; hash: string }
        const next: Connector = {
          ...known,
          version: known.version + 1,
          ...(change.action === 'pin'
            ? { pins: { ...known.pins, [operation]: hash } }
            : { changed: { ...known.changed, [operation]: { hash, at: '' } } }),
        }
        connectors.set(id, next)
        await put('connector', id, next)
      }
    },
    changes: () => changesIn(log),
    /** Records of usage, each once, as the read model counts them. */
    usage: () => usageIn(log),
    notices: () =>
      log.records('notices').map(({ value }) => codec.decode('notice', value ?? fail()) as Notice),
    /** Events by their first appearance; `repeats` counts those that came again. */
    events: () => eventsIn(log),
    cursors: () => cursorsIn(log),
    /** A process, with its own view of the log; after `crash` none of its calls is answered. */
    start: (name: string, seenAs: (log: EventLog) => EventLog = own => own) =>
      startProcess({ clock, log, store, servers, writer, seenAs }, name),
  }
}

interface ProcessWorld {
  clock: ManualClock
  log: MemoryLog
  store: ReturnType<typeof createMemoryStateStore>
  servers: Map<string, FakeServer>
  writer: RecordWriter
  seenAs(log: EventLog): EventLog
}

async function startProcess(
  { clock, log, store, servers, writer, seenAs }: ProcessWorld,
  name: string,
): Promise<Running & { crash(): void }> {
  const instance = log.open(name)
  const own = { log: seenAs(instance), store: store.open(name) }
  let randoms = 0
  const ids = { random: () => `${name}${++randoms}`.padEnd(32, '0') }
  const tables = await openLiveTables({
    ...{ log: own.log, codec, clock },
    topics: ['subscriptions', 'policies', 'sources'],
  })
  const mcp = createMcpConnections({
    client: fakeClient(servers),
    secrets: { resolve: async () => undefined, seal: secret => secret },
    ...{ commands: {}, clock },
  })
  const poller = await runPoller({
    ...own,
    ...{ clock, ids, logger: silentLogger, writer, codec, tables, mcp },
    admit: createConnectorRate(clock),
    directory: createDirectory(tables),
    gate: () => tables.barrier(),
    knownTenants: () => tables.tenants(),
    random: () => 0,
  })
  return {
    crash: () => instance.crash(),
    async stop() {
      await poller.stop()
      await mcp.stop()
      await tables.stop()
    },
  }
}

const fail = (): never => {
  throw new Error('a record without value')
}

type MemoryLog = ReturnType<typeof createMemoryEventLog>

function changesIn(log: MemoryLog): Change[] {
  const seen = new Map<string, Change>()
  for (const { value } of log.records('registry.changes')) {
    const change = codec.decode('change', value ?? fail()) as Change
    if (!seen.has(change.changeId)) seen.set(change.changeId, change)
  }
  return [...seen.values()]
}

function usageIn(log: MemoryLog): Usage[] {
  const seen = new Map<string, Usage>()
  for (const { value } of log.records('usage')) {
    const usage = codec.decode('usage', value ?? fail()) as Usage
    const { subject, stage, attempt } = usage
    const key = `${subject}/${stage}/${attempt}`
    if (!seen.has(key)) seen.set(key, usage)
  }
  return [...seen.values()]
}

function eventsIn(log: MemoryLog) {
  const seen = new Map<string, { item: string; type: string; subject: string; repeats: number }>()
  for (const { value } of log.records('ingress.mcp')) {
    const event = toCloudEvent(codec.decode('event', value ?? fail()) as EventRecord)
    const known = seen.get(event.id)
    if (known) known.repeats++
    else {
      const { type, subject = '', dedupkey } = event
      seen.set(event.id, { item: String(dedupkey), type, subject, repeats: 0 })
    }
  }
  return [...seen.values()]
}

function cursorsIn(log: MemoryLog): (ObservationState & { version: number; deleted: boolean })[] {
  const last = new Map<string, TableDocument>()
  for (const { key, value } of log.records('cursors')) {
    const document = codec.decode('table-document', value ?? fail()) as TableDocument
    // As compaction leaves it: the last record, whatever its version.
    last.set(Buffer.from(key ?? []).toString(), document)
  }
  return [...last.values()].map(({ doc, version, deleted }) => ({
    ...(doc as ObservationState),
    ...{ version, deleted },
  }))
}

export interface SubscriptionPlan {
  observe?: object
  owner?: string
  onBehalfOf?: string | null
  version?: number
  operation?: Subscription['state']['operation']
  by?: string
}

function subscriptionOf(id: string, plan: SubscriptionPlan): Subscription {
  const { observe = {}, owner = 'user:ana', onBehalfOf = null, version = 1 } = plan
  const read = { connector: 'tickets', operation: 'list', everyMs: 1000, itemsPointer: '/items' }
  const { operation = 'active', by = owner } = plan
  return {
    ...{ id, tenant: TENANT, version, name: id, agent: 'triage', owner, onBehalfOf },
    ...{ instruction: 'Look.', session: null, workspace: null, managedBy: null },
    ...{ on: null, schedule: null, observe: observeSchema.parse({ ...read, ...observe }) },
    ...{ filters: [], condition: null, limits: DEFAULT_LIMITS },
    origin: { kind: 'person', id: 'ana' },
    state: { approval: 'not-required', operation, reason: '', by, at: '', version },
    ...{ startsAt: {}, createdAt: '', updatedAt: '' },
  }
}

function fakeClient(servers: Map<string, FakeServer>): McpClient {
  return {
    async connect(target) {
      const server = target.transport === 'http' ? servers.get(target.url) : undefined
      if (!server) throw new McpFailure('unreachable')
      return {
        list: async () => server.offers,
        async call(call) {
          server.calls.push(call)
          return server.answer(call)
        },
        async pollEvents(call) {
          server.calls.push(call)
          if (!server.events) throw new McpFailure('refused')
          return server.events(call)
        },
        close: async () => {},
      }
    },
  }
}
