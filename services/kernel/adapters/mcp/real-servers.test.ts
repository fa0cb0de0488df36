/** The adapter on servers that others have written, and on the demo's own. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type McpConnection, McpFailure, type McpTarget } from '#kernel/ports/mcp-client.ts'
import { freePort } from '../../../../deploy/local/free-port.ts'
import { createCheckedFetch } from '../outgoing/checked-fetch.ts'
import { createMcpClient } from './mcp-client.ts'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const server = (name: string) =>
  join(ROOT, `node_modules/@modelcontextprotocol/${name}/dist/index.js`)
const stdio = (...command: string[]): McpTarget => ({
  transport: 'stdio',
  command: [process.execPath, ...command],
})

const allowOrigins: string[] = []
const client = createMcpClient({
  fetchWithin: bodyMax => createCheckedFetch({ allowOrigins, bodyMax }),
  now: () => Date.now(),
})
const bounds = { timeoutMs: 20_000, maxBytes: 1_000_000 }

async function on<T>(target: McpTarget, work: (open: McpConnection) => Promise<T>): Promise<T> {
  const connection = await client.connect(target, bounds)
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}
const read = (operation: string, given: Record<string, unknown> = {}, maxBytes = 100_000) => ({
  ...{ operation, arguments: given, timeoutMs: 10_000, maxBytes },
})
const failsWith = (word: string) => (error: unknown) =>
  error instanceof McpFailure && error.word === word

describe('local servers', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ambit-mcp-'))
    mkdirSync(join(folder, 'tickets'))
    writeFileSync(join(folder, 'tickets', 'one.txt'), 'I want my money back\nIt broke.')
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('server-everything: structured answers, text, refusals, bounds', async () => {
    await on(stdio(server('server-everything'), 'stdio'), async open => {
      const offers = await open.list(10_000)
      const echo = offers.find(({ operation }) => operation === 'echo')
      assert.equal(echo?.kind, 'tool')
      assert.equal(typeof echo?.readOnlyHint, 'boolean')
      const again = await open.list(10_000)
      assert.deepEqual(
        again.map(({ hash }) => hash),
        offers.map(({ hash }) => hash),
      )
      const weather = await open.call(read('get-structured-content', { location: 'Chicago' }))
      assert.ok(weather && typeof weather === 'object' && 'temperature' in weather)
      assert.match(String(await open.call(read('echo', { message: 'hi' }))), /hi/)
      const long = { message: 'x'.repeat(2000) }
      await assert.rejects(open.call(read('echo', long, 1000)), failsWith('too-large'))
      await assert.rejects(open.call(read('no-such-tool')), (e: unknown) => e instanceof McpFailure)
      await assert.rejects(open.call(read('echo', {})), (e: unknown) => e instanceof McpFailure)
    })
  })
  it('server-filesystem: a directory as lines, a file as text', async () => {
    await on(stdio(server('server-filesystem'), folder), async open => {
      const path = join(folder, 'tickets')
      const listing = await open.call(read('list_directory', { path }))
      assert.match(JSON.stringify(listing), /\[FILE\] one\.txt/)
      const text = await open.call(read('read_text_file', { path: join(path, 'one.txt') }))
      assert.match(JSON.stringify(text), /money back/)
      const outside = open.call(read('list_directory', { path: '/etc' }))
      await assert.rejects(outside, failsWith('operation-failed'))
    })
  })
  it('server-memory: a graph', async () => {
    await on(stdio(server('server-memory')), async open => {
      const graph = await open.call(read('read_graph'))
      assert.ok(graph && typeof graph === 'object' && 'entities' in graph)
    })
  })
  it('the ticket server: every file is an item', async () => {
    const program = join(ROOT, 'services/embedded/demo/ticket-server.ts')
    await on(stdio(program, join(folder, 'tickets')), async open => {
      const [offer] = await open.list(10_000)
      assert.deepEqual([offer?.operation, offer?.readOnlyHint], ['list_tickets', true])
      const { items } = (await open.call(read('list_tickets'))) as { items: { id: string }[] }
      assert.deepEqual(
        items.map(({ id }) => id),
        ['one.txt'],
      )
    })
  })
  it('a command that does not exist is unreachable', async () => {
    const target: McpTarget = { transport: 'stdio', command: ['/no/such/command'] }
    await assert.rejects(client.connect(target, bounds), failsWith('unreachable'))
  })
  it('a command that says nothing ends in time', async () => {
    const target = stdio('-e', 'setInterval(() => {}, 1000)')
    const startedAt = performance.now()
    const silent = client.connect(target, { ...bounds, timeoutMs: 1000 })
    await assert.rejects(silent, failsWith('timeout'))
    assert.ok(performance.now() - startedAt < 15_000)
  })
})

describe('server-everything over Streamable HTTP', () => {
  let child: ChildProcess
  let target: McpTarget
  before(async () => {
    const port = await freePort(0)
    const url = `http://127.0.0.1:${port}/mcp`
    target = { transport: 'http', url, headers: {} }
    child = spawn(process.execPath, [server('server-everything'), 'streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
    })
    for (let n = 0; n < 200; n++) {
      const answer = await fetch(url).catch(() => undefined)
      if (answer) break
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  })
  after(() => child.kill('SIGKILL'))

  it('is refused while nobody allows its address', async () => {
    await assert.rejects(client.connect(target, bounds), failsWith('address-refused'))
  })
  it('is read like a local one', async () => {
    allowOrigins.push(new URL(target.transport === 'http' ? target.url : '').origin)
    await on(target, async open => {
      const offers = await open.list(10_000)
      assert.ok(offers.some(({ operation }) => operation === 'echo'))
      assert.match(String(await open.call(read('echo', { message: 'hi' }))), /hi/)
      const resource = offers.find(({ kind }) => kind === 'resource') ?? assert.fail()
      assert.ok(resource.hash)
    })
  })
})

describe('a server that misbehaves', () => {
  async function answering(status: number, headers: Record<string, string>, body: string) {
    const http = createServer((_request, response) => {
      response.writeHead(status, headers)
      response.end(body)
    })
    await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    allowOrigins.push(origin)
    const target: McpTarget = { transport: 'http', url: `${origin}/mcp`, headers: {} }
    const failure = await client.connect(target, { timeoutMs: 3000, maxBytes: 100_000 }).then(
      () => assert.fail('nobody connects to that'),
      (error: unknown) => error as McpFailure,
    )
    http.closeAllConnections()
    http.close()
    return failure
  }
  it('asks for patience, and is heard', async () => {
    const failure = await answering(429, { 'retry-after': '7' }, '')
    assert.deepEqual([failure.word, failure.retryAfterMs], ['throttled', 7000])
  })
  it('wants another credential', async () => {
    assert.equal((await answering(401, {}, '')).word, 'unauthorised')
  })
  it('redirects, and is not followed', async () => {
    const failure = await answering(307, { location: 'http://127.0.0.1:1/' }, '')
    assert.ok(failure instanceof McpFailure)
  })
  it('sends more than anybody asked for', async () => {
    const json = { 'content-type': 'application/json' }
    const failure = await answering(200, json, `"${'x'.repeat(1_000_000)}"`)
    assert.ok(failure instanceof McpFailure)
  })
})
