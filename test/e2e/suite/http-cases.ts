/** The HTTP surface itself: health, documents, and errors that help. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it } from 'node:test'
import { assertProblem, createScene, type GetWorld } from './scene.ts'

export function httpCases(world: GetWorld): void {
  describe('operators', () => operatorCases(world))
  describe('errors', () => errorCases(world))
}

function operatorCases(world: GetWorld): void {
  it('health, readiness and metrics need no key', async () => {
    const api = world().api.as('')
    const health = await api.call('GET', '/healthz')
    assert.deepEqual([health.status, health.json], [200, { status: 'ok' }])
    const ready = await api.call('GET', '/readyz')
    assert.deepEqual([ready.status, ready.json], [200, { status: 'ready', waiting: [] }])
    const metrics = await api.call('GET', '/metrics')
    assert.equal(metrics.status, 200)
    assert.match(String(metrics.headers['content-type']), /^text\/plain/)
    assert.match(metrics.text, /^# TYPE \w+ \w+$/m)
  })

  it('the OpenAPI document names every route of the contract', async () => {
    const { json } = await world().api.call('GET', '/v1/openapi.json')
    assert.match(json.openapi, /^3\./)
    const paths = Object.keys(json.paths)
    for (const path of [
      '/v1/events',
      '/v1/sources/{name}',
      '/v1/webhooks/{name}',
      '/v1/subscriptions',
      '/v1/subscriptions/{id}',
      '/v1/subscriptions/{id}/pause',
      '/v1/subscriptions/{id}/history',
      '/v1/apply',
      '/v1/agents/{id}/stop',
      '/v1/stop',
      '/v1/decisions',
      '/v1/traces',
      '/v1/explain',
      '/v1/stream',
      '/v1/notices',
      '/v1/deadletter',
      '/v1/audit',
      '/v1/system',
      '/v1/usage',
      '/v1/mailboxes',
      '/v1/mailboxes/{agent}/claim',
      '/v1/mailboxes/{agent}/messages',
      '/v1/mailboxes/{agent}/continuations',
      '/v1/messages/{id}',
      '/v1/messages/{id}/complete',
      '/v1/approvals',
      '/v1/approvals/{id}',
      '/v1/policy',
      '/v1/keys',
    ]) {
      assert.ok(paths.includes(path), `${path} in the OpenAPI document`)
    }
  })

  it('the page is served with a strict policy', async () => {
    const page = await world().api.as('').call('GET', '/')
    assert.equal(page.status, 200)
    const policy = String(page.headers['content-security-policy'])
    assert.match(policy, /default-src 'none'/)
    assert.ok(!policy.includes('unsafe'))
    assert.ok(!/<script(?![^>]*\bsrc=)/.test(page.text), 'no inline script')
  })
}

function errorCases(world: GetWorld): void {
  it('an unknown path is 404, a known one with another method 405 with Allow', async () => {
    const { api } = world()
    assertProblem(await api.call('GET', '/v1/nothing'), 404, 'not-found')
    for (const [method, path] of [
      ['PUT', '/v1/events'],
      ['DELETE', '/v1/decisions'],
      ['POST', '/v1/subscriptions/s_1'],
      ['GET', '/v1/mailboxes/a/claim'],
      ['PATCH', '/healthz'],
    ] as const) {
      const answer = await api.call(method, path)
      assertProblem(answer, 405, 'method-not-allowed')
      assert.match(String(answer.headers.allow), /^[A-Z]+(?:, [A-Z]+)*$/)
    }
  })

  it('a body that is no strict JSON is 400, of another type 415, too large 413', async () => {
    const { api } = world()
    const post = (body: string, type = 'application/json') =>
      api.call('POST', '/v1/subscriptions', { body, headers: { 'content-type': type } })
    for (const body of ['{', '{"a":1,}', '{"a":1,"a":2}', '[1] x', '{"a":NaN}']) {
      assertProblem(await post(body), 400, 'bad-json')
    }
    assertProblem(await post('{}', 'text/plain'), 415, 'unsupported-media-type')
    assertProblem(await post('{}', 'application/xml'), 415, 'unsupported-media-type')
    assertProblem(await post(JSON.stringify({ a: 'x'.repeat(1_100_000) })), 413, 'too-large')
  })

  it('what is asked for and wrong is named with what was expected', async () => {
    const { api } = world()
    const s = createScene(api, 'errors')
    const cases = [
      ['POST', `/v1/mailboxes/${s.agent}/claim`, { executor: '' }, '/executor'],
      ['POST', `/v1/mailboxes/${s.agent}/claim`, { executor: 'x', leaseMs: 1 }, '/leaseMs'],
      ['POST', `/v1/mailboxes/${s.agent}/claim`, { executor: 'x', max: 'two' }, '/max'],
      ['POST', '/v1/keys', { principal: { kind: 'robot', id: 'x' } }, '/principal/kind'],
      ['PUT', `/v1/agents/${s.agent}`, { maxAttempts: 0 }, '/maxAttempts'],
      ['PUT', '/v1/sources/x', { kind: 'webhook', verification: {} }, '/verification/scheme'],
    ] as const
    for (const [method, path, body, pointer] of cases) {
      const answer = await api.call(method, path, { body })
      const problem = assertProblem(answer, 422, 'invalid')
      assert.equal(problem.pointer, pointer, answer.text)
      assert.equal(typeof problem.expected, 'string', answer.text)
    }
  })

  it('names that cannot stand in a path are refused, not stored', async () => {
    const { api } = world()
    for (const name of ['a%2Fb', '..%2F..', '%00', 'a%20b', 'x'.repeat(200)]) {
      const answer = await api.call('PUT', `/v1/agents/${name}`, { body: {} })
      assert.ok(answer.status >= 400 && answer.status < 500, `${name}: ${answer.status}`)
    }
    const broken = await api.call('GET', '/v1/subscriptions/%E0%A4%A')
    assert.ok(broken.status >= 400 && broken.status < 500, `${broken.status}`)
    const cursor = await api.call('GET', '/v1/decisions?cursor=nonsense')
    assert.ok(cursor.status < 500, cursor.text)
  })

  it('headers that are too large end with a 4xx', async () => {
    const { url } = world().api
    const status = await new Promise<number>((resolve, reject) => {
      const sent = request(`${url}/healthz`, { headers: { 'x-large': 'x'.repeat(40_000) } })
      sent.on('response', answer => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      sent.on('error', reject)
      sent.end()
    })
    assert.ok(status >= 400 && status < 500, `${status}`)
  })
}
