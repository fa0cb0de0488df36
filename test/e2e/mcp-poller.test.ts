/**
 * From a file in a folder to a message in a mailbox, through an MCP server as a process of its own,
 * and through `kill -9` of the host: nothing is lost and nothing comes twice.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type HostProcess, startHost } from '#test/support/host-process.ts'

const PROGRAM = fileURLToPath(
  new URL('../../services/embedded/demo/ticket-server.ts', import.meta.url),
)

let host: HostProcess
let folder: string

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-tickets-'))
  writeFileSync(join(folder, 'old.txt'), 'was there before')
  const commands = { tickets: [process.execPath, PROGRAM, folder] }
  host = await startHost('embedded', { env: { AMBIT_MCP_COMMANDS: JSON.stringify(commands) } })
})
after(async () => {
  await host.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function call(method: string, path: string, body?: unknown) {
  const answer = await fetch(`${host.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${host.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** Asks again until the answer holds; the host's own clock decides when that is. */
async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    if (performance.now() > deadline) assert.fail(`never: ${JSON.stringify(answer)}`)
    await sleep(100)
  }
}

const decisions = async () => {
  const { body } = await call('GET', '/v1/decisions')
  return body.items as { fate: string; repeats: number; event: { type: string } }[]
}
const state = async () => {
  const { body } = await call('GET', '/v1/connectors/tickets')
  return body.state as { status: string; observations: { status: string; failures: number }[] }
}

describe('observing a folder of tickets', () => {
  it('starts no command that the configuration does not name', async () => {
    const connector = { transport: 'stdio', allow: [] }
    for (const command of ['sh', ['sh', '-c', 'id'], [process.execPath, PROGRAM, '/']]) {
      const { status } = await call('PUT', '/v1/connectors/evil', { ...connector, command })
      assert.equal(status, 422)
    }
  })
  it('refuses what no connector allows, when it is written', async () => {
    const subscription = { name: 't', agent: 'triage', instruction: 'Look.' }
    const observe = { connector: 'tickets', operation: 'list_tickets', everyMs: 1000 }
    const write = (more: object) =>
      call('POST', '/v1/subscriptions', { ...subscription, observe: { ...observe, ...more } })
    assert.equal((await write({})).status, 422)
    const allow = [
      {
        operation: 'list_tickets',
        argumentsSchema: { type: 'object', maxProperties: 0, additionalProperties: false },
      },
    ]
    const put = await call('PUT', '/v1/connectors/tickets', {
      transport: 'stdio',
      command: 'tickets',
      allow,
    })
    assert.equal(put.status, 200)
    assert.equal((await write({ operation: 'delete_tickets' })).status, 403)
    assert.equal((await write({ arguments: { folder: '/etc' } })).status, 422)
  })
  it('shows what the server offers beside what is allowed', async () => {
    const { body } = await call('GET', '/v1/connectors/tickets/operations')
    const [row] = body.items as {
      operation: string
      readOnlyHint: boolean
      allowed: object | null
    }[]
    assert.deepEqual([row?.operation, row?.readOnlyHint], ['list_tickets', true])
    assert.ok(row?.allowed)
  })
  it('wakes an agent for a file that is added, once, also after kill -9', async () => {
    const created = await call('POST', '/v1/subscriptions', {
      ...{ name: 'tickets', agent: 'triage', instruction: 'Read it.' },
      observe: {
        connector: 'tickets',
        operation: 'list_tickets',
        everyMs: 1000,
        itemsPointer: '/items',
      },
    })
    assert.equal(created.status, 201)
    await until(state, ({ status }) => status === 'ok')
    writeFileSync(join(folder, 'one.txt'), 'I want my money back')
    const [first] = await until(decisions, found => found.length > 0)
    assert.deepEqual([first?.fate, first?.event.type], ['delivered', 'mcp.tickets.list_tickets'])
    await host.kill9()
    writeFileSync(join(folder, 'two.txt'), 'while nobody looked')
    await host.restart()
    await until(decisions, found => found.length > 1)
    await sleep(2500)
    const all = await decisions()
    assert.deepEqual(
      all.map(({ fate }) => fate),
      ['delivered', 'delivered'],
    )
  })
  it('tells metrics of its polls', async () => {
    const text = await (await fetch(`${host.url}/metrics`)).text()
    assert.match(text, /ambit_mcp_polls_total\{outcome="answered"\} [1-9]/)
  })
})
