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
import { createClient } from '#services/client/create-client.ts'
import { type AgentConfiguration, readAgentConfiguration } from './configuration.ts'
import { MOCK_PATHS, mockServiceRoutes } from './mock-service.ts'
import { openConnectorTools } from './open-connector-tools.ts'
import { fetchCall } from './operations/http-call.ts'
import { chatRoutes } from './page/chat-routes.ts'
import { createDrafts, type Drafts } from './page/drafts.ts'
import { sessionView } from './page/session-view.ts'
import { createWatchers } from './page/watchers.ts'
import { type RunningAgent, runAgent } from './run-agent.ts'
import { createLogOperationStore, type LogOperationStore } from './storage/log-operation-store.ts'
import { type SessionDocument, sessionPlace } from './storage/log-session-store.ts'
import {
  createSessionTable,
  type SessionTable,
  sessionPartitionKey,
} from './storage/session-table.ts'
import { listOperations } from './tools/list-operations.ts'
import { shippedTools } from './tools/shipped-tools.ts'
import type { Tool } from './tools/tool.ts'
import { createToolRegistry, type ToolRegistry } from './tools/tool-registry.ts'

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
  drafts: Drafts
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
  const drafts = createDrafts(platform.clock)
  const parts: Parts = { ...told, tables, table, operations, drafts }
  mockServiceRoutes(app, { delayMs: settings.AGENT_MOCK_DELAY_MS })
  servePage(parts)
  return [tables, startWhenListening(parts)]
}

/** The API is this very process unless another is named, so its address is known only now. */
function startWhenListening(parts: Parts): Running {
  const { app, platform, settings, model, tables, table, operations, drafts } = parts
  let agent: RunningAgent | undefined
  const { log, clock, logger } = platform
  const begin = async () => {
    const url = settings.AGENT_API_URL ?? addressOf(app)
    agent = runAgent({
      ...{ settings, model, log, tables, table, operations, logger, onDraft: drafts.set },
      executor: `agent-${process.pid}`,
      client: createClient({ url, key: settings.AGENT_API_KEY ?? platform.adminKey ?? '' }),
      registry: registryOf(parts, addressOf(app)),
      connectorTools: openConnectorTools(platform, settings.AGENT_ID),
      http: fetchCall(),
      clock: { now: () => performance.now(), date: clock.now, sleep: clock.sleep },
    })
    await agent.ready
  }
  // Nobody awaits this hook, and fastify's own log is off.
  app.addHook('onListen', () =>
    begin().catch(error =>
      logger.error({ err: error }, 'the agent takes up no operations: start this process again'),
    ),
  )
  return {
    drain: async () => agent?.drain(),
    stop: async () => agent?.stop(),
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

function servePage(parts: Parts) {
  const { app, platform, settings, model, isMock, tables, table, operations, drafts } = parts
  const { watch, tell } = createWatchers()
  const known = new Map<string, { tenant: string; session: string; at: number; isWoken: boolean }>()
  tables.onChange(({ topic, document, key }) => {
    const { tenant } = document
    const session = decodeURIComponent(key.split('/')[2] ?? '')
    if (topic === 'agent.sessions') {
      const { entries } = (document.doc as { value: SessionDocument }).value
      const isWoken = entries.some(({ cause }) => cause)
      const name = sessionPartitionKey({ tenant, session })
      known.set(name, { tenant, session, at: document.updatedAt, isWoken })
    }
    tell({ tenant, session })
  })
  chatRoutes(app, {
    ...{ authenticate: platform.authenticate, agent: settings.AGENT_ID, model: model.name, isMock },
    ...{ drafts, watch, clock: platform.clock },
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
  })
}
