/** The MCP client on the protocol's TypeScript SDK: Streamable HTTP and local commands. */
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import {
  type McpClient,
  type McpConnection,
  McpFailure,
  type McpTarget,
} from '#kernel/ports/mcp-client.ts'
import { createMcpConnection } from './mcp-connection.ts'
import { isOversize, mcpFailureOf, retryAfterOf } from './mcp-failure-of.ts'
import type { McpSession } from './mcp-session.ts'

export interface McpClientOptions {
  /** A fetch that judges addresses and breaks off bodies above `bodyMax` bytes. */
  fetchWithin(bodyMax: number): (url: string | URL, init?: RequestInit) => Promise<Response>
  /** Now in ms, for `Retry-After` as a date. */
  now(): number
}

/** Ms that the end of a session may take before it is left alone. */
const END_WITHIN_MS = 3000

export function createMcpClient(options: McpClientOptions): McpClient {
  return {
    async connect(target, bounds): Promise<McpConnection> {
      const client = new Client(
        { name: 'ambit', version: '1' },
        { versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs(bounds.timeoutMs) } } },
      )
      const session: McpSession = {
        client,
        broken: new AbortController(),
        retryAfterMs: undefined,
        end: async () => {},
      }
      const transport = transportTo(target, bounds.maxBytes, { options, session })
      session.end = () => endWithin(transport, client)
      client.onerror = error => {
        if (isOversize(error)) session.broken.abort(new McpFailure('too-large'))
      }
      client.onclose = () => session.broken.abort(new McpFailure('unreachable'))
      try {
        const { signal } = session.broken
        await client.connect(transport, { timeout: bounds.timeoutMs, signal })
        return createMcpConnection(session)
      } catch (error) {
        await session.end()
        throw mcpFailureOf(error, session.retryAfterMs)
      }
    },
  }
}

/** A legacy local server may be silent on the probe: leave time for the handshake. */
const probeMs = (timeoutMs: number) => Math.max(500, Math.floor(timeoutMs / 3))

type HttpTransport = StreamableHTTPClientTransport
type AnyTransport = HttpTransport | StdioClientTransport

function transportTo(
  target: McpTarget,
  maxBytes: number,
  { options, session }: { options: McpClientOptions; session: McpSession },
): AnyTransport {
  if (target.transport === 'stdio') {
    const [command = '', ...args] = target.command
    // What it writes there is for its own operator; nobody here reads it.
    return new StdioClientTransport({ command, args, stderr: 'ignore', maxBufferSize: maxBytes })
  }
  const { url, headers, oauth } = target
  if (!URL.canParse(url)) throw new McpFailure('address-refused')
  const authProvider = oauth && {
    authProvider: new ClientCredentialsProvider({
      clientId: oauth.clientId,
      clientSecret: oauth.secret,
      ...(oauth.scope ? { scope: oauth.scope } : {}),
    }),
  }
  const fetch = options.fetchWithin(maxBytes)
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers, redirect: 'manual' },
    ...authProvider,
    fetch: async (to, init) => {
      // We ask and never listen: the stream of the server's own messages is not opened.
      if (isListening(init)) return new Response(null, { status: 405 })
      const response = await fetch(to, init)
      if (response.status === 429 || response.status === 503) {
        session.retryAfterMs = retryAfterOf(response.headers, options.now())
      }
      return response
    },
  })
}

function isListening(init: RequestInit | undefined): boolean {
  const accept = new Headers(init?.headers).get('accept') ?? ''
  return (init?.method ?? 'GET') === 'GET' && accept.includes('text/event-stream')
}

async function endWithin(transport: AnyTransport, client: Client): Promise<void> {
  const work = async () => {
    if ('terminateSession' in transport) await transport.terminateSession().catch(() => {})
    await client.close()
    await transport.close()
  }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, END_WITHIN_MS)
  })
  await Promise.race([work().catch(() => {}), late])
  clearTimeout(timer)
}
