import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type CliCall, type CliSurroundings, callCli } from '#test/support/cli-call.ts'
import {
  problem,
  type ScriptedAnswer,
  type ScriptedServer,
  scriptedServer,
} from '#test/support/scripted-server.ts'
import { EXIT } from '../exit-codes.ts'

let server: ScriptedServer
afterEach(() => server.close())

/** Calls against a server that has these routes and answers 404 elsewhere. */
async function call(
  argv: string[],
  routes: Record<string, ScriptedAnswer>,
  surroundings: CliSurroundings = {},
): Promise<CliCall> {
  server = await scriptedServer(
    ({ method, path }) => routes[`${method} ${path}`] ?? problem(404, 'not-found'),
  )
  return callCli([...argv, '--url', server.url], surroundings)
}

const asked = () => server.requests.map(({ method, path }) => `${method} ${path}`)

const bodies = () => server.requests.map(({ body }) => body as Record<string, unknown>)

const subscription = {
  ...{ id: 's1', name: 'refunds', agent: 'triage', instruction: 'Read it.', version: 2 },
  state: { approval: 'not-required', operation: 'paused', until: '2026-12-01T00:00:00Z' },
}

describe('ambit get and describe', () => {
  it('prints a table for people, with what is missing as a dash', async () => {
    const items = [subscription]
    const { stdout } = await call(['get', 'subscriptions', '--agent', 'triage'], {
      'GET /v1/subscriptions': { body: { items, next: null } },
    })
    assert.deepEqual(
      stdout
        .split('\n')
        .slice(0, 2)
        .map(line => line.split(/ {2,}/)),
      [
        ['ID', 'NAME', 'AGENT', 'STATE', 'APPROVAL', 'VERSION', 'LAST'],
        ['s1', 'refunds', 'triage', 'paused', 'not-required', '2', '-'],
      ],
    )
    assert.deepEqual(server.requests[0]?.query, { agent: 'triage', limit: '50' })
  })

  it('shows planes, steps and services of the system, each with its lag', async () => {
    const planes = {
      control: { alive: true, heartbeatAgeMs: 900 },
      execution: { state: 'running', continuityMs: 3_600_000 },
    }
    const steps = [{ step: 'judge', service: 'evaluator', lag: 3, caughtUp: false }]
    const services = [
      { service: 'scheduler', state: 'ok', lagMs: 0, overdue: 0, markedAt: null },
      { service: 'judge', state: 'degraded', waiting: 3, failedLately: 2 },
    ]
    const { stdout } = await call(['get', 'system'], {
      'GET /v1/system': { body: { planes, steps, services } },
    })
    assert.match(stdout, /^control plane +- +ok +900 ms/m)
    assert.match(stdout, /^judge +evaluator +behind +3 records/m)
    assert.match(stdout, /^scheduler +scheduler +ok +0 ms +overdue 0$/m)
    assert.match(stdout, /^judge +judge +degraded +- +waiting 3, failed lately 2$/m)
  })

  it('says that there is more, or reads on with --all', async () => {
    const routes = { 'GET /v1/agents': { body: { items: [{ id: 'a' }], next: 'c' } } }
    const { stderr } = await call(['get', 'agents', '--limit', '1'], routes)
    assert.match(stderr, /--cursor c/)
    await server.close()
    const pages = [
      { items: [{ id: 'a' }], next: 'c' },
      { items: [{ id: 'b' }], next: null },
    ]
    server = await scriptedServer(() => ({ body: pages.shift() }))
    const all = await callCli(['get', 'agents', '--all', '--json', '--url', server.url])
    assert.deepEqual(JSON.parse(all.stdout), { items: [{ id: 'a' }, { id: 'b' }], next: null })
  })

  it('refuses a filter that the kind does not have', async () => {
    const { exit, stderr } = await call(['get', 'agents', '--fate', 'storm'], {})
    assert.equal(exit, EXIT.usage)
    assert.match(stderr, /agents cannot be asked for by fate/)
  })

  it('describes one object as YAML', async () => {
    const { stdout } = await call(['describe', 'subscription', 's1'], {
      'GET /v1/subscriptions/s1': { body: subscription },
    })
    assert.match(stdout, /^id: s1\nname: refunds$/m)
  })
})

describe('ambit pause and resume', () => {
  it('sends the reason and the end of a pause', async () => {
    const argv = ['pause', 's1', '--reason', 'holiday', '--until', '2026-12-01']
    const { exit, stdout } = await call(argv, {
      'POST /v1/subscriptions/s1/pause': { body: subscription },
    })
    assert.equal(exit, EXIT.ok)
    assert.match(stdout, /refunds \(s1\) is paused until 2026-12-01T00:00:00Z/)
    const until = '2026-12-01T00:00:00.000Z'
    assert.deepEqual(server.requests[0]?.body, { reason: 'holiday', until })
  })
})

describe('ambit publish', () => {
  const routes = {
    'POST /v1/events': { status: 202, body: { accepted: [{ source: 's', id: 'i' }] } },
  }

  it('makes an event of its options', async () => {
    const argv = ['publish', '--source', '/s', '--type', 't', '--id', 'i', '--data', '{"n":1}']
    const { stdout } = await call(argv, routes)
    assert.equal(stdout, 'accepted s i\n')
    const { specversion, ...event } = bodies()[0] ?? {}
    assert.equal(specversion, '1.0')
    const datacontenttype = 'application/json'
    assert.deepEqual(event, { source: '/s', type: 't', id: 'i', datacontenttype, data: { n: 1 } })
  })

  it('reads JSON lines from stdin', async () => {
    const files = {
      '-': '{"source":"s","type":"t","id":"1"}\n{"source":"s","type":"t","id":"2"}\n',
    }
    await call(['publish', '-f', '-'], routes, { files })
    assert.equal(bodies()[0]?.length, 2)
  })

  for (const [what, argv, files, expected] of [
    ['data that is not JSON', ['--source', 's', '--type', 't', '--data', '{x'], {}, /not JSON/],
    ['a file that is not there', ['-f', 'none.json'], {}, /ENOENT/],
    ['a file without events', ['-f', 'a.json'], { 'a.json': '[]' }, /holds no events/],
    ['a broken line', ['-f', 'a'], { a: '{"a":1}\n{b}' }, /a, line 2 is not JSON/],
    ['an event without a type', ['--source', 's'], {}, /--type is needed/],
  ] as const) {
    it(`refuses ${what} before anything is sent`, async () => {
      const { exit, stderr } = await call(['publish', ...argv], routes, { files })
      assert.equal(exit, EXIT.usage)
      assert.match(stderr, expected)
      assert.deepEqual(asked(), [])
    })
  }
})

describe('ambit mailbox', () => {
  it('claims, and prints the whole handle', async () => {
    const handle = 'h'.repeat(300)
    const lease = { token: 17, handle, expiresAt: '2026-12-01T00:00:00Z' }
    const items = [{ message: { id: 'm1', instruction: 'Read it.' }, lease, attempt: 1 }]
    const argv = ['mailbox', 'claim', 'triage', '--lease-ms', '5000']
    const { stdout } = await call(argv, { 'POST /v1/mailboxes/triage/claim': { body: { items } } })
    assert.match(stdout, new RegExp(`handle of m1: ${handle}\n`))
    const body = { executor: 'cli', leaseMs: 5000, waitMs: 0, max: 1 }
    assert.deepEqual(server.requests[0]?.body, body)
  })

  it('fails a message for good when told so', async () => {
    const argv = ['mailbox', 'fail', 'm1', '--handle', 'h', '--error', 'gone', '--permanent']
    const { stdout } = await call(argv, {
      'POST /v1/messages/m1/fail': { body: { id: 'm1', state: 'dead', attempts: 1 } },
    })
    assert.match(stdout, /m1 is dead/)
    const body = { handle: 'h', error: 'gone', retryable: false }
    assert.deepEqual(server.requests[0]?.body, body)
  })
})

describe('ambit trace and explain', () => {
  it('shows the hops with the time between them', async () => {
    const hops = [
      { hop: 'accepted', at: '2026-12-01T00:00:00.000Z' },
      { hop: 'decided', at: '2026-12-01T00:00:00.007Z', fate: 'storm', subscription: 's1' },
    ]
    const { stdout } = await call(['trace', '/shop', 'e1'], {
      'GET /v1/traces': { body: { event: { source: '/shop', id: 'e1', type: 't' }, hops } },
    })
    assert.match(stdout, /7 ms +decided +fate=storm subscription=s1/)
    assert.deepEqual(server.requests[0]?.query, { source: '/shop', id: 'e1' })
  })

  it('says that a pair never matched, and at which step', async () => {
    const steps = [{ step: 'filters/0', outcome: 'failed', expected: 'a', actual: 'b' }]
    const { exit, stdout } = await call(['explain', '/shop', 'e1', 's1'], {
      'GET /v1/explain': { body: { fired: false, fate: null, steps } },
    })
    assert.equal(exit, EXIT.ok)
    assert.match(stdout, /^It did not fire. The pair never matched.$/m)
    assert.match(stdout, /^filters\/0 +failed +a +b/m)
  })
})

describe('ambit tail', () => {
  it('prints what is wanted until it is interrupted', async () => {
    const interrupt = new AbortController()
    const events = [
      'event: notice\ndata: {"at":"t0","kind":"storm"}\n\n',
      'event: decision\ndata: {"at":"t1","fate":"delivered","subscription":"s2"}\n\n',
      'event: decision\ndata: {"at":"t2","fate":"delivered","subscription":"s1"}\n\n',
    ]
    let stdout = ''
    const write = (text: string) => {
      stdout += text
      interrupt.abort()
    }
    const argv = ['tail', '--kind', 'decision', '--subscription', 's1', '--json']
    const { exit } = await call(
      argv,
      { 'GET /v1/stream': response => response.end(events.join('')) },
      { interrupted: interrupt.signal, stdout: { write } },
    )
    assert.equal(exit, EXIT.ok)
    assert.deepEqual(JSON.parse(stdout), {
      type: 'decision',
      data: { at: 't2', fate: 'delivered', subscription: 's1' },
    })
  })
})

describe('ambit answer', () => {
  const ask = {
    ...{ id: 'c_1', kind: 'ask', agent: 'triage', owner: 'user:ana', question: 'a refund' },
    ...{ confidence: 0.6, event: { id: 'e1' }, askedAt: '2026-11-30T10:00:00Z' },
  }

  it('finds what waits in the list of approvals', async () => {
    const { stdout } = await call(['get', 'approvals'], {
      'GET /v1/approvals': { body: { items: [ask], next: null } },
    })
    const row = stdout.split('\n')[1]?.split(/ {2,}/)
    assert.deepEqual(row, [
      ...['c_1', 'ask', 'triage', 'user:ana', '2026-11-30T10:00:00Z', '0.6', 'e1', 'a refund'],
    ])
  })

  it('sends the decision, and says when the judge has not taken it yet', async () => {
    const path = 'POST /v1/approvals/c_1'
    const answered = { id: 'c_1', subscription: 's1', decision: 'ignore', by: 'user:ana' }
    const argv = ['answer', 'c_1', 'ignore', '--reason', 'not ours']
    const done = await call(argv, { [path]: { body: answered } })
    assert.deepEqual([done.exit, done.stdout], [EXIT.ok, 'answered c_1: ignore\n'])
    assert.deepEqual(bodies(), [{ decision: 'ignore', reason: 'not ours' }])
    await server.close()
    const pending = { status: 202, body: { id: 'c_1', decision: 'ignore', isPending: true } }
    const { stdout } = await call(argv, { [path]: pending })
    assert.equal(stdout, 'answered c_1: ignore; not yet judged\n')
  })
})
