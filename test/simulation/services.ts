/**
 * The real services, wired as their `service.ts` files wire them, on simulated ports. Only HTTP is
 * left out: a door is the function that a route calls after it has read its request.
 */
import { createHandleSigner } from '#kernel/adapters/crypto/handle-signer.ts'
import { createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { payloadOf } from '#kernel/domain/event-payload.ts'
import { HANDLE_LINEAGE_MS } from '#kernel/domain/lease-handle.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createConnectorRate } from '#kernel/host/connector-rate.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { awaitPolicy, openLiveTables } from '#kernel/host/live-tables.ts'
import { createMcpConnections } from '#kernel/host/mcp-connections.ts'
import { createRecordWriter, type RecordWriter } from '#kernel/host/record-writer.ts'
import { createRegistryClient, type RegistryClient } from '#kernel/host/registry-client.ts'
import { runStep } from '#kernel/host/step-runner.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { McpClient } from '#kernel/ports/mcp-client.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { startHeartbeat } from '#services/control-plane/heartbeat.ts'
import { readIngressEnds } from '#services/control-plane/ingress-ends.ts'
import { createRegistryStep } from '#services/control-plane/registry/registry-step.ts'
import type { JudgeSettings } from '#services/evaluator/judge/judge-settings.ts'
import { startJudge } from '#services/evaluator/judge-service.ts'
import { startMatching } from '#services/evaluator/match-service.ts'
import { createGuardStep } from '#services/guard/guard-step.ts'
import { acceptEvents } from '#services/ingest/accept-events.ts'
import { mapWebhook } from '#services/ingest/webhooks/mapping.ts'
import { verifyWebhook } from '#services/ingest/webhooks/verify.ts'
import { createMailbox, type Mailbox } from '#services/mailbox-dispatcher/mailbox.ts'
import { createMailboxStep } from '#services/mailbox-dispatcher/mailbox-step.ts'
import { runPoller } from '#services/mcp-poller/poller-runner.ts'
import { TABLE_TOPICS } from '#topologies/topics.ts'
import type { SimProcess } from './sim-process.ts'

/** What a process does; `agent` is started by the world that has one. */
export type Role =
  | 'control'
  | 'evaluator'
  | 'judge'
  | 'guard'
  | 'dispatcher'
  | 'ingest'
  | 'poller'
  | 'agent'

/** Calendars that nobody fills. */
export const noCalendars = { book: createCalendarBook(), barrier: async () => {} }

/** How long services go on without the control plane, ms: short, so that a seed meets its end. */
export const CONTINUITY_MS = 15_000

/** What a process reaches beside log and store. */
export interface Outside {
  /** How it judges, the model included. */
  judge?: JudgeSettings
  mcp?: McpClient
  /** Changes what the process writes: for bugs that are planted between a decision and the log. */
  writer?(writer: RecordWriter): RecordWriter
}

export interface ServiceOptions {
  codec: RecordCodec
  roles: readonly Role[]
  /** Keeps a warning for the trace. */
  note(text: string): void
  outside: Outside | undefined
}

export interface WebhookDelivery {
  tenant: string
  headers: Record<string, string[]>
  body: Buffer
}

/** What the outside reaches of one process. */
export interface Doors {
  registry?: RegistryClient
  mailbox?: Mailbox
  /** `POST /v1/events`; a lease handle proves the lineage. */
  publish?(tenant: string, events: CloudEvent[], handle?: string): Promise<void>
  /** `POST /v1/webhooks/{name}`. Rejects `bad-signature`. */
  webhook?(delivery: WebhookDelivery): Promise<CloudEvent>
}

/** The secret of every simulated webhook source. */
const SECRET = Buffer.from('a secret of the simulation').toString('base64')
export const WEBHOOK_SECRET = `whsec_${SECRET}`

const signer = createHandleSigner(['simulated-key'.padEnd(32, '.')])

/** Starts what the roles name; resolves when all of it is subscribed and caught up. */
export async function startServices(
  process: SimProcess,
  { codec, roles, note, outside = {} }: ServiceOptions,
): Promise<Doors> {
  const { log, store, clock, ids } = process
  const logger = {
    ...silentLogger,
    warn: (fields: object, message: string) =>
      note(`${process.name}: ${message} ${reasonOf(fields)}`),
  }
  const tables = await openLiveTables({ log, codec, clock, topics: [...TABLE_TOPICS] })
  const directory = createDirectory(tables)
  const gate = () =>
    awaitPolicy(tables, clock, {
      continuityMs: CONTINUITY_MS,
      isStopped: () => process.isDead(),
      onWaiting: () => {},
    })
  const writerOf = (service: string) => {
    const writer = createRecordWriter(codec, service)
    return outside.writer?.(writer) ?? writer
  }
  const ports = { log, store, clock, ids, logger, codec, tables, directory, signer }
  const world = (service: string): StepWorld => ({
    ...ports,
    writer: writerOf(service),
    gate,
    knownTenants: () => directory.tenants(),
  })
  const doors: Doors = {}
  if (roles.includes('control')) {
    await startHeartbeat({ log, codec, clock, logger })
    const ingressEnds = (tenants: string[]) => readIngressEnds(log, tenants)
    const step = createRegistryStep({ codec, directory, calendars: noCalendars, ingressEnds })
    await runStep(step, world('control-plane'))
    const writer = createRecordWriter(codec, 'control-plane')
    doors.registry = await createRegistryClient({ log, codec, writer, clock, ids })
  }
  if (roles.includes('ingest')) Object.assign(doors, ingestDoors(process, codec))
  if (roles.includes('dispatcher')) {
    await runStep(createMailboxStep({ codec, directory }), world('mailbox-dispatcher'))
    doors.mailbox = await createMailbox({
      ...ports,
      writer: createRecordWriter(codec, 'mailbox-dispatcher'),
      barrier: () => tables.barrier(),
      heartbeatAgeMs: () => tables.heartbeatAgeMs(),
      continuityMs: CONTINUITY_MS,
    })
  }
  if (roles.includes('guard')) {
    await runStep(createGuardStep({ directory, codec }), world('guard'))
  }
  if (roles.includes('evaluator')) {
    await startMatching({ ...world('evaluator'), codec, tables })
  }
  if (roles.includes('judge') && outside.judge) {
    await startJudge({ ...world('evaluator'), codec, directory }, outside.judge)
  }
  if (roles.includes('poller') && outside.mcp) {
    const secrets = { resolve: async () => undefined, seal: (secret: string) => secret }
    const mcp = createMcpConnections({ client: outside.mcp, secrets, commands: {}, clock })
    const random = () => Number.parseInt(ids.random().slice(0, 8), 16) / 2 ** 32
    const admit = createConnectorRate(clock)
    await runPoller({ ...world('mcp-poller'), codec, tables, directory, mcp, admit, random })
  }
  return doors
}

function reasonOf(fields: object): string {
  const { err, tenant } = fields as { err?: unknown; tenant?: string }
  return `${tenant ?? ''} ${err === undefined ? '' : String(err)}`
}

function ingestDoors({ log, clock }: SimProcess, codec: RecordCodec): Doors {
  return {
    async publish(tenant, events, handle) {
      const claim = handle === undefined ? undefined : signer.verify(handle)
      if (handle !== undefined) {
        const isValid = claim?.tenant === tenant && clock.now() - claim.issuedAt < HANDLE_LINEAGE_MS
        if (!isValid) throw new AmbitError('bad-handle', 'The handle proves no lineage.')
      }
      const lineage = claim?.lineage
      await acceptEvents({ log, codec }, events, { tenant, topic: 'ingress.platform', lineage })
    },
    async webhook({ tenant, headers, body }) {
      const verification = { scheme: 'standard-webhooks', secret: WEBHOOK_SECRET } as const
      const verdict = verifyWebhook(verification, [WEBHOOK_SECRET], {
        headers,
        body,
        nowMs: clock.now(),
      })
      if (!verdict.ok) throw new AmbitError('bad-signature', verdict.reason)
      const contentType = 'application/json'
      const event = mapWebhook(
        { name: `${tenant}-shop`, map: undefined },
        {
          payload: payloadOf(body, contentType),
          contentType,
          headers: {},
          rawBody: body,
          deliveryId: verdict.deliveryId,
        },
        { evaluate: () => undefined, sha256: () => '' },
      )
      await acceptEvents({ log, codec }, [event], { tenant, topic: 'ingress.webhook' })
      return event
    },
  }
}
