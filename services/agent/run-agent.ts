/**
 * The agent at work, on ports alone: the executor claims from its mailbox, and the background
 * runner does the operations of the partitions that the consumer group gives it.
 */
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { ChatModel } from '#kernel/ports/chat-model.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import { isClientError, isTransient } from '#services/client/client-error.ts'
import type { Client } from '#services/client/create-client.ts'
import type { AgentConfiguration } from './configuration.ts'
import { createAgentHandler } from './executor/agent-executor.ts'
import { toolRulesOf } from './executor/tool-rules.ts'
import { waitingMessages } from './executor/waiting-messages.ts'
import type { ExecutorWorld } from './executor/work.ts'
import { turnLimitsOf } from './loop/turn-limits.ts'
import type { LoopClock } from './loop/turn-state.ts'
import type { HttpCall } from './operations/http-call.ts'
import { createOperationRunner } from './operations/operation-runner.ts'
import type { LogOperationStore } from './storage/log-operation-store.ts'
import { createLogSessionStore } from './storage/log-session-store.ts'
import { ownOperations } from './storage/operation-owner.ts'
import type { SessionTable } from './storage/session-table.ts'
import type { ToolRegistry } from './tools/tool-registry.ts'

export interface AgentWorld {
  settings: AgentConfiguration
  /** Name of this executor, shown to people. */
  executor: string
  /** Holds a key for the mailbox. */
  client: Client
  model: ChatModel
  registry: ToolRegistry
  connectorTools: ExecutorWorld['connectorTools']
  log: EventLog
  /** Of `agent.sessions` and `agent.operations`. */
  tables: LiveTables
  table: SessionTable
  operations: LogOperationStore
  /** Makes the requests of operations. */
  http: HttpCall
  clock: LoopClock
  logger: Logger
  /** Shows the text of an answer while it comes. Default: nobody watches. */
  onDraft?: ExecutorWorld['onDraft']
  /** Ms: of each lease, of one claim's wait, and that running turns get at an orderly end. */
  timing?: { leaseMs: number; waitMs: number; drainMs: number }
}

export interface RunningAgent {
  /**
   * Resolves when the runner has taken up what was left unfinished; rejects when it never will in
   * this process. Turns run from the beginning, and in both cases until `drain`.
   */
  ready: Promise<void>
  /** Claims no more, and ends what runs within its time. */
  drain(): Promise<void>
  /** Waits for a beginning under way, so that nothing begins afterwards. */
  stop(): Promise<void>
}

const TIMING = { leaseMs: 30_000, waitMs: 20_000, drainMs: 8000 }

/** Begins to work; it can be ended from now on. Whoever calls handles `ready`. */
export function runAgent(world: AgentWorld): RunningAgent {
  const draining = new AbortController()
  const working = work(world, draining.signal)
  const owning = ownOperations({
    ...{ log: world.log, tables: world.tables, agent: world.settings.AGENT_ID },
    everything: world.operations.everything,
    startRunner: () => startRunner(world),
  })
  return {
    ready: owning.then(() => undefined),
    async drain() {
      draining.abort(new Error('The process stops.'))
      await working
    },
    async stop() {
      const owner = await owning.catch(() => undefined)
      await owner?.stop()
    },
  }
}

/** Claims until the signal aborts; a mailbox that refuses for good is said once, and left. */
async function work(world: AgentWorld, signal: AbortSignal): Promise<void> {
  const { settings, client, logger, timing = TIMING } = world
  const { leaseMs, waitMs, drainMs } = timing
  try {
    await describeAgent(client, settings)
    await client.work(settings.AGENT_ID, createAgentHandler(executorWorld(world)), {
      ...{ executor: world.executor, leaseMs, waitMs, signal, drainMs },
      concurrency: settings.AGENT_CONCURRENCY,
      onEvent: event => logger.debug({ ...event }, 'agent message'),
    })
  } catch (error) {
    if (!signal.aborted) logger.error({ err: error }, 'the agent cannot work its mailbox')
  }
}

function executorWorld(world: AgentWorld): ExecutorWorld {
  const { settings, client, model, registry, operations, table, clock, logger } = world
  return {
    ...{ agent: settings.AGENT_ID, model, operations, registry, clock, onDraft: world.onDraft },
    connectorTools: world.connectorTools,
    sessionsUnder: token => createLogSessionStore(table, token),
    ...{ limits: turnLimitsOf(settings), prices: settings.AGENT_MODEL_PRICES },
    rules: toolRulesOf({
      tools: settings.AGENT_TOOLS,
      wokenTools: settings.AGENT_WOKEN_TOOLS,
      isSensitiveForbiddenWhenWoken: settings.AGENT_WOKEN_SENSITIVE === 'forbid',
    }),
    waitingMessages: session => waitingMessages(client.mailboxes, settings.AGENT_ID, session),
    askClosing: askClosingWith(client),
    record: (messageId, entry) => logger.info({ messageId, ...entry }, 'agent turn'),
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

function startRunner(world: AgentWorld) {
  const { operations, registry, http, clock, client, logger } = world
  return createOperationRunner({
    ...{ store: operations, findTool: registry.find, http, clock },
    onError: error => logger.warn({ err: error }, 'an operation waits for something that is away'),
    askClosing: askClosingWith(client),
  })
}

function askClosingWith(client: Client): ExecutorWorld['askClosing'] {
  return async ({ agent, session, batch, handle }, name) => {
    try {
      const body = { session, kind: 'follow-up' as const, input: { batch }, handle }
      await client.mailboxes.continueSession(agent, body, { idempotencyKey: `${batch}/${name}` })
    } catch (error) {
      // A stopped agent will be started again. With a handle that is too old nothing can be asked
      // for: the person's next turn takes the results.
      const isStopped = isClientError(error) && error.code === 'conflict'
      if (!isClientError(error) || isTransient(error) || isStopped) throw error
    }
  }
}
