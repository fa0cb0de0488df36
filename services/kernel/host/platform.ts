/**
 * What every process stands on: log, store, codec, tables and identity, made from configuration.
 * The only place that chooses between Kafka with Redis and SQLite.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { createHandleSigner } from '#kernel/adapters/crypto/handle-signer.ts'
import { createSecretResolver } from '#kernel/adapters/crypto/secret-resolver.ts'
import { createMcpClient } from '#kernel/adapters/mcp/mcp-client.ts'
import { createCheckedFetch } from '#kernel/adapters/outgoing/checked-fetch.ts'
import { createNodeHttpSender } from '#kernel/adapters/outgoing/node-http-sender.ts'
import { openProjectionDatabase } from '#kernel/adapters/sqlite/projection-database.ts'
import { systemClock, systemIds } from '#kernel/adapters/system/system-clock.ts'
import type { HandleSigner } from '#kernel/domain/lease-handle.ts'
import { AmbitError } from '#kernel/errors.ts'
import { type Authenticate, createAuthenticate } from '#kernel/host/authenticate.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { HttpSender } from '#kernel/ports/http-sender.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'
import { TABLE_TOPICS } from '#topologies/topics.ts'
import type { Backbone } from './backbone.ts'
import { type Configuration, SECRET_KEY_MIN } from './configuration.ts'
import { type Admit, createConnectorRate } from './connector-rate.ts'
import { createDirectory, type Directory } from './directory.ts'
import { openDistributed } from './distributed.ts'
import { openEmbedded } from './embedded.ts'
import { awaitPolicy, type LiveTables, openLiveTables } from './live-tables.ts'
import { createMcpConnections, type McpConnections } from './mcp-connections.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'

export interface Platform extends Backbone {
  configuration: Configuration
  clock: Clock
  ids: Ids
  logger: Logger
  telemetry: Telemetry
  tables: LiveTables
  directory: Directory
  signer: HandleSigner
  secrets: SecretResolver
  authenticate: Authenticate
  /** The only way to call an address that somebody outside has named. */
  httpSender: HttpSender
  /** Sessions with the MCP servers of connectors. */
  mcp: McpConnections
  /** The bound on calls of a connector: one count for whoever in this process calls it. */
  admit: Admit
  /** Key of the administrator, where the installation has one. */
  adminKey?: string
  /** Read barrier and policy freshness, once per batch. */
  gate(): Promise<void>
  /** What the process waits for; empty when it is ready. */
  notReady(): string[]
  /** A local database of this process that can be deleted and rebuilt. */
  openProjection(name: string): ProjectionDatabase
}

/** Opens everything; resolves when the tables have caught up. */
export async function openPlatform(configuration: Configuration): Promise<Platform> {
  const logger = pino({ level: configuration.AMBIT_LOG_LEVEL })
  const clock = systemClock
  const telemetry = createTelemetry()
  const backbone = configuration.AMBIT_KAFKA_BROKERS
    ? await openDistributed(configuration, logger)
    : openEmbedded(configuration, clock)
  await backbone.codec.ready()
  const tables = await openLiveTables({ ...backbone, clock, topics: [...TABLE_TOPICS] })
  const directory = createDirectory(tables)
  const keys = secretKeys(configuration)
  const adminKey = configuration.AMBIT_API_KEY ?? embeddedKey(configuration)
  const secrets = createSecretResolver(keys, process.env)
  const mcp = openMcp(configuration, secrets, clock)
  let isStopped = false
  let isWaiting = false
  return {
    ...backbone,
    ...{ configuration, clock, ids: systemIds, logger, telemetry, tables, directory, adminKey },
    signer: createHandleSigner(keys),
    ...{ secrets, mcp, admit: createConnectorRate(clock) },
    authenticate: createAuthenticate({ directory, adminKey, oidc: oidcOf(configuration) }),
    httpSender: createNodeHttpSender({ allowOrigins: configuration.AMBIT_OUTGOING_ALLOW }),
    gate: () =>
      awaitPolicy(tables, clock, {
        continuityMs: configuration.AMBIT_CONTINUITY_MS,
        isStopped: () => isStopped,
        onWaiting: waiting => {
          if (waiting !== isWaiting) logger.warn({ waiting }, 'waiting for policy')
          isWaiting = waiting
        },
      }),
    openProjection: name => openProjectionDatabase(projectionPath(configuration, name)),
    notReady: () => (isWaiting ? ['waiting for policy'] : []),
    async stop() {
      isStopped = true
      await mcp.stop()
      await tables.stop()
      await backbone.stop()
    },
  }
}

function openMcp(settings: Configuration, secrets: SecretResolver, clock: Clock): McpConnections {
  const allowOrigins = settings.AMBIT_OUTGOING_ALLOW
  const client = createMcpClient({
    fetchWithin: bodyMax => createCheckedFetch({ allowOrigins, bodyMax }),
    now: () => clock.now(),
  })
  return createMcpConnections({ client, secrets, clock, commands: settings.AMBIT_MCP_COMMANDS })
}

/** Replicas on one machine may share a data folder: each has files of its own port. */
function projectionPath(settings: Configuration, name: string): string {
  mkdirSync(settings.AMBIT_DATA_DIR, { recursive: true })
  const own = settings.AMBIT_KAFKA_BROKERS ? `-${settings.AMBIT_PORT}` : ''
  return join(settings.AMBIT_DATA_DIR, `${name}${own}.sqlite`)
}

function oidcOf(settings: Configuration) {
  const { AMBIT_OIDC_ISSUER: issuer, AMBIT_OIDC_AUDIENCE: audience } = settings
  const { AMBIT_OIDC_JWKS_URL: jwksUrl, AMBIT_OIDC_TENANT_CLAIM: tenantClaim } = settings
  return issuer && audience && jwksUrl ? { issuer, audience, jwksUrl, tenantClaim } : undefined
}

function secretKeys(settings: Configuration): string[] {
  if (settings.AMBIT_SECRET_KEYS) return settings.AMBIT_SECRET_KEYS.split(',')
  const kept = keptSecret(settings, 'secret-key')
  if (kept.length >= SECRET_KEY_MIN) return [kept]
  const path = join(settings.AMBIT_DATA_DIR, 'secret-key')
  throw new AmbitError('invalid', `${path} was cut off: restore it, or remove it for a new key.`)
}

/** The embedded host makes the administrator's key at its first start. */
function embeddedKey(settings: Configuration): string | undefined {
  return settings.AMBIT_KAFKA_BROKERS ? undefined : keptSecret(settings, 'api-key')
}

/** A secret of this data folder: made once, readable by its owner only. */
function keptSecret(settings: Configuration, name: string): string {
  const path = join(settings.AMBIT_DATA_DIR, name)
  mkdirSync(settings.AMBIT_DATA_DIR, { recursive: true })
  try {
    writeFileSync(path, systemIds.random(), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
  return readFileSync(path, 'utf8').trim()
}
