import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { callCli } from '#test/support/cli-call.ts'
import {
  problem,
  type ScriptedAnswer,
  type ScriptedServer,
  scriptedServer,
} from '#test/support/scripted-server.ts'
import { EXIT } from './exit-codes.ts'

let server: ScriptedServer
afterEach(() => server.close())

const state = { operation: 'active', approval: 'not-required' }
const rows = [
  { id: 's_1', name: 'refunds', state },
  { id: 's_2', name: 'alerts', state },
  { id: 's_3', name: 'alerts', state },
]

/** A server with these subscriptions; it knows them by id only, as the API does. */
async function call(argv: string[], routes: Record<string, ScriptedAnswer> = {}) {
  const known: Record<string, ScriptedAnswer> = {
    'GET /v1/subscriptions': { body: { items: rows, next: null } },
    'GET /v1/subscriptions/s_1': { body: rows[0] },
    'POST /v1/subscriptions/s_1/pause': { body: rows[0] },
    'GET /v1/decisions': { body: { items: [], next: null } },
    ...routes,
  }
  server = await scriptedServer(
    ({ method, path }) => known[`${method} ${path}`] ?? problem(404, 'not-found'),
  )
  return callCli([...argv, '--url', server.url])
}

const paths = () => server.requests.map(({ path }) => path)

describe('a subscription on the command line', () => {
  it('may be given by its name where one has it', async () => {
    for (const argv of [
      ['describe', 'subscription', 'refunds'],
      ['get', 'subscription', 'refunds'],
      ['pause', 'refunds', '--reason', 'r'],
    ]) {
      const { exit, stderr } = await call(argv)
      assert.equal(exit, EXIT.ok, stderr)
      assert.match(paths().at(-1) ?? '', /^\/v1\/subscriptions\/s_1/)
      await server.close()
    }
  })

  it('is asked for by its id at once', async () => {
    await call(['get', 'subscription', 's_1'])
    assert.deepEqual(paths(), ['/v1/subscriptions/s_1'])
  })

  it('is never guessed where several have the name', async () => {
    const { exit, stderr } = await call(['describe', 'subscription', 'alerts'])
    assert.equal(exit, EXIT.usage)
    assert.match(stderr, /s_2, s_3/)
    assert.deepEqual(paths(), ['/v1/subscriptions/alerts', '/v1/subscriptions'])
  })

  it('that nobody has is not found, and it is said where to look', async () => {
    const { exit, stderr } = await call(['describe', 'subscription', 'none'])
    assert.equal(exit, EXIT.notFound)
    assert.match(stderr, /do .*ambit get subscriptions/)
  })

  it('is asked for in explanations and filters by its id', async () => {
    const asked: (string | null)[] = []
    server = await scriptedServer(({ path, query }) => {
      if (path === '/v1/subscriptions') return { body: { items: rows, next: null } }
      asked.push(query.subscription ?? null)
      if (query.subscription !== 's_1') return problem(404, 'not-found')
      return { body: { fired: false, fate: null, steps: [], items: [], next: null } }
    })
    const { url } = server
    for (const argv of [
      ['explain', '/shop', 't-1', 'refunds'],
      ['get', 'decisions', '--subscription', 'refunds'],
    ]) {
      const { exit, stderr } = await callCli([...argv, '--url', url])
      assert.equal(exit, EXIT.ok, stderr)
    }
    assert.deepEqual(asked, ['refunds', 's_1', 's_1'])
  })
})
