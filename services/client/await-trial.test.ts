import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problem, scriptedServer } from '#test/support/scripted-server.ts'
import { awaitTrial } from './await-trial.ts'
import { isClientError } from './client-error.ts'
import { createClient } from './create-client.ts'
import type { Call, Transport } from './transport.ts'

/** A transport whose answers and time a test says. */
function scripted(answerOf: (call: Call) => unknown) {
  const calls: Call[] = []
  let nowMs = 0
  const transport: Transport = {
    json: async <T>(call: Call) => {
      calls.push(call)
      return answerOf(call) as T
    },
    open: () => assert.fail('nothing is streamed here'),
    clock: {
      now: () => nowMs,
      sleep: async ms => {
        nowMs += ms
      },
    },
    backoffMs: () => 1000,
  }
  return { transport, calls }
}

const running = { id: 'one', state: 'running', status: '/v1/trials/t1' }
const call: Call = { method: 'POST', path: '/v1/test', body: {} }

test('a dry run is given the time that the server holds it, and is asked for once', async () => {
  const { transport, calls } = scripted(({ method }) =>
    method === 'POST' ? running : { items: [] },
  )
  assert.deepEqual(await awaitTrial(transport, call), { items: [] })
  assert.deepEqual(
    calls.map(({ method, path, waitMs }) => [method, path, waitMs]),
    [
      ['POST', '/v1/test', 60_000],
      ['GET', '/v1/trials/t1', undefined],
    ],
  )
})

test('one that never ends is given up, saying where it can be asked for', async () => {
  const { transport } = scripted(() => running)
  await assert.rejects(
    awaitTrial(transport, call),
    error => isClientError(error) && error.code === 'trial-pending' && /t1/.test(error.message),
  )
})

test('whoever calls it off is not kept waiting, and nothing is asked any more', async () => {
  const stop = new AbortController()
  const { transport, calls } = scripted(() => running)
  const { sleep } = transport.clock
  transport.clock.sleep = async (ms, signal) => {
    await sleep(ms)
    stop.abort(new Error('called off'))
    signal?.throwIfAborted()
  }
  const { signal } = stop
  await assert.rejects(awaitTrial(transport, { ...call, signal }), { message: 'called off' })
  assert.deepEqual(
    calls.map(({ method }) => method),
    ['POST'],
  )
})

const DRAFT = { name: 'n', agent: 'a', instruction: 'i', on: {} }
const UNCERTAIN = { 'a cut connection': 'cut', 'a 503': problem(503, 'log-unavailable') } as const

for (const [what, answer] of Object.entries(UNCERTAIN)) {
  test(`what makes a dry run or a backtest is sent once, also after ${what}`, async () => {
    const server = await scriptedServer(() => answer)
    const clock = { now: () => performance.now(), sleep: async () => {} }
    const { subscriptions, backtests } = createClient({ url: server.url, clock })
    try {
      await assert.rejects(subscriptions.test('s1', []), isClientError)
      await assert.rejects(subscriptions.testDraft(DRAFT, []), isClientError)
      await assert.rejects(backtests.create({ subscription: 's1', hours: 1 }), isClientError)
      const asked = server.requests.map(({ method, path }) => `${method} ${path}`)
      const once = ['POST /v1/subscriptions/s1/test', 'POST /v1/test', 'POST /v1/backtests']
      assert.deepEqual(asked, once)
    } finally {
      await server.close()
    }
  })
}
