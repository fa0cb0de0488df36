/** The calls of one session. */
import { type Client, ProtocolError } from '@modelcontextprotocol/client'
import { z } from 'zod'
import {
  EVENT_PREFIX,
  expandUri,
  isResource,
  type McpOffer,
  mcpOffer,
} from '#kernel/domain/mcp-offer.ts'
import {
  type McpCall,
  type McpConnection,
  type McpEventPage,
  McpFailure,
} from '#kernel/ports/mcp-client.ts'
import { answerOfResource, answerOfTool } from './mcp-answer.ts'
import { mcpFailureOf } from './mcp-failure-of.ts'
import type { McpSession } from './mcp-session.ts'

export function createMcpConnection(session: McpSession): McpConnection {
  const { client } = session
  return {
    list: timeoutMs =>
      guarded(session, timeoutMs, async signal => {
        const options = { timeout: timeoutMs, signal, cacheMode: 'refresh' as const }
        const capabilities = client.getServerCapabilities() ?? {}
        const offers: McpOffer[] = []
        if (capabilities.tools) offers.push(...toolOffers(await client.listTools({}, options)))
        if (capabilities.resources) {
          offers.push(...resourceOffers(await client.listResources({}, options)))
          offers.push(...(await templateOffers(client, options)))
        }
        return [...offers, ...(await eventOffers(client, options))]
      }),
    call: call =>
      guarded(session, call.timeoutMs, async signal => {
        const options = { timeout: call.timeoutMs, signal, maxTotalTimeout: call.timeoutMs }
        const result = await read(client, call, options)
        if (Buffer.byteLength(JSON.stringify(result)) > call.maxBytes) {
          throw new McpFailure('too-large')
        }
        return result
      }),
    pollEvents: call =>
      guarded(session, call.timeoutMs, signal => pollEvents(client, call, signal)),
    close: () => session.end(),
  }
}

/** Ends with the time, the session, or an answer; every failure is one of the words. */
async function guarded<T>(
  session: McpSession,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new McpFailure('timeout')), timeoutMs)
  const signal = AbortSignal.any([late.signal, session.broken.signal])
  const over = Promise.withResolvers<never>()
  const leave = () => over.reject(signal.reason)
  session.retryAfterMs = undefined
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([work(signal), over.promise])
  } catch (error) {
    const reason = signal.aborted ? signal.reason : error
    throw mcpFailureOf(reason, session.retryAfterMs)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

interface CallOptions {
  timeout: number
  signal: AbortSignal
}

async function read(client: Client, call: McpCall, options: CallOptions): Promise<unknown> {
  const { operation, arguments: given, idempotencyKey: key } = call
  if (!isResource(operation)) {
    const meta = key === undefined ? {} : { _meta: { 'ambit/idempotency-key': key } }
    const params = { name: operation, arguments: given, ...meta }
    return answerOfTool(await client.callTool(params, options))
  }
  const uri = expandUri(operation, given)
  if (uri === undefined) throw new McpFailure('refused')
  const cacheMode = 'bypass' as const
  return answerOfResource(await client.readResource({ uri }, { ...options, cacheMode }))
}

function toolOffers({ tools }: Awaited<ReturnType<Client['listTools']>>): McpOffer[] {
  return tools.map(({ name, description, inputSchema, outputSchema, annotations }) =>
    mcpOffer({
      ...{ operation: name, kind: 'tool', description: description ?? '', inputSchema },
      ...{ outputSchema, readOnlyHint: annotations?.readOnlyHint ?? null },
    }),
  )
}

/** Reading changes nothing by the protocol; the hint says so. */
const resourceOffer = (operation: string, description: string | undefined, mimeType?: string) =>
  mcpOffer({
    ...{ operation, kind: 'resource', description: description ?? '', inputSchema: null },
    ...{ outputSchema: mimeType ?? null, readOnlyHint: true },
  })

function resourceOffers({ resources }: Awaited<ReturnType<Client['listResources']>>): McpOffer[] {
  return resources.map(({ uri, description, mimeType }) =>
    resourceOffer(uri, description, mimeType),
  )
}

/** Some servers have resources and know no templates. */
async function templateOffers(client: Client, options: CallOptions): Promise<McpOffer[]> {
  try {
    const { resourceTemplates } = await client.listResourceTemplates({}, options)
    return resourceTemplates.map(({ uriTemplate, description, mimeType }) =>
      resourceOffer(uriTemplate, description, mimeType),
    )
  } catch (error) {
    if (error instanceof ProtocolError) return []
    throw error
  }
}

const eventList = z.looseObject({
  events: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().optional(),
      delivery: z.array(z.string()).default([]),
      inputSchema: z.unknown().optional(),
      payloadSchema: z.unknown().optional(),
    }),
  ),
})

/** Event types that the server offers for polling; none where it has no such thing. */
async function eventOffers(client: Client, options: CallOptions): Promise<McpOffer[]> {
  if (!(await hasEvents(client, options))) return []
  const params = {}
  const { events } = await client.request({ method: 'events/list', params }, eventList, options)
  return events
    .filter(({ delivery }) => delivery.includes('poll'))
    .map(({ name, description, inputSchema, payloadSchema }) =>
      mcpOffer({
        ...{ operation: `${EVENT_PREFIX}${name}`, kind: 'event', readOnlyHint: true },
        ...{ description: description ?? '', inputSchema, outputSchema: payloadSchema },
      }),
    )
}

const EXTENSION = 'io.modelcontextprotocol/events'
const looseCapabilities = z.looseObject({ capabilities: z.looseObject({}).optional() })
const known = new WeakMap<Client, boolean>()

/**
 * The capability stands below `extensions`, or at the top in an older draft. The library drops the
 * latter, so a server of the newer protocol is asked once more.
 */
async function hasEvents(client: Client, options: CallOptions): Promise<boolean> {
  const answered = known.get(client)
  if (answered !== undefined) return answered
  const { extensions } = client.getServerCapabilities() ?? {}
  const has = Object.hasOwn(extensions ?? {}, EXTENSION) || (await discoverEvents(client, options))
  known.set(client, has)
  return has
}

async function discoverEvents(client: Client, options: CallOptions): Promise<boolean> {
  if (client.getDiscoverResult() === undefined) return false
  const { capabilities } = await client.request(
    { method: 'server/discover', params: {} },
    looseCapabilities,
    options,
  )
  return capabilities?.events !== undefined
}

const eventPage = z.looseObject({
  events: z.array(
    z.looseObject({
      eventId: z.string().min(1).max(512),
      timestamp: z.string().optional(),
      data: z.unknown(),
    }),
  ),
  cursor: z.string().nullish(),
  truncated: z.boolean().optional(),
  hasMore: z.boolean().optional(),
  nextPollMs: z.number().optional(),
})

async function pollEvents(
  client: Client,
  call: McpCall & { cursor: string | null; maxEvents: number },
  signal: AbortSignal,
): Promise<McpEventPage> {
  const { operation, arguments: given, cursor, maxEvents, timeoutMs, maxBytes } = call
  const name = operation.slice(EVENT_PREFIX.length)
  const params = { name, arguments: given, cursor, maxEvents }
  const options = { timeout: timeoutMs, signal }
  const page = await client.request({ method: 'events/poll', params }, eventPage, options)
  if (Buffer.byteLength(JSON.stringify(page)) > maxBytes) throw new McpFailure('too-large')
  return {
    events: page.events.map(({ eventId, timestamp, data }) => ({ eventId, timestamp, data })),
    cursor: page.cursor ?? null,
    truncated: page.truncated ?? false,
    hasMore: page.hasMore ?? false,
    nextPollMs: page.nextPollMs ?? null,
  }
}
