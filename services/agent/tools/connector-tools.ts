/**
 * What an agent may call of the MCP servers of its tenant. Everything is asked twice: when a turn
 * begins, for what the model is told, and at each call, for what connector, policy and server say
 * then.
 */
import {
  type Allowed,
  allowedOperation,
  type Connector,
  isConnectorEntitled,
  pinOf,
} from '#kernel/domain/connector.ts'
import { EVENT_PREFIX, type McpOffer } from '#kernel/domain/mcp-offer.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { McpConnections } from '#kernel/host/mcp-connections.ts'
import { McpFailure } from '#kernel/ports/mcp-client.ts'
import { connectorTool } from './connector-tool.ts'
import { type Tool, ToolRefusal } from './tool.ts'

export interface ConnectorToolsWorld {
  connectorsOf(tenant: string): Connector[]
  policyOf(tenant: string): Pick<Policy, 'connectors'>
  mcp: Pick<McpConnections, 'use'>
  /** Resolves when the connector's rate allows one more call. */
  admit(connector: Connector): Promise<void>
  /** Monotonic ms. */
  now(): number
  /** Resolves after the time; a turn does not wait longer for what servers offer. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Tells the registry the hash of an operation. */
  mark(connector: Connector, mark: Mark): Promise<void>
  onAway(connector: Connector, word: string): void
}

export interface Mark {
  action: 'pin' | 'flag'
  operation: string
  hash: string | null
}

/** For whom a run acts: the tenant, and the name that the policy's connector rows may hold. */
export interface ConnectorScope {
  tenant: string
  person: string
}

export type ConnectorTools = (scope: ConnectorScope) => Promise<Tool[]>

/** Ms for which what a server offers is remembered for descriptions, and that it is away. */
const OFFERS_KEPT_MS = 60_000
const AWAY_KEPT_MS = 15_000
/** Ms that the beginning of a turn waits for a server. */
const LIST_WITHIN_MS = 5000

interface Kept {
  version: number
  until: number
  offers: Promise<McpOffer[]>
}

export function createConnectorTools(world: ConnectorToolsWorld): ConnectorTools {
  const kept = new Map<string, Kept>()
  const firstRead = new Map<string, string>()
  return async scope => {
    const { tenant } = scope
    const usable = world.connectorsOf(tenant).flatMap(connector => {
      const allowed = connector.allow.filter(
        ({ operation }) => refusalOf(world, scope, connector, operation) === undefined,
      )
      return allowed.length > 0 ? [{ connector, allowed }] : []
    })
    const caller = { world, firstRead, scope }
    const found = usable.map(async ({ connector, allowed }) => {
      const offers = await offersOf(world, kept, connector)
      return Promise.all(allowed.map(each => toolOf(caller, connector, each, offers)))
    })
    return (await Promise.all(found)).flat().filter(tool => tool !== undefined)
  }
}

/** Why the operation may not be called, as connector and policy are; undefined when it may. */
function refusalOf(
  world: Pick<ConnectorToolsWorld, 'policyOf'>,
  { tenant, person }: ConnectorScope,
  connector: Connector,
  operation: string,
): string | undefined {
  if (!allowedOperation(connector, operation)) return 'not-allowed'
  if (operation.startsWith(EVENT_PREFIX)) return 'not-allowed'
  const asked = { connector: connector.id, operation }
  if (!isConnectorEntitled(world.policyOf(tenant), person, asked)) return 'not-entitled'
  return Object.hasOwn(connector.changed, operation) ? 'operation-changed' : undefined
}

/** What the server offers; nothing while it is away, and a turn is not held up for long. */
async function offersOf(
  world: ConnectorToolsWorld,
  kept: Map<string, Kept>,
  connector: Connector,
): Promise<McpOffer[]> {
  const key = JSON.stringify([connector.tenant, connector.id])
  const known = kept.get(key)
  const isFresh = known && known.version === connector.version && known.until > world.now()
  const entry: Kept = isFresh
    ? known
    : {
        version: connector.version,
        until: world.now() + OFFERS_KEPT_MS,
        offers: world.mcp.use(connector, connection => connection.list(LIST_WITHIN_MS)),
      }
  kept.set(key, entry)
  const answered = new AbortController()
  const late = world.sleep(LIST_WITHIN_MS, answered.signal).then(() => {
    throw new McpFailure('timeout')
  })
  try {
    return await Promise.race([entry.offers, late])
  } catch (error) {
    entry.until = Math.min(entry.until, world.now() + AWAY_KEPT_MS)
    world.onAway(connector, error instanceof McpFailure ? error.word : 'bad-answer')
    return []
  } finally {
    answered.abort()
    late.catch(() => {})
  }
}

interface Caller {
  world: ConnectorToolsWorld
  /** Hashes that this process read first, until the registry has written them down. */
  firstRead: Map<string, string>
  scope: ConnectorScope
}

/** The tool; none where the server offers nothing of that name, or not what was allowed. */
async function toolOf(
  caller: Caller,
  connector: Connector,
  allowed: Allowed,
  offers: readonly McpOffer[],
): Promise<Tool | undefined> {
  const { operation } = allowed
  const offer = offers.find(each => each.operation === operation)
  if (!offer) return undefined
  const { hash } = offer
  const pin = knownPin(caller, connector, operation)
  if (pin !== undefined && pin !== hash) {
    await caller.world.mark(connector, { action: 'flag', operation, hash })
    return undefined
  }
  const { id } = connector
  return connectorTool(connector, allowed, offer, (args, key) =>
    callNow(caller, { id, operation, shown: hash }, args, key),
  )
}

function knownPin({ firstRead, scope }: Caller, connector: Connector, operation: string) {
  return pinOf(connector, operation) ?? firstRead.get(firstReadKey(scope, connector, operation))
}

/** Whoever writes a connector again allows what its server offers then. */
function firstReadKey({ tenant }: ConnectorScope, { id, version }: Connector, operation: string) {
  return JSON.stringify([tenant, id, version, operation])
}

async function callNow(
  caller: Caller,
  { id, operation, shown }: { id: string; operation: string; shown: string },
  args: Record<string, unknown>,
  idempotencyKey: string,
): Promise<unknown> {
  const { world, scope } = caller
  const connector = world.connectorsOf(scope.tenant).find(each => each.id === id)
  if (!connector) throw new ToolRefusal('no-connector')
  const refusal = refusalOf(world, scope, connector, operation)
  const allowed = allowedOperation(connector, operation)
  if (refusal || !allowed) throw new ToolRefusal(refusal ?? 'not-allowed')
  const { timeoutMs, maxBytes } = allowed
  return world.mcp.use(connector, async connection => {
    await world.admit(connector)
    const offers = await connection.list(timeoutMs)
    const hash = offers.find(offer => offer.operation === operation)?.hash ?? null
    await refuseDrift(caller, connector, { operation, hash, shown })
    await world.admit(connector)
    const call = { operation, arguments: args, timeoutMs, maxBytes, idempotencyKey }
    return connection.call(call)
  })
}

/** An operation that is not what was allowed, or not what the model was told, is not called. */
async function refuseDrift(
  caller: Caller,
  connector: Connector,
  { operation, hash, shown }: { operation: string; hash: string | null; shown: string },
): Promise<void> {
  const { world, firstRead, scope } = caller
  const pin = knownPin(caller, connector, operation)
  if (hash === null || (pin !== undefined && hash !== pin)) {
    await world.mark(connector, { action: 'flag', operation, hash })
    throw new ToolRefusal('operation-changed')
  }
  if (hash !== shown) throw new ToolRefusal('operation-changed')
  if (pinOf(connector, operation) !== undefined) return
  firstRead.set(firstReadKey(scope, connector, operation), hash)
  await world.mark(connector, { action: 'pin', operation, hash })
}
