import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  problem,
  type Script,
  type ScriptedServer,
  scriptedServer,
} from '#test/support/scripted-server.ts'
import { steppedClock } from '#test/support/stepped-clock.ts'
import { parseRetryAfter } from './client-error.ts'
import { createClient } from './create-client.ts'

const EVENT = { source: '/shop', type: 'com.shop.order.created', data: { total: 12 } }
const accepted = { status: 202, body: { accepted: [{ source: '/shop', id: '1' }] } }

async function withServer(script: Script, test: (server: ScriptedServer) => Promise<void>) {
  const server = await scriptedServer(script)
  try {
    await test(server)
  } finally {
    await server.close()
  }
}

/** Retries at once: how long they wait is asked of the clock in its own test. */
const impatient = { now: () => performance.now(), sleep: async () => {} }

describe('a call', () => {
  it('carries the key, and only where it was told to', () =>
    withServer(
      () => accepted,
      async server => {
        const client = createClient({ url: `${server.url}/prefix/`, key: 'k-1' })
        await client.publish(EVENT)
        const [request] = server.requests
        assert.equal(request?.headers.authorization, 'Bearer k-1')
        assert.equal(request?.path, '/prefix/v1/events')
        assert.equal(request?.headers['content-type'], 'application/cloudevents+json')
      },
    ))

  it('repeats the same event under the same idempotency key after 503 and a broken socket', () => {
    const answers = [problem(503, 'log-unavailable'), 'cut' as const, accepted]
    return withServer(
      () => answers.shift() ?? 'cut',
      async server => {
        const client = createClient({ url: server.url, clock: impatient })
        assert.deepEqual(await client.publish(EVENT), accepted.body)
        assert.equal(server.requests.length, 3)
        const sent = server.requests.map(({ body }) => JSON.stringify(body))
        assert.equal(new Set(sent).size, 1, 'the id is given once, before the first attempt')
        const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
        assert.equal(new Set(keys).size, 1)
        assert.match(String(keys[0]), /^[0-9a-f-]{36}$/)
      },
    )
  })

  it('waits as long as Retry-After says', () => {
    const clock = steppedClock()
    const answers = [problem(429, 'rate-limited'), accepted].map(answer =>
      answer === accepted ? answer : { ...(answer as object), headers: { 'retry-after': '7' } },
    )
    return withServer(
      () => answers.shift() ?? 'cut',
      async server => {
        const publishing = createClient({ url: server.url, clock }).publish(EVENT)
        await clock.sleeping(7000)
        assert.equal(server.requests.length, 1)
        clock.advance(7000)
        assert.deepEqual(await publishing, accepted.body)
      },
    )
  })

  it('does not repeat what was refused, and says where it hurts', () =>
    withServer(
      () =>
        problem(422, 'invalid', {
          pointer: '/limits',
          expected: '>= 60000',
          actual: '10',
          bound: 1,
        }),
      async server => {
        const client = createClient({ url: server.url, clock: impatient })
        const input = { name: 'n', agent: 'a', instruction: 'i', on: {} }
        await assert.rejects(client.subscriptions.create(input), {
          name: 'ClientError',
          status: 422,
          code: 'invalid',
          pointer: '/limits',
          expected: '>= 60000',
          actual: '10',
        })
        assert.equal(server.requests.length, 1)
      },
    ))
})

describe('attempts', () => {
  it('end with the last refusal', () =>
    withServer(
      () => problem(503, 'not-ready'),
      async server => {
        const client = createClient({ url: server.url, clock: impatient, attemptsMax: 3 })
        await assert.rejects(client.system.get(), { status: 503, code: 'not-ready' })
        assert.equal(server.requests.length, 3)
      },
    ))
})

describe('an answer', () => {
  it('that is missing is told from one that is not of the API', async () => {
    const closed = await scriptedServer(() => 'hang')
    await closed.close()
    const away = createClient({ url: closed.url, clock: impatient, attemptsMax: 1 })
    await assert.rejects(away.system.get(), { status: 0, code: 'unreachable' })
    await withServer(
      () => ({ status: 200, body: '<html>' }),
      async ({ url }) => {
        const client = createClient({ url, clock: impatient })
        await assert.rejects(client.system.get(), { status: 200, code: 'unexpected-answer' })
      },
    )
  })

  it('that redirects is never followed with the key', () =>
    withServer(
      () => ({ status: 307, headers: { location: '/elsewhere' } }),
      async server => {
        const client = createClient({ url: server.url, key: 'k', clock: impatient })
        await assert.rejects(client.system.get(), { code: 'unexpected-answer' })
        assert.equal(server.requests.length, 1)
      },
    ))
})

describe('a name', () => {
  it('stays one path segment, however hostile', () =>
    withServer(
      () => ({ body: {} }),
      async server => {
        await createClient({ url: server.url }).agents.get('../keys?x')
        assert.equal(server.requests[0]?.path, '/v1/agents/..%2Fkeys%3Fx')
      },
    ))
})

describe('a change', () => {
  it('follows the status link of a slow answer to its outcome', () => {
    const pending = { status: 202, body: { changeId: 'x1', status: '/v1/changes/x1' } }
    const stillPending = { status: 202, body: { changeId: 'x1', status: 'pending' } }
    const done = { body: { changeId: 'x1', status: 201, body: { id: 's1', version: 1 } } }
    const answers = [pending, stillPending, done]
    return withServer(
      () => answers.shift() ?? 'cut',
      async server => {
        const client = createClient({ url: server.url, clock: impatient })
        const input = { name: 'n', agent: 'a', instruction: 'i', on: {} }
        const created = await client.subscriptions.create(input, { idempotencyKey: 'once' })
        assert.equal(created.id, 's1')
        assert.equal(server.requests[0]?.headers['idempotency-key'], 'once')
        assert.equal(server.requests[2]?.path, '/v1/changes/x1')
      },
    )
  })

  it('rejects with the refusal that a slow answer holds', () => {
    const body = { message: 'No grant.', facts: { pointer: '/agent' } }
    const answers = [
      { status: 202, body: { changeId: 'x1', status: '/v1/changes/x1' } },
      { body: { changeId: 'x1', status: 403, body } },
    ]
    return withServer(
      () => answers.shift() ?? 'cut',
      async server => {
        const client = createClient({ url: server.url, clock: impatient })
        await assert.rejects(client.policy.put({}, { ifMatch: 3 }), {
          status: 403,
          message: 'No grant.',
          pointer: '/agent',
        })
        assert.equal(server.requests[0]?.headers['if-match'], '3')
      },
    )
  })
})

describe('a list', () => {
  it('iterates over all pages, with the same query', () => {
    const pages = [
      { body: { items: [{ id: 'a' }, { id: 'b' }], next: 'c1' } },
      { body: { items: [{ id: 'c' }], next: null } },
    ]
    return withServer(
      () => pages.shift() ?? 'cut',
      async server => {
        const client = createClient({ url: server.url })
        const found = await Array.fromAsync(client.subscriptions.list.items({ agent: 'triage' }))
        assert.deepEqual(
          found.map(({ id }) => id),
          ['a', 'b', 'c'],
        )
        assert.deepEqual(
          server.requests.map(({ query }) => query),
          [{ agent: 'triage' }, { agent: 'triage', cursor: 'c1' }],
        )
      },
    )
  })
})

describe('publishing', () => {
  it('sends many events in batches that the server takes, in order', () =>
    withServer(
      ({ body }) => ({ status: 202, body: { accepted: body } }),
      async server => {
        const events = Array.from({ length: 150 }, (_, n) => ({ ...EVENT, id: String(n) }))
        const { accepted } = await createClient({ url: server.url }).publish(events)
        assert.deepEqual(
          server.requests.map(({ body }) => (body as unknown[]).length),
          [100, 50],
        )
        assert.deepEqual(
          accepted.map(({ id }) => id),
          events.map(({ id }) => id),
        )
      },
    ))

  it('names the occurrence of a milestone and of a workspace change', () =>
    withServer(
      () => accepted,
      async server => {
        const client = createClient({ url: server.url })
        const source = '/platform'
        await client.publishMilestone({ source, flow: 'onboarding', run: 'r1', milestone: 'paid' })
        await client.publishWorkspaceChange({
          ...{ source, workspace: 'w1', object: 'plan.md', change: 'edited', revision: '7' },
        })
        const [milestone, change] = server.requests.map(({ body }) => body as typeof EVENT & Event)
        assert.equal(milestone?.type, 'platform.flow.milestone')
        assert.equal(milestone?.dedupkey, 'onboarding/r1/paid')
        assert.equal(change?.type, 'platform.workspace.changed')
        assert.equal(change?.dedupkey, 'w1/plan.md/7')
      },
    ))
})

interface Event {
  dedupkey: string
}

describe('Retry-After', () => {
  it('is seconds or a date, and nothing else', () => {
    assert.equal(parseRetryAfter('3'), 3000)
    assert.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 4000), 6000)
    assert.equal(parseRetryAfter('Thu, 01 Jan 1970 00:00:00 GMT', 4000), 0)
    assert.equal(parseRetryAfter('soon'), undefined)
    assert.equal(parseRetryAfter(null), undefined)
  })
})
