import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { type CliCall, callCli } from '#test/support/cli-call.ts'
import { problem, type ScriptedRequest, scriptedServer } from '#test/support/scripted-server.ts'
import { EXIT } from '../exit-codes.ts'
import { parseManifest } from '../manifest.ts'

const FILE = `
kind: Policy
spec: { zone: Europe/Madrid }
---
kind: Agent
name: triage
spec: { maxConcurrentLeases: 4, capabilities: { selfSubscribe: false } }
---
kind: Source
name: github
spec: { kind: webhook, verification: { scheme: github, secret: env:GH } }
---
kind: Connector
name: tickets
spec: { transport: stdio, command: tickets, allow: [{ operation: list_tickets }] }
---
kind: Subscription
name: refunds
spec: { agent: triage, instruction: Read it., on: {} }
`

interface Tried extends CliCall {
  requests: ScriptedRequest[]
  /** Requests that change something, in order. */
  changes: string[]
}

/** Calls against an API that knows agent and connector with their defaults, and no source. */
async function tried(argv: string[], file = FILE): Promise<Tried> {
  const agent = { id: 'triage', maxConcurrentLeases: 4, capabilities: { selfSubscribe: false } }
  const allow = [{ operation: 'list_tickets', maxItems: 100, effect: 'write' }]
  const connector = { id: 'tickets', transport: 'stdio', command: 'tickets', allow }
  const server = await scriptedServer(({ method, path }) => {
    if (method === 'PUT') return { body: {} }
    if (path === '/v1/policy') return { body: { zone: 'UTC', version: 0 } }
    if (path === '/v1/agents/triage') return { body: { ...agent, maxAttempts: 5 } }
    if (path === '/v1/connectors/tickets') return { body: connector }
    if (path !== '/v1/apply') return problem(404, 'not-found')
    return { body: { items: [{ action: 'create', id: 's1', name: 'refunds' }] } }
  })
  try {
    const called = await callCli([...argv, '--url', server.url], { files: { 'a.yaml': file } })
    const { requests } = server
    const changing = requests.filter(({ method }) => method !== 'GET')
    return { ...called, requests, changes: changing.map(({ method, path }) => `${method} ${path}`) }
  } finally {
    await server.close()
  }
}

describe('ambit apply', () => {
  it('changes what differs, first what subscriptions depend on', async () => {
    const { exit, stdout, changes } = await tried(['apply', '-f', 'a.yaml'])
    assert.equal(exit, EXIT.ok)
    assert.deepEqual(changes, ['PUT /v1/policy', 'PUT /v1/sources/github', 'POST /v1/apply'])
    assert.match(stdout, /update +policy/)
    assert.match(stdout, /unchanged +agent +triage/)
    assert.match(stdout, /create +source +github/)
    assert.match(stdout, /unchanged +connector +tickets/)
    assert.match(stdout, /create +subscription +refunds \(s1\)/)
  })

  it('asks the API for the plan in a dry run, and changes nothing', async () => {
    const { changes, requests, stderr } = await tried(['apply', '-f', 'a.yaml', '--dry-run'])
    assert.deepEqual(changes, ['POST /v1/apply'])
    assert.deepEqual(requests.at(-1)?.query, { dryRun: 'true', prune: 'false' })
    assert.match(stderr, /Nothing was changed/)
  })

  it('prunes only within one label that is named', async () => {
    const refused = await tried(['apply', '-f', 'a.yaml', '--prune'])
    assert.equal(refused.exit, EXIT.usage)
    assert.deepEqual(refused.requests, [])
    const argv = ['apply', '-f', 'a.yaml', '--prune', '--managed-by', 'shop']
    const { requests } = await tried(argv)
    const query = { dryRun: 'false', prune: 'true', managedBy: 'shop' }
    assert.deepEqual(requests.at(-1)?.query, query)
  })

  it('reads nothing and changes nothing when a document is wrong', async () => {
    const { exit, requests } = await tried(['apply', '-f', 'a.yaml'], `${FILE}---\nkind: Foo\n`)
    assert.equal(exit, EXIT.usage)
    assert.deepEqual(requests, [])
  })
})

describe('ambit export', () => {
  it('writes what apply reads, without what the API adds', async () => {
    const stored = {
      ...{
        id: 's1',
        version: 3,
        tenant: 'local',
        name: 'refunds',
        agent: 'triage',
        owner: 'user:a',
      },
      ...{ instruction: 'Read it.', on: {}, filters: [], condition: null, limits: {}, next: [] },
    }
    const lists: Record<string, object[]> = {
      '/v1/agents': [{ id: 'triage', version: 1, maxAttempts: 5 }],
      '/v1/sources': [],
      '/v1/connectors': [{ id: 'tickets', version: 2, transport: 'stdio', pins: {}, changed: {} }],
      '/v1/subscriptions': [stored],
    }
    const server = await scriptedServer(({ path }) =>
      path === '/v1/policy'
        ? { body: { tenant: 'local', version: 2, zone: 'UTC' } }
        : { body: { items: lists[path] ?? [], next: null } },
    )
    try {
      const { stdout } = await callCli(['export', '--url', server.url])
      assert.equal(parseAllDocuments(stdout).length, 4)
      assert.deepEqual(parseManifest(stdout, 'export'), {
        policy: { zone: 'UTC' },
        agents: [{ name: 'triage', spec: { maxAttempts: 5 } }],
        sources: [],
        connectors: [{ name: 'tickets', spec: { transport: 'stdio' } }],
        subscriptions: [
          {
            ...{ name: 'refunds', agent: 'triage', owner: 'user:a', instruction: 'Read it.' },
            ...{ on: {}, filters: [], limits: {} },
          },
        ],
      })
    } finally {
      await server.close()
    }
  })
})
