/** `/v1/connectors`: MCP servers, what they offer, what is allowed, and how observing them goes. */
import { z } from 'zod'
import {
  allowedOperation,
  type Connector,
  type ConnectorInput,
  connectorSchema,
  pinOf,
} from '#kernel/domain/connector.ts'
import type { McpOffer } from '#kernel/domain/mcp-offer.ts'
import { TABLE_OF } from '#kernel/domain/object-key.ts'
import {
  OBSERVATION_KIND,
  type ObservationState,
  statusOf,
} from '#kernel/domain/observation-state.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { sourceNameSchema } from '#kernel/domain/source.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import { type McpCommands, mcpCommandOf } from '#kernel/host/mcp-commands.ts'
import type { McpConnections } from '#kernel/host/mcp-connections.ts'
import { type HttpSender, SendFailure } from '#kernel/ports/http-sender.ts'
import { McpFailure } from '#kernel/ports/mcp-client.ts'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'
import { pageOf, pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import { ifMatchOf, sendChange } from './send-change.ts'
import type { SubscriptionRoutesWorld } from './subscription-world.ts'

export interface ConnectorRoutesWorld extends SubscriptionRoutesWorld {
  secrets: SecretResolver
  httpSender: Pick<HttpSender, 'check'>
  mcp: McpConnections
  mcpCommands: McpCommands
  /** The table `cursors`. */
  cursors: LiveTables
}

const params = z.strictObject({ name: sourceNameSchema })
/** What people see of a sealed secret; written back, it keeps the one that is stored. */
const HIDDEN = '(stored encrypted)'
const LIST_WITHIN_MS = 15_000

/** Registers the routes. */
export function connectorRoutes(app: HttpApp, world: ConnectorRoutesWorld): void {
  app.put('/v1/connectors/:name', { schema: { params } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const { name: id } = request.params
    const current = world.directory.connector(by.tenant, id)
    const body = await checkedConnector(request.body, { by, current }, world)
    const ifVersion = ifMatchOf(request)
    const order = { kind: 'connector' as const, id, action: 'put', body, ifVersion }
    const result = await world.registry.ask(by, order)
    // `PUT` answers 200 also for a new connector, as for a source.
    if (result.kind === 'answered') result.status = 200
    await world.tables.barrier()
    return sendChange(reply, result, connectorView)
  })
  app.get('/v1/connectors', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    return pageOf(connectorsOf(world, tenant), request.query, c => c.id, connectorView)
  })
  app.get('/v1/connectors/:name', { schema: { params } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const connector = existing(world, tenant, request.params.name)
    await world.cursors.barrier()
    return { ...connectorView(connector), state: stateOf(world.cursors, connector) }
  })
  app.delete('/v1/connectors/:name', { schema: { params } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const order = { kind: 'connector' as const, id: request.params.name, action: 'delete' }
    return sendChange(reply, await world.registry.ask(by, order), connectorView)
  })
  app.get('/v1/connectors/:name/operations', { schema: { params } }, async request => {
    // It calls the server with the connector's credential, so reading alone is not enough.
    const { tenant } = await permitted(world, request, 'policy:write')
    const connector = existing(world, tenant, request.params.name)
    return { items: operationRows(connector, await offersOf(world, connector)) }
  })
}

function existing(world: ConnectorRoutesWorld, tenant: string, name: string): Connector {
  const connector = world.directory.connector(tenant, name)
  if (connector) return connector
  throw new AmbitError('not-found', `There is no connector ${name}.`)
}

function connectorsOf({ tables }: ConnectorRoutesWorld, tenant: string): Connector[] {
  const prefix = `${encodeURIComponent(tenant)}/connector/`
  return [...tables.keys(TABLE_OF.connector)]
    .filter(key => key.startsWith(prefix))
    .sort()
    .flatMap(key => {
      const document = tables.get(TABLE_OF.connector, key)
      return document && !document.deleted ? [document.doc as Connector] : []
    })
}

/** A connector with its secret hidden. */
function connectorView(doc: unknown) {
  const { tenant: _tenant, ...connector } = doc as Connector
  if (connector.transport !== 'http' || !connector.auth) return connector
  const isReference = /^(?:env|file):/.test(connector.auth.secret)
  const secret = isReference ? connector.auth.secret : HIDDEN
  return { ...connector, auth: { ...connector.auth, secret } }
}

/** Checked before anything is stored: where it leads, and which command it starts. */
async function checkedConnector(
  body: unknown,
  { by, current }: { by: Principal; current: Connector | undefined },
  world: ConnectorRoutesWorld,
): Promise<ConnectorInput & Pick<Connector, 'owner' | 'pins' | 'changed'>> {
  const written = parseWith(connectorSchema, withoutSystemMembers(body))
  refuseTwice(written)
  const owner = written.owner ?? principalName(by)
  const own = { owner, pins: {}, changed: {} }
  if (written.transport === 'stdio') {
    if (mcpCommandOf(world.mcpCommands, written.command)) return { ...written, ...own }
    throw new AmbitError(
      'invalid',
      '/command: expected a command of AMBIT_MCP_COMMANDS, by its name or in full; got another.',
      { pointer: '/command', expected: 'a configured command', actual: 'another command' },
    )
  }
  await checkUrl(world, written.url)
  const { auth } = written
  if (!auth) return { ...written, ...own }
  const kept = current?.transport === 'http' ? current.auth?.secret : undefined
  const secret = auth.secret === HIDDEN && kept ? kept : world.secrets.seal(auth.secret)
  return { ...written, auth: { ...auth, secret }, ...own }
}

function refuseTwice({ allow }: ConnectorInput): void {
  const names = allow.map(({ operation }) => operation)
  const at = names.findIndex((name, index) => names.indexOf(name) !== index)
  if (at < 0) return
  const pointer = `/allow/${at}/operation`
  throw new AmbitError('invalid', `${pointer}: expected every operation once.`, { pointer })
}

async function checkUrl({ httpSender }: ConnectorRoutesWorld, url: string): Promise<void> {
  try {
    await httpSender.check(url)
  } catch (error) {
    if (!(error instanceof SendFailure)) throw error
    throw new AmbitError(
      'invalid',
      `/url: ${error.word}; name an https address that everybody may reach.`,
      { pointer: '/url', expected: 'a public https address', actual: error.word },
    )
  }
}

/** `GET` answers what `PUT` accepts: members the system adds are ignored when they come back. */
function withoutSystemMembers(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const added = new Set(['id', 'tenant', 'version', 'pins', 'changed', 'state'])
  return Object.fromEntries(Object.entries(body).filter(([name]) => !added.has(name)))
}

async function offersOf(world: ConnectorRoutesWorld, connector: Connector): Promise<McpOffer[]> {
  try {
    return await world.mcp.use(connector, connection => connection.list(LIST_WITHIN_MS))
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error
    throw new AmbitError(
      'not-ready',
      `The server of ${connector.id} could not be asked: ${error.word}. Check it and try again.`,
      { extra: { word: error.word } },
    )
  }
}

/** What the server offers beside what is allowed; what is allowed and gone comes last. */
function operationRows(connector: Connector, offers: McpOffer[]) {
  const offered = offers.map(offer => {
    const pinned = pinOf(connector, offer.operation) ?? null
    const allowed = allowedOperation(connector, offer.operation) ?? null
    const isChanged =
      allowed !== null &&
      (Object.hasOwn(connector.changed, offer.operation) ||
        (pinned !== null && pinned !== offer.hash))
    return { ...offer, offered: true, allowed, allowedHash: pinned, changed: isChanged }
  })
  const names = new Set(offers.map(({ operation }) => operation))
  const gone = connector.allow
    .filter(({ operation }) => !names.has(operation))
    .map(allowed => ({
      ...{ operation: allowed.operation, offered: false, allowed },
      ...{ allowedHash: pinOf(connector, allowed.operation) ?? null, changed: true },
    }))
  return [...offered, ...gone]
}

/** How the observations of a connector go, from what their owners wrote down. */
function stateOf(cursors: LiveTables, { tenant, id }: Connector) {
  const prefix = `${encodeURIComponent(tenant)}/${OBSERVATION_KIND}/`
  const observations = [...cursors.keys('cursors')]
    .filter(key => key.startsWith(prefix))
    .flatMap(key => {
      const document = cursors.get('cursors', key)
      const state = document?.doc as ObservationState | undefined
      return state && !document?.deleted && state.connector === id ? [state] : []
    })
    .map(state => {
      const { id: observation, operation, scope, polledAt, failures, error, emitted } = state
      const status = statusOf(state)
      const { failedSince, gapAt } = state
      return {
        ...{ observation, operation, scope, status, polledAt, emitted },
        ...{ failures, failedSince, error, gapAt },
      }
    })
  const worst = observations.find(({ status }) => status !== 'ok')
  return { status: worst?.status ?? (observations.length > 0 ? 'ok' : 'idle'), observations }
}
