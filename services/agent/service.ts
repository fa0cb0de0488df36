/** Wiring of the agent: its stores, its tools, the executor, the background runner, the page. */
import { existsSync, readFileSync } from 'node:fs'
import { instantOf } from '#kernel/domain/message-view.ts'
import { chooseModel, type ModelChoice } from '#kernel/host/choose-model.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { type LiveTables, openLiveTables } from '#kernel/host/live-tables.ts'
import type { Platform } from '#kernel/host/platform.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { Running } from '#kernel/host/run-process.ts'
import type { ChatModel } from '#kernel/ports/chat-model.ts'
import { isClientError, isTransient } from '#services/client/client-error.ts'
import { type Client, createClient } from '#services/client/create-client.ts'
import { type AgentConfiguration, readAgentConfiguration } from './configuration.ts'
import { createAgentHandler } from './executor/agent-executor.ts'
import { isTurnWaiting } from './executor/is-turn-waiting.ts'
import { toolRulesOf } from './executor/tool-rules.ts'
import type { ExecutorWorld } from './executor/work.ts'
import { turnLimitsOf } from './loop/turn-limits.ts'
import { MOCK_PATHS, mockServiceRoutes } from './mock-service.ts'
import { openConnectorTools } from './open-connector-tools.ts'
import { fetchCall } from './operations/http-call.ts'
import type { Operation } from './operations/operation.ts'
import { createOperationRunner } from './operations/operation-runner.ts'
import { chatRoutes } from './page/chat-routes.ts'
import { sessionView } from './page/session-view.ts'
import { createLogOperationStore, type LogOperationStore } from './storage/log-operation-store.ts'
import {
  createLogSessionStore,
  type SessionDocument,
  sessionPlace,
} from './storage/log-session-store.ts'
import { ownOperations } from './storage/operation-owner.ts'
import { createSessionTable, type SessionTable } from './storage/session-table.ts'
import { listOperations } from './tools/list-operations.ts'
import { shippedTools } from './tools/shipped-tools.ts'
import type { Tool } from './tools/tool.ts'
import { createToolRegistry, type ToolRegistry } from './tools/tool-registry.ts'

/** Ms that running turns get at an orderly end. */
const DRAIN_MS = 8000
const LEASE_MS = 30_000
const GROUP = 'agent'

export interface AgentOptions {
  environment: Record<string, string | undefined>
  /** Makes the model of a choice; composition roots name the adapters. */
  openModel(choice: ModelChoice): ChatModel
  /** Tools of this installation, beside those that ship. Default: none. */
  tools?: readonly Tool[]
}

interface Parts {
  app: HttpApp
  platform: Platform
  settings: AgentConfiguration
  model: ChatModel
  isMock: boolean
  ownTools: readonly Tool[]
  tables: LiveTables
  table: SessionTable
  operations: LogOperationStore
}

/** Starts everything; the executor begins once the process listens. */
export async function startAgent(
  app: HttpApp,
  platform: Platform,
  { environment, openModel, tools: ownTools = [] }: AgentOptions,
): Promise<Running[]> {
  const settings = readAgentConfiguration(environment)
  const choice = chooseModel(environment, path =>
    existsSync(path) ? readFileSync(path, 'utf8') : undefined,
  )
  const topics = ['agent.sessions', 'agent.operations']
  const tables = await openLiveTables({ ...platform, topics })
  const writer = createRecordWriter(platform.codec, 'agent')
  const table = createSessionTable({ ...platform, writer, tables })
  const operations = createLogOperationStore(table, tables)
  const model = openModel(choice)
  const isMock = choice.mode === 'mock'
  const told = { app, platform, settings, model, isMock, ownTools }
  const parts: Parts = { ...told, tables, table, operations }
  mockServiceRoutes(app, { delayMs: settings.AGENT_MOCK_DELAY_MS })
  servePage(parts)
  return [tables, startWhenListening(parts)]
}

/** The API is this very process unless another is named, so its address is known only now. */
function startWhenListening(parts: Parts): Running {
  const { app, platform, settings } = parts
  const draining = new AbortController()
  let working: Promise<unknown> = Promise.resolve()
  let owner: Running | undefined
  app.addHook('onListen', async () => {
    const url = settings.AGENT_API_URL ?? addressOf(app)
    const client = createClient({ url, key: settings.AGENT_API_KEY ?? platform.adminKey ?? '' })
    const registry = registryOf(parts, addressOf(app))
    working = work(parts, { client, registry, signal: draining.signal })
    owner = await ownOperations({
      ...{ log: platform.log, tables: parts.tables, group: GROUP },
      everything: parts.operations.everything,
      startRunner: () => startRunner(parts, client, registry),
    })
  })
  return {
    async drain() {
      draining.abort(new Error('The process stops.'))
      await working
    },
    stop: async () => owner?.stop(),
  }
}

function addressOf(app: HttpApp): string {
  const address = app.server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const host = typeof address === 'object' ? address?.address : undefined
  const isAny = host === '::' || host === '0.0.0.0' || host === undefined
  const name = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}

function registryOf({ settings, operations, ownTools }: Parts, own: string): ToolRegistry {
  return createToolRegistry([
    listOperations(operations.ofSession),
    ...ownTools,
    ...shippedTools({
      accessUrl: settings.AGENT_ACCESS_API_URL ?? own + MOCK_PATHS.access,
      ticketUrl: settings.AGENT_TICKET_API_URL ?? own + MOCK_PATHS.ticket,
    }),
  ])
}

interface Started {
  client: Client
  registry: ToolRegistry
  signal: AbortSignal
}

/** Claims until the signal aborts; a mailbox that refuses for good is said once, and left. */
async function work(parts: Parts, { client, registry, signal }: Started): Promise<void> {
  const { platform, settings, model, operations, table } = parts
  const { logger, clock } = platform
  const world: ExecutorWorld = {
    ...{ agent: settings.AGENT_ID, model, operations, registry },
    connectorTools: openConnectorTools(platform, settings.AGENT_ID),
    sessionsUnder: token => createLogSessionStore(table, token),
    ...{ limits: turnLimitsOf(settings), prices: settings.AGENT_MODEL_PRICES },
    clock: { now: () => performance.now(), date: clock.now, sleep: clock.sleep },
    rules: toolRulesOf({
      tools: settings.AGENT_TOOLS,
      wokenTools: settings.AGENT_WOKEN_TOOLS,
      isSensitiveForbiddenWhenWoken: settings.AGENT_WOKEN_SENSITIVE === 'forbid',
    }),
    isTurnWaiting: session => isTurnWaiting(client.mailboxes, settings.AGENT_ID, session),
    record: (messageId, entry) => logger.info({ messageId, ...entry }, 'agent turn'),
  }
  try {
    await describeAgent(client, settings)
    await client.work(settings.AGENT_ID, createAgentHandler(world), {
      ...{ executor: `agent-${process.pid}`, leaseMs: LEASE_MS, signal, drainMs: DRAIN_MS },
      concurrency: settings.AGENT_CONCURRENCY,
      onEvent: event => logger.debug({ ...event }, 'agent message'),
    })
  } catch (error) {
    if (!signal.aborted) logger.error({ err: error }, 'the agent cannot work its mailbox')
  }
}

/** An agent that nobody described takes one message at a time: sessions would have to wait. */
async function describeAgent(client: Client, settings: AgentConfiguration): Promise<void> {
  const { AGENT_ID: id, AGENT_CONCURRENCY: maxConcurrentLeases } = settings
  try {
    await client.agents.get(id)
  } catch (error) {
    if (!isClientError(error) || error.status !== 404) return
    // Only if still nobody has: a person who describes it at the same time is not overwritten.
    const first = { ifMatch: 0 }
    await client.agents.put(id, { name: id, maxConcurrentLeases }, first).catch(() => undefined)
  }
}

function startRunner(
  { platform, operations, settings }: Parts,
  client: Client,
  tools: ToolRegistry,
) {
  const { logger, clock } = platform
  return createOperationRunner({
    ...{ store: operations, findTool: tools.find, http: fetchCall() },
    clock: { date: clock.now, sleep: clock.sleep },
    onError: error => logger.warn({ err: error }, 'an operation waits for something that is away'),
    askClosing: (operation, size) => askClosing(client, settings.AGENT_ID, operation, size),
  })
}

async function askClosing(
  client: Client,
  agent: string,
  { session, batch, handle }: Operation,
  size: number,
): Promise<void> {
  try {
    const body = { session, kind: 'follow-up' as const, input: { batch }, handle }
    await client.mailboxes.continueSession(agent, body, { idempotencyKey: `${batch}/${size}` })
  } catch (error) {
    // A handle that is too old, or a stopped agent: the person's next turn takes the results.
    if (!isClientError(error) || isTransient(error)) throw error
  }
}

function servePage({ app, platform, settings, model, isMock, tables, table, operations }: Parts) {
  const watchers = new Map<string, Set<() => void>>()
  const nameOf = (tenant: string, session: string) => JSON.stringify([tenant, session])
  const known = new Map<string, { tenant: string; session: string; at: number; isWoken: boolean }>()
  tables.onChange(({ topic, document, key }) => {
    const session = decodeURIComponent(key.split('/')[2] ?? '')
    const name = nameOf(document.tenant, session)
    if (topic === 'agent.sessions') {
      const { entries } = (document.doc as { value: SessionDocument }).value
      const isWoken = entries.some(({ cause }) => cause)
      known.set(name, { tenant: document.tenant, session, at: document.updatedAt, isWoken })
    }
    for (const onChange of watchers.get(name) ?? []) onChange()
  })
  chatRoutes(app, {
    ...{ authenticate: platform.authenticate, agent: settings.AGENT_ID, model: model.name, isMock },
    view: key =>
      sessionView({
        ...{ session: key.session, agent: settings.AGENT_ID, model: model.name },
        entries: table.get<SessionDocument>(sessionPlace(key))?.entries ?? [],
        operations: operations.known(key),
      }),
    sessions: tenant =>
      [...known.values()]
        .filter(each => each.tenant === tenant)
        .toSorted((a, b) => b.at - a.at)
        .slice(0, 100)
        .map(({ session, at, isWoken }) => ({ session, at: instantOf(at), isWoken })),
    watch(key, onChange) {
      const name = nameOf(key.tenant, key.session)
      const set = watchers.get(name) ?? new Set()
      watchers.set(name, set.add(onChange))
      return () => {
        set.delete(onChange)
        if (set.size === 0) watchers.delete(name)
      }
    },
  })
}
