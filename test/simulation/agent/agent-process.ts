/** One process of an agent: the real executor, loop, tools and runner on simulated ports. */

import { openLiveTables } from '#kernel/host/live-tables.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { type Logger, silentLogger } from '#kernel/ports/logger.ts'
import { readAgentConfiguration } from '#services/agent/configuration.ts'
import type { TurnRecord } from '#services/agent/loop/turn-state.ts'
import { fetchCall } from '#services/agent/operations/http-call.ts'
import { type AgentWorld, runAgent } from '#services/agent/run-agent.ts'
import { createLogOperationStore } from '#services/agent/storage/log-operation-store.ts'
import { createSessionTable } from '#services/agent/storage/session-table.ts'
import { listOperations } from '#services/agent/tools/list-operations.ts'
import { shippedTools } from '#services/agent/tools/shipped-tools.ts'
import { createToolRegistry } from '#services/agent/tools/tool-registry.ts'
import { createClient } from '#services/client/create-client.ts'
import type { Doors, ServiceOptions } from '../services.ts'
import type { SimProcess } from '../sim-process.ts'
import { type AgentSeat, type AgentSim, timeLimit } from './agent-sim.ts'
import { agentTools } from './agent-tools.ts'
import { apiFetch } from './api-fetch.ts'
import { outsideFetch } from './outside.ts'
import { scriptedModel } from './scripted-model.ts'

/** Short, so that a seed meets the end of each. */
const SETTINGS = {
  AGENT_CONCURRENCY: '3',
  AGENT_LOOP_MAX_ITERATIONS: '6',
  AGENT_LOOP_MAX_TOOL_CALLS: '12',
  AGENT_LOOP_WALL_TIME_MS: '2000',
  AGENT_LOOP_REQUEST_TIMEOUT_MS: '3000',
  AGENT_LOOP_MAX_OUTPUT_TOKENS: '500',
  AGENT_TOOLS:
    'look,leave_note,pay,send_mail,list_operations,provision_access_async,create_ticket_async',
}
const TIMING = { leaseMs: 3000, waitMs: 4000, drainMs: 1500 }

export const TOOL_ADDRESSES = { accessUrl: 'http://outside/', ticketUrl: 'http://outside/' }

/** Starts an agent as `services/agent/service.ts` does, without its page. */
export async function startAgentProcess(
  sim: AgentSim,
  process: SimProcess,
  { codec, note }: ServiceOptions,
): Promise<Doors> {
  const { world } = sim
  const { log, clock, ids } = process
  const agent = process.node.replace(/-\d+$/, '')
  const random = world.random.fork(`${process.name}/agent`)
  const seat: AgentSeat = { sim, process, agent, random }
  const tables = await openLiveTables({
    ...{ log, codec, clock, topics: ['agent.sessions', 'agent.operations'] },
  })
  const writer = createRecordWriter(codec, 'agent')
  const table = createSessionTable({ log, writer, tables, clock, ids })
  const operations = createLogOperationStore(table, tables)
  const send = outsideFetch(seat)
  const monotonic = { now: () => world.clock.now(), sleep: clock.sleep }
  const parts: AgentWorld = {
    ...{ log, tables, table, operations, timing: TIMING },
    settings: readAgentConfiguration({ ...SETTINGS, AGENT_ID: agent }),
    executor: process.name,
    client: createClient({
      ...{ url: 'http://ambit.example', fetch: apiFetch(seat), clock: monotonic },
      ...{ timeLimit: timeLimit(seat), random: random.next, timeoutMs: 2000, attemptsMax: 3 },
    }),
    model: scriptedModel(seat),
    registry: createToolRegistry([
      listOperations(operations.ofSession),
      ...agentTools(seat),
      ...shippedTools(TOOL_ADDRESSES),
    ]),
    connectorTools: async () => [],
    http: fetchCall({ send, timeLimit: timeLimit(seat) }),
    clock: { ...monotonic, date: clock.now },
    logger: noting(sim, (text: string) => note(`${process.name}: ${text}`)),
  }
  const running = runAgent(sim.bug?.wrapAgent?.(parts, seat) ?? parts)
  sim.drains.set(process.name, async () => {
    await running.drain()
    await running.stop()
  })
  await running.ready
  return {}
}

function noting({ facts }: AgentSim, note: (text: string) => void): Logger {
  const told = (fields: object, message: string) => {
    const { err } = fields as { err?: unknown }
    note(`${message} ${err === undefined ? JSON.stringify(fields) : String(err)}`)
  }
  return {
    ...silentLogger,
    info(fields, message) {
      const entry = fields as Partial<TurnRecord>
      if (entry.kind === 'stopped' && entry.stopReason) {
        facts.stops.set(entry.stopReason, (facts.stops.get(entry.stopReason) ?? 0) + 1)
        told(fields, message)
      }
    },
    debug: told,
    warn: told,
    error: told,
  }
}
