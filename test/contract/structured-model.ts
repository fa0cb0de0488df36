/** The promises of the Model port (M1 to M5), for every adapter. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StructuredModel, StructuredRequest } from '#kernel/ports/model.ts'
import {
  cutOffAnswer,
  drippingAnswer,
  endlessAnswer,
  failedResponse,
  type ModelScript,
  type ModelServer,
  modelAnswer,
  modelError,
  modelServer,
  reasonedAway,
  refusedAnswer,
  twoAnswers,
} from '#test/support/model-server.ts'

const REQUEST: StructuredRequest = {
  model: 'scripted',
  instructions: 'Judge the items.',
  input: 'item 1: a secret text',
  schema: { name: 'verdicts', schema: { type: 'object', properties: {} } },
  outputTokensMax: 500,
  timeoutMs: 5000,
}

type Create = (server: { baseUrl: string; apiKey: string }) => StructuredModel

async function ask(create: Create, script: ModelScript, more: Partial<StructuredRequest> = {}) {
  const server = await modelServer(script)
  try {
    const model = create({ baseUrl: server.baseUrl, apiKey: 'key-of-the-test' })
    const result = await model.complete({ ...REQUEST, ...more })
    return { result, server }
  } finally {
    await server.close()
  }
}

/** Registers the suite for one adapter. */
export function structuredModelContract(name: string, create: Create): void {
  test(`${name} sends one strict request and reads its answer (M1, M4)`, async () => {
    const usage = { inputTokens: 321, outputTokens: 12 }
    const { result, server } = await ask(create, () => modelAnswer({ verdicts: [] }, usage))
    assert.deepEqual(result, { kind: 'answer', text: '{"verdicts":[]}', usage })
    const [call] = server.calls()
    assert.equal(server.requests.length, 1)
    assert.equal(server.requests[0]?.headers.authorization, 'Bearer key-of-the-test')
    assert.equal(call?.text.format.name, 'verdicts')
    assert.equal(call?.text.format.strict, true)
    assert.equal(call?.temperature, 0)
    assert.equal(call?.max_output_tokens, 500)
    assert.equal(call?.tools, undefined)
  })

  const never: [string, ModelScript, string][] = [
    ['cut off', () => cutOffAnswer('{"verdicts":[]}'), 'cut-off'],
    ['used up by reasoning', () => reasonedAway(), 'cut-off'],
    ['a refusal', () => refusedAnswer(), 'refused'],
    ['empty', () => modelAnswer('  '), 'empty'],
    ['in two pieces', () => twoAnswers({ a: 1 }, { b: 2 }), 'several-answers'],
    ['a failed response', () => failedResponse(), 'server-error'],
    ['an error 500', () => modelError(500, 'server_error', 'oops'), 'server-error'],
    ['a wrong key', () => modelError(401, 'invalid_api_key', 'no'), 'request-refused'],
    ['a page of a proxy', () => ({ body: '<html>hello</html>' }), 'not-the-api'],
    ['another JSON', () => ({ body: { hello: 'world' } }), 'not-the-api'],
    ['cut on the wire', () => 'cut', 'connection-failed'],
    ['a redirect', () => ({ status: 302, headers: { location: '/' } }), 'request-refused'],
  ]
  for (const [what, script, reason] of never) {
    test(`${name} never reads an answer that is ${what} (M3)`, async () => {
      const { result, server } = await ask(create, script)
      assert.equal(result.kind, 'failed')
      assert.equal(result.kind === 'failed' && result.reason, reason)
      assert.equal(server.requests.length, 1, 'one call is one request (M1)')
      assert.ok(!JSON.stringify(result).includes('secret'), 'no text of the request (M5)')
    })
  }

  test(`${name} tells a refused request from a server that refuses everything`, async () => {
    const filtered = await ask(create, () => modelError(400, 'content_filter', 'filtered'))
    const unknown = await ask(create, () => modelError(404, 'model_not_found', 'no such model'))
    const isOutage = [filtered, unknown].map(
      ({ result }) => result.kind === 'failed' && result.isOutage,
    )
    assert.deepEqual(isOutage, [false, true])
  })

  test(`${name} says how long the server asked to wait`, async () => {
    const headers = { 'retry-after': '7' }
    const script = () => modelError(429, 'rate_limit_exceeded', 'slow down', { headers })
    const { result } = await ask(create, script)
    assert.deepEqual(result, {
      ...{ kind: 'failed', reason: 'rate-limited', isOutage: true, mayRetry: true },
      ...{ retryAfterMs: 7000, usage: { inputTokens: 0, outputTokens: 0 } },
    })
  })

  test(`${name} counts what a cut-off answer cost`, async () => {
    const usage = { inputTokens: 90, outputTokens: 500 }
    const { result } = await ask(create, () => cutOffAnswer('{"ver', usage))
    assert.deepEqual(result.usage, usage)
  })

  untimelyServers(name, create)
}

function untimelyServers(name: string, create: Create): void {
  const slow: [string, ModelScript][] = [
    ['hangs', () => 'hang'],
    ['drips', () => drippingAnswer(20)],
  ]
  for (const [what, script] of slow) {
    test(`${name} ends in time when the server ${what} (M2)`, async () => {
      const { result } = await ask(create, script, { timeoutMs: 300 })
      assert.equal(result.kind === 'failed' && result.reason, 'timeout')
    })
  }

  test(`${name} does not read a body without an end`, async () => {
    const { result } = await ask(create, () => endlessAnswer())
    assert.equal(result.kind, 'failed')
  })

  test(`${name} rejects with the reason of its signal`, async () => {
    const server: ModelServer = await modelServer(() => 'hang')
    const stopping = new AbortController()
    const model = create({ baseUrl: server.baseUrl, apiKey: 'k' })
    const call = model.complete({ ...REQUEST, signal: stopping.signal })
    await server.asked('POST /v1/responses')
    stopping.abort(new Error('stopping'))
    await assert.rejects(call, /stopping/)
    await server.close()
  })
}
