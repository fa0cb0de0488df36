/**
 * Open sessions with the MCP servers of connectors, kept between polls. Here credentials are
 * resolved and local commands judged, so that nothing else of the product sees either.
 */
import { canonicalJson } from '#kernel/domain/canonical-json.ts'
import type { Connector, ConnectorAuth } from '#kernel/domain/connector.ts'
import { hashId } from '#kernel/domain/ids.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import {
  type McpClient,
  type McpConnection,
  McpFailure,
  type McpTarget,
} from '#kernel/ports/mcp-client.ts'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'
import { type McpCommands, mcpCommandOf } from './mcp-commands.ts'

export interface McpConnectionsWorld {
  client: McpClient
  secrets: SecretResolver
  commands: McpCommands
  clock: Clock
}

export interface McpConnections {
  /** Runs on an open session; one that broke, or was refused, is opened anew the next time. */
  use<T>(connector: Connector, work: (connection: McpConnection) => Promise<T>): Promise<T>
  /** Closes every session; later calls are refused. */
  stop(): Promise<void>
}

/** Ms without use after which a session ends, and a local command's process with it. */
const IDLE_MS = 300_000
const SWEEP_EVERY_MS = 30_000
const CONNECT_WITHIN_MS = 15_000
/** What a message may hold besides the largest allowed answer: lists of tools, and escapes. */
const MESSAGE_EXTRA_BYTES = 2 * 1024 * 1024

interface Kept {
  connection: Promise<McpConnection>
  usedAt: number
  users: number
}

export function createMcpConnections(world: McpConnectionsWorld): McpConnections {
  const { clock } = world
  const kept = new Map<string, Kept>()
  const stopping = new AbortController()
  const drop = async (key: string, entry: Kept) => {
    if (kept.get(key) === entry) kept.delete(key)
    const connection = await entry.connection.catch(() => undefined)
    await connection?.close()
  }
  const sweeping = sweep(world, stopping.signal, kept, drop)
  return {
    async use(connector, work) {
      if (stopping.signal.aborted) throw new McpFailure('unreachable')
      const key = keyOf(connector)
      const entry = kept.get(key) ?? { connection: open(world, connector), usedAt: 0, users: 0 }
      kept.set(key, entry)
      entry.users++
      try {
        return await work(await entry.connection)
      } catch (error) {
        if (isOver(error)) await drop(key, entry)
        throw error
      } finally {
        entry.users--
        entry.usedAt = clock.now()
      }
    },
    async stop() {
      stopping.abort()
      await Promise.all([...kept].map(([key, entry]) => drop(key, entry)))
      await sweeping
    },
  }
}

async function sweep(
  { clock }: McpConnectionsWorld,
  signal: AbortSignal,
  kept: Map<string, Kept>,
  drop: (key: string, entry: Kept) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(SWEEP_EVERY_MS, signal).catch(() => {})
    const since = clock.now() - IDLE_MS
    const idle = [...kept].filter(([, { users, usedAt }]) => users === 0 && usedAt < since)
    for (const [key, entry] of idle) await drop(key, entry)
  }
}

/** After these a session is of no use: it is gone, confused, or its credential is. */
function isOver(error: unknown): boolean {
  const lasting = ['refused', 'operation-failed', 'throttled']
  return !(error instanceof McpFailure) || !lasting.includes(error.word)
}

/** A session belongs to one way of reaching the server, with one credential. */
function keyOf(connector: Connector): string {
  const { tenant, id, allow: _allow, pins: _pins, changed: _changed, ...rest } = connector
  const { version: _version, rateLimit: _rate, owner: _owner, ...target } = rest
  return hashId('mc', tenant, id, canonicalJson(target))
}

async function open(world: McpConnectionsWorld, connector: Connector): Promise<McpConnection> {
  const largest = Math.max(0, ...connector.allow.map(({ maxBytes }) => maxBytes))
  const bounds = { timeoutMs: CONNECT_WITHIN_MS, maxBytes: 2 * largest + MESSAGE_EXTRA_BYTES }
  return world.client.connect(await targetOf(world, connector), bounds)
}

async function targetOf(
  { secrets, commands }: McpConnectionsWorld,
  connector: Connector,
): Promise<McpTarget> {
  if (connector.transport === 'stdio') {
    const command = mcpCommandOf(commands, connector.command)
    if (!command) throw new McpFailure('command-not-allowed')
    return { transport: 'stdio', command }
  }
  const { url, auth } = connector
  if (!auth) return { transport: 'http', url, headers: {} }
  const secret = await secrets.resolve(auth.secret)
  if (secret === undefined) throw new McpFailure('unauthorised')
  if (auth.scheme === 'oauth') {
    const { clientId, scope } = auth
    return { transport: 'http', url, headers: {}, oauth: { clientId, secret, scope } }
  }
  return { transport: 'http', url, headers: headersOf(auth, secret) }
}

function headersOf(
  auth: Exclude<ConnectorAuth, { scheme: 'oauth' }>,
  secret: string,
): Record<string, string> {
  return auth.scheme === 'bearer'
    ? { authorization: `Bearer ${secret}` }
    : { [auth.header.toLowerCase()]: secret }
}
