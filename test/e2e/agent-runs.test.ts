/**
 * Runs of the agent that ships, in a host that gives it tools with effects: a person's approval, a
 * run that wakes another agent, and models that mean harm.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Message, Page } from '#services/client/api.ts'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'
import { callItem, refusalItem, responseOf, textItem } from '#test/support/scripted-responses.ts'
import {
  type ScriptedAnswer,
  type ScriptedServer,
  scriptedServer,
} from '#test/support/scripted-server.ts'

const ITERATIONS_MAX = 4
const SPOKEN = responseOf([textItem('Done.')])

let host: HostProcess
let model: ScriptedServer
let till: ScriptedServer
let api: Api
/** The model's answers in order; afterwards it repeats the last one. */
let script: ScriptedAnswer[] = [SPOKEN]

before(async () => {
  model = await scriptedServer(() => (script.length > 1 ? script.shift() : script[0]) ?? SPOKEN)
  till = await scriptedServer(() => ({ status: 201, body: {} }))
  const env = {
    ...{ RESPONSES_API_KEY: 'k', RESPONSES_BASE_URL: model.url, TEST_TILL_URL: till.url },
    ...{ AGENT_TOOLS: 'pay,refund,look', AGENT_LOOP_MAX_ITERATIONS: `${ITERATIONS_MAX}` },
    AGENT_LOOP_REQUEST_TIMEOUT_MS: '600',
  }
  host = await startHost('embedded', { env, program: 'test/support/agent-host.ts' })
  api = createApi(host.url, host.key)
  const agent = { name: 'assistant', maxConcurrentLeases: 8, maxAttempts: 1, backoffMs: 100 }
  await api.ok('PUT', '/v1/agents/assistant', agent)
})
after(async () => {
  await host.stop()
  await model.close()
  await till.close()
})
beforeEach(() => {
  model.requests.splice(0)
  till.requests.splice(0)
})

const callsOf = (...calls: object[]) => responseOf(calls)
const settled = (id: string) =>
  eventually('the message to be settled', async () => {
    const { status, json } = await api.call('GET', `/v1/messages/${id}`)
    const isOver = status === 200 && ['done', 'dead'].includes(json.state)
    return isOver ? (json as Message) : json?.state
  })

async function turn(...answers: ScriptedAnswer[]): Promise<Message> {
  script = answers
  const { id } = await api.ok<{ id: string }>('POST', '/v1/mailboxes/assistant/continuations', {
    ...{ session: crypto.randomUUID(), kind: 'turn', input: { text: 'Please.' } },
  })
  return settled(id)
}

const saidTo = (request: number) => JSON.stringify(model.requests[request]?.body ?? '')

async function continuationOf(session: string | null): Promise<Message> {
  const found = await eventually('the continuation', async () => {
    const all = await api.messages('assistant')
    return all.find(each => each.session === session && isAnswer(each)) ?? `${all.length} messages`
  })
  return settled(found.id)
}

function isAnswer({ input }: Message): boolean {
  return (input as { kind?: string } | undefined)?.kind === 'answer'
}

async function approve(messageId: string, answer: object): Promise<void> {
  const waiting = await eventually('the question', async () => {
    const { items } = await api.ok<Page<{ id: string; messageId?: string }>>(
      'GET',
      '/v1/approvals?limit=200',
    )
    return items.find(each => each.messageId === messageId) ?? JSON.stringify(items)
  })
  await api.ok('POST', `/v1/approvals/${waiting.id}`, answer)
}

describe('a sensitive tool', () => {
  const refund = (order: string) => callsOf(callItem('refund', { order }))

  it('runs once, under its key, after a person accepted that very call', async () => {
    const asked = await turn(refund('o-1'), refund('o-1'), SPOKEN)
    assert.partialDeepStrictEqual(asked.run, { ok: false, stopReason: 'asked' })
    assert.equal(till.requests.length, 0)
    await approve(asked.id, { decision: 'accept' })
    const answered = await continuationOf(asked.session)
    assert.partialDeepStrictEqual(answered.run, {
      ...{ ok: true, stopReason: 'final-message' },
      calls: [{ tool: 'refund', outcome: 'ok' }],
    })
    assert.equal(till.requests.length, 1)
    const key = String(till.requests[0]?.headers['idempotency-key'])
    assert.ok(key.startsWith(`${answered.id}/refund/`), key)
    assert.deepEqual(till.requests[0]?.body, { order: 'o-1' })
  })

  it('does not run for another call than the one that was accepted', async () => {
    const asked = await turn(refund('o-1'), refund('o-2'))
    await approve(asked.id, { decision: 'accept' })
    const answered = await continuationOf(asked.session)
    assert.partialDeepStrictEqual(answered.run, { ok: false, stopReason: 'asked' })
    assert.equal(till.requests.length, 0)
  })

  it('does not run when the person ignores the question', async () => {
    const asked = await turn(refund('o-1'), refund('o-1'), SPOKEN)
    await approve(asked.id, { decision: 'ignore' })
    const answered = await continuationOf(asked.session)
    assert.partialDeepStrictEqual(answered.run, { calls: [{ outcome: 'refused' }] })
    assert.equal(till.requests.length, 0)
  })
})

describe("a run's end", () => {
  it('wakes another agent by name of its type, and never one that is in its lineage', async () => {
    script = [SPOKEN]
    const subscribe = (agent: string, type: string) =>
      api.ok<{ id: string }>('POST', '/v1/subscriptions', {
        ...{ name: `${agent} ${type}`, agent, owner: 'user:ana', instruction: 'Look.' },
        on: { types: [type] },
      })
    const order = await subscribe('assistant', 'com.shop.order')
    const audit = await subscribe('auditor', 'platform.run.finished')
    const back = await subscribe('assistant', 'platform.run.finished')
    const [id = ''] = await api.publish({ source: '/shop', type: 'com.shop.order' })
    const { messageId } = await api.decision(order.id, id, 'delivered')
    const [item] = await api.claim('auditor')
    assert.ok(item)
    assert.partialDeepStrictEqual(item.message.events, [
      { type: 'platform.run.finished', data: { messageId, ok: true } },
    ])
    assert.deepEqual(item.message.lineage, [
      { subscription: order.id, agent: 'assistant', message: messageId },
    ])
    await api.complete(item)
    const fatesOf = (subscription: string, count: number) =>
      eventually('the fates', async () => {
        const all = await api.decisions({ subscription })
        const fates = all.map(({ fate }) => fate).sort()
        return fates.length >= count ? fates : JSON.stringify(fates)
      })
    assert.deepEqual(await fatesOf(back.id, 2), ['cycle', 'cycle'])
    assert.deepEqual(await fatesOf(audit.id, 2), ['cycle', 'delivered'])
    for (const each of [order, audit, back]) await api.ok('DELETE', `/v1/subscriptions/${each.id}`)
  })
})

describe('a model that means harm', () => {
  const flood = Array.from({ length: 200 }, (_, at) =>
    callItem('pay', { order: `o-${at}` }, `call_${at}`),
  )
  const pay = callItem('pay', { order: 'o-1' })
  const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  const ends: [string, ScriptedAnswer, string][] = [
    ['asks for 200 calls at once', callsOf(...flood), 'max-tool-calls'],
    ['calls for ever', callsOf(callItem('look', { order: 'o-1' })), 'max-iterations'],
    ['is cut off in a call', responseOf([pay], cut), 'truncated-response'],
    ['says nothing', responseOf([]), 'malformed-output'],
    ['says an empty text', responseOf([textItem('')]), 'malformed-output'],
    ['only refuses', responseOf([refusalItem('No.')]), 'malformed-output'],
    ['answers with something else', { body: { hello: 'world' } }, 'model-error'],
    ['never answers', 'hang', 'request-timeout'],
  ]
  for (const [what, answer, stopReason] of ends) {
    it(`that ${what} ends with ${stopReason}, and nothing happens`, async () => {
      const { run } = await turn(answer)
      assert.partialDeepStrictEqual(run, { ok: false, stopReason })
      assert.equal(till.requests.length, 0)
      assert.ok(model.requests.length <= ITERATIONS_MAX)
    })
  }

  const refused: [string, object, RegExp][] = [
    ['writes no JSON', callItem('pay', '{"order": "o-1"'), /must be one JSON object/],
    ['writes a list', callItem('pay', '[]'), /must be one JSON object/],
    ['goes out of the schema', callItem('pay', { order: 'all of them' }), /do not fit its schema/],
    ['adds arguments', callItem('pay', { order: 'o-1', to: 'me' }), /do not fit its schema/],
    ['invents a tool', callItem('erase', {}), /there is no tool erase/],
    [
      'takes a tool that is not allowed',
      callItem('create_ticket_async', { title: 'a', priority: 'b' }),
      /create_ticket_async is not allowed in this run/,
    ],
  ]
  for (const [what, call, words] of refused) {
    it(`that ${what} is refused in words, and nothing happens`, async () => {
      const { run } = await turn(callsOf(call), SPOKEN)
      assert.partialDeepStrictEqual(run, { ok: true, calls: [{ outcome: 'refused' }] })
      assert.match(saidTo(1), words)
      assert.match(saidTo(1), /refused:/)
      assert.equal(till.requests.length, 0)
    })
  }

  it('is no reason to stop a good one: the same tool runs when all is well', async () => {
    const { run } = await turn(callsOf(pay), SPOKEN)
    assert.partialDeepStrictEqual(run, { ok: true, calls: [{ tool: 'pay', outcome: 'ok' }] })
    assert.equal(till.requests.length, 1)
  })
})
