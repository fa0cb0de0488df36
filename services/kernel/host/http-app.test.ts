import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { Counter, Registry } from 'prom-client'
import { z } from 'zod'
import { AmbitError, ERRORS, type ErrorCode } from '#kernel/errors.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createHttpApp, type HttpApp, type HttpAppOptions } from './http-app.ts'

let app: HttpApp
let logged: { fields: object; message: string }[]
let waiting: string[]
let metrics: Registry
/** What the handlers got last. */
let seen: unknown

beforeEach(async () => {
  logged = []
  waiting = []
  metrics = new Registry()
  seen = undefined
  app = await open()
})

async function open(over: Partial<HttpAppOptions> = {}): Promise<HttpApp> {
  let randoms = 0
  const opened = await createHttpApp({
    logger: { ...silentLogger, error: (fields, message) => void logged.push({ fields, message }) },
    ids: { random: () => `request-${++randoms}` },
    ...{ metrics, notReady: () => waiting, ratePerSecond: 0 },
    ...over,
  })
  opened.post('/echo', async request => {
    seen = request.body
    return request.body ?? null
  })
  const body = z.strictObject({ count: z.int(), note: z.string().max(3).optional() })
  opened.post('/typed', { schema: { body } }, async request => ({ count: request.body.count }))
  opened.get('/fail/:code', async request => {
    const { code } = request.params as { code: ErrorCode }
    throw new AmbitError(code, 'What came, and what to do.', {
      ...{ pointer: '/a', expected: 'one', actual: 'two', extra: { token: 7 } },
    })
  })
  opened.get('/broken', async () => {
    throw new Error('password=hunter2')
  })
  return opened
}

const post = (payload: string | Buffer, headers: Record<string, string> = {}, url = '/echo') =>
  app.inject({
    ...{ method: 'POST', url, payload },
    headers: { 'content-type': 'application/json', ...headers },
  })

/** Every error is a problem document that fits the table (RFC 9457). */
function assertProblem(answer: Awaited<ReturnType<typeof post>>, code: ErrorCode) {
  assert.equal(answer.statusCode, ERRORS[code].status, answer.body)
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
  const problem = answer.json()
  assert.deepEqual(
    [problem.code, problem.status, problem.type, problem.title],
    [code, ERRORS[code].status, `urn:ambit:error:${code}`, ERRORS[code].title],
  )
  assert.match(problem.requestId, /^request-/)
  return problem
}

describe('an error', () => {
  it('of every row of the table is a problem document with its facts', async () => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      const problem = assertProblem(await app.inject({ url: `/fail/${code}` }), code)
      assert.equal(problem.detail, 'What came, and what to do.')
      const { pointer, expected, actual, token } = problem
      assert.deepEqual([pointer, expected, actual, token], ['/a', 'one', 'two', 7])
    }
  })
  it('that can be retried says when, in whole seconds', async () => {
    const after = async (code: ErrorCode) =>
      (await app.inject({ url: `/fail/${code}` })).headers['retry-after']
    assert.equal(await after('rate-limited'), '1')
    assert.equal(await after('store-unavailable'), '2')
    assert.deepEqual([await after('conflict'), await after('internal')], [undefined, undefined])
  })
  it('that nobody foresaw says nothing of itself, and is logged under its request', async () => {
    const problem = assertProblem(await app.inject({ url: '/broken' }), 'internal')
    assert.ok(!JSON.stringify(problem).includes('hunter2'))
    assert.equal(logged.length, 1)
    assert.ok('reqId' in (logged[0]?.fields ?? {}))
  })
  it('that was foreseen is not logged, an outage neither', async () => {
    for (const code of ['invalid', 'store-unavailable']) await app.inject({ url: `/fail/${code}` })
    assert.deepEqual(logged, [])
  })
  it('names the path that is not there, without its query', async () => {
    const answer = await app.inject({ url: '/nowhere?token=secret' })
    const problem = assertProblem(answer, 'not-found')
    assert.equal(problem.detail, 'There is no GET /nowhere.')
  })
})

describe('a method that is not offered', () => {
  it('is a 4xx problem, never a handler', async () => {
    for (const method of ['DELETE', 'PUT', 'PATCH', 'GET', 'HEAD'] as const) {
      const answer = await app.inject({ method, url: '/echo' })
      assert.ok([404, 405].includes(answer.statusCode), `${method} ${answer.statusCode}`)
    }
    assert.equal(seen, undefined)
  })
})

describe('a body', () => {
  it('is strict JSON: duplicate keys, lone surrogates and broken UTF-8 are refused', async () => {
    const bad: (string | Buffer)[] = [
      ...['{"a":1,"a":2}', '{"a":"\\ud800"}', '{"a":1,}', "{'a':1}", '{"a":NaN}', '01', '{'],
      ...['\ufeff{}', '{"a":1} x', Buffer.from([0x22, 0xff, 0x22])],
    ]
    for (const text of bad) assertProblem(await post(text), 'bad-json')
    assert.equal(seen, undefined)
  })
  it('comes through as it was sent: large numbers, and names that objects have', async () => {
    const text = '{"n":12345678901234567890,"d":1.10,"constructor":{"x":1},"__proto__":2}'
    const answer = await post(text)
    assert.equal(answer.statusCode, 200)
    assert.match(answer.body, /12345678901234567890/)
    assert.match(answer.body, /"__proto__":2/)
    assert.equal(Object.getPrototypeOf(seen), Object.prototype)
  })
  it('that is too large is refused, by its length or while it comes', async () => {
    app = await open({ bodyLimit: 100 })
    assertProblem(await post(`"${'x'.repeat(200)}"`), 'too-large')
    assert.equal((await post(`"${'x'.repeat(90)}"`)).statusCode, 200)
  })
  it('of another media type is refused', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/jsonp', 'x']) {
      assertProblem(await post('{}', { 'content-type': type }), 'unsupported-media-type')
    }
    for (const type of ['application/json; charset=utf-8', 'Application/Merge-Patch+JSON']) {
      assert.equal((await post('{}', { 'content-type': type })).statusCode, 200, type)
    }
  })
  it('may be missing where the route allows it', async () => {
    assert.equal((await post('')).statusCode, 200)
    assert.equal(seen, undefined)
  })
  it('that breaks its schema says where, what was expected, and what came', async () => {
    const answer = await post('{"count":"three"}', {}, '/typed')
    const problem = assertProblem(answer, 'invalid')
    assert.equal(problem.pointer, '/count')
    assert.match(problem.detail, /"three"/)
    const unknown = assertProblem(await post('{"count":1,"x":2}', {}, '/typed'), 'invalid')
    assert.equal(unknown.pointer, '/x')
    assertProblem(await post('', {}, '/typed'), 'invalid')
  })
})

describe('a process', () => {
  it('is ready when nothing is waited for, and says what it waits for', async () => {
    waiting = ['waiting for policy']
    const busy = await app.inject({ url: '/readyz' })
    assert.deepEqual([busy.statusCode, busy.headers['retry-after']], [503, '1'])
    assert.deepEqual(busy.json(), { status: 'waiting', waiting })
    waiting = []
    assert.equal((await app.inject({ url: '/readyz' })).statusCode, 200)
    assert.equal((await app.inject({ url: '/healthz' })).statusCode, 200)
  })
  it('shows its metrics as text', async () => {
    new Counter({ name: 'ambit_test_total', help: 'h', registers: [metrics] }).inc(3)
    const answer = await app.inject({ url: '/metrics' })
    assert.match(String(answer.headers['content-type']), /^text\/plain/)
    assert.match(answer.body, /^ambit_test_total 3$/m)
  })
  it('describes its routes', async () => {
    const { paths } = (await app.inject({ url: '/v1/openapi.json' })).json()
    assert.ok(paths['/typed'].post.requestBody)
  })
  it('slows down an address that asks too often, and says when to come again', async () => {
    app = await open({ ratePerSecond: 3 })
    const answers = []
    for (let call = 0; call < 5; call++) answers.push(await app.inject({ url: '/nowhere-else' }))
    for (let call = 0; call < 5; call++) answers.push(await post('{}'))
    const refused = answers.find(({ statusCode }) => statusCode === 429)
    assert.ok(refused, 'one of them was refused')
    assertProblem(refused, 'rate-limited')
    assert.equal(refused.headers['retry-after'], '1')
  })
})
