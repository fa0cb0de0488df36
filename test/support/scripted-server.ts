/** An HTTP server that answers as a test says, on a real socket of loopback. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ScriptedRequest {
  method: string
  path: string
  query: Record<string, string>
  headers: IncomingMessage['headers']
  /** Parsed JSON, text where the caller says it is text, or undefined without a body. */
  body: unknown
  /** Resolves when the caller has gone. */
  gone: Promise<void>
}

export type ScriptedAnswer =
  | { status?: number; body?: unknown; headers?: Record<string, string> }
  /** Closes the socket without an answer. */
  | 'cut'
  /** Never answers. */
  | 'hang'
  /** Takes the response over, for streams. */
  | ((response: ServerResponse) => void)

export interface ScriptedServer {
  url: string
  /** Everything asked so far, in order. */
  requests: ScriptedRequest[]
  /** Resolves with the nth request (1 is the first) of that method and path, once it came. */
  asked(route: string, nth?: number): Promise<ScriptedRequest>
  close(): Promise<void>
}

export type Script = (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>

/** Starts a server; `script` decides each answer, and a missing one is a 404 problem. */
export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const requests: ScriptedRequest[] = []
  const waiting = new Set<() => void>()
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming, response)
    requests.push(request)
    for (const look of waiting) look()
    send(response, await script(request))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const nthOf = (route: string, nth: number) =>
    requests.filter(({ method, path }) => `${method} ${path}` === route)[nth - 1]
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    asked: (route, nth = 1) =>
      new Promise(resolve => {
        const look = () => {
          const found = nthOf(route, nth)
          if (!found) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A problem document, as the API sends them. */
export function problem(status: number, code: string, more: object = {}): ScriptedAnswer {
  const headers = { 'content-type': 'application/problem+json' }
  return { status, headers, body: { status, code, title: code, detail: `It is ${code}.`, ...more } }
}

async function readRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<ScriptedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost')
  return {
    method: incoming.method ?? '',
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: incoming.headers,
    body: bodyOf(incoming, text),
    gone: new Promise(resolve => response.once('close', resolve)),
  }
}

function bodyOf({ headers }: IncomingMessage, text: string): unknown {
  if (text === '') return undefined
  return headers['content-type']?.startsWith('text/') ? text : JSON.parse(text)
}

function send(response: ServerResponse, answer: ScriptedAnswer): void {
  if (answer === 'hang') return
  if (answer === 'cut') {
    response.destroy()
    return
  }
  if (typeof answer === 'function') {
    answer(response)
    return
  }
  const { status = 200, body, headers = {} } = answer
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body))
}
