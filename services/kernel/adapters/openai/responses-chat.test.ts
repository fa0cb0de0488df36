import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ChatRequest, ModelFailure } from '#kernel/ports/chat-model.ts'
import {
  apiError,
  callItem,
  endOf,
  refusalItem,
  responseOf,
  scriptedResponses,
  streamOf,
  textItem,
} from '#test/support/scripted-responses.ts'
import type { ScriptedAnswer } from '#test/support/scripted-server.ts'
import { createResponsesChat } from './responses-chat.ts'

const REQUEST: ChatRequest = {
  instructions: 'Be short.',
  items: [
    { role: 'user', text: 'Hi' },
    { role: 'assistant', text: '', toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
    { role: 'tool', callId: 'c1', text: 'seen' },
  ],
  tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }],
  outputTokensMax: 77,
}

async function calling(
  answers: ScriptedAnswer[],
  provider: 'openai' | 'azure' = 'openai',
  signal = new AbortController().signal,
  onText?: (text: string) => void,
) {
  const server = await scriptedResponses(...answers)
  const slept: number[] = []
  const clock = { sleep: async (ms: number) => void slept.push(ms) }
  const baseUrl = `${server.url}/v1/`
  const own = { provider, baseUrl, apiKey: 'secret-key', model: 'm', contextTokensMax: 1000, clock }
  const outcome = await createResponsesChat(own)
    .complete(REQUEST, signal, onText)
    .catch((error: unknown) => error)
  await server.close()
  return { outcome, requests: server.requests, slept }
}

describe('a model over the Responses API', () => {
  it('sends the whole conversation and reads text, calls and usage', async () => {
    const answer = responseOf([textItem('Look '), textItem('here'), callItem('look', { a: 1 })])
    const { outcome, requests } = await calling([answer])
    assert.deepEqual(outcome, {
      isComplete: true,
      text: 'Look here',
      refusal: null,
      toolCalls: [{ id: 'call_1', name: 'look', arguments: '{"a":1}' }],
      usage: { inputTokens: 12, outputTokens: 3 },
    })
    const [{ path, headers, body }] = requests as [(typeof requests)[0]]
    assert.equal(path, '/v1/responses')
    assert.equal(headers.authorization, 'Bearer secret-key')
    const sent = body as Record<string, unknown>
    assert.equal(sent.max_output_tokens, 77)
    assert.equal(sent.store, false)
    assert.deepEqual(sent.input, [
      { role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'seen' },
    ])
  })

  it('sends an Azure key in its own header and in no other', async () => {
    const { requests } = await calling([responseOf([textItem('ok')])], 'azure')
    assert.equal(requests[0]?.headers['api-key'], 'secret-key')
    assert.equal(requests[0]?.headers.authorization, undefined)
  })

  it('says that an answer was cut off, and keeps a refusal apart from text', async () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    const { outcome } = await calling([responseOf([textItem('Ha')], cut)])
    assert.equal((outcome as { isComplete: boolean }).isComplete, false)
    const refused = await calling([responseOf([refusalItem('No.')])])
    assert.partialDeepStrictEqual(refused.outcome, { refusal: 'No.', text: '', isComplete: true })
  })
})

describe('a model call that fails', () => {
  it('makes three attempts where a failure may pass, and waits what the server asks', async () => {
    for (const status of [408, 409, 429, 500, 503]) {
      const { outcome, requests, slept } = await calling([apiError(status)])
      assert.ok(outcome instanceof ModelFailure, `${status}`)
      assert.equal(outcome.status, status)
      assert.equal(requests.length, 3)
      assert.deepEqual(slept, [500, 1000])
    }
    const patient = await calling([
      apiError(429, null, { 'retry-after': '2' }),
      'cut',
      responseOf([textItem('ok')]),
    ])
    assert.deepEqual(patient.slept, [2000, 1000])
    assert.equal((patient.outcome as { text: string }).text, 'ok')
  })

  it('tries other 4xx once, whatever their headers ask, and names a request too long', async () => {
    for (const status of [400, 401, 403, 404, 422]) {
      const { outcome, requests } = await calling([
        apiError(status, null, { 'x-should-retry': 'true' }),
      ])
      assert.equal(requests.length, 1, `${status}`)
      assert.equal((outcome as ModelFailure).reason, 'model-error')
    }
    const { outcome } = await calling([apiError(400, 'context_length_exceeded')])
    assert.equal((outcome as ModelFailure).reason, 'context-overflow')
  })

  it('follows no redirect and takes no other body for an answer', async () => {
    const away = await calling([{ status: 307, headers: { location: 'http://127.0.0.1:1/' } }])
    assert.ok(away.outcome instanceof ModelFailure)
    assert.equal(away.requests.length, 1)
    const other = await calling([{ body: { hello: 'world' } }])
    assert.ok(other.outcome instanceof ModelFailure)
    const failed = await calling([
      responseOf([], { status: 'failed', error: { code: 'server_error', message: 'x' } }),
    ])
    assert.ok(failed.outcome instanceof ModelFailure)
  })

  it('ends the request when the signal aborts', async () => {
    const server = await scriptedResponses('hang')
    const stop = new AbortController()
    const clock = { sleep: async () => {} }
    const chat = createResponsesChat({
      ...{ provider: 'openai', baseUrl: server.url, apiKey: 'k', model: 'm' },
      ...{ contextTokensMax: 1000, clock },
    })
    const call = chat.complete(REQUEST, stop.signal)
    const request = await server.asked('POST /responses')
    stop.abort(new Error('enough'))
    await assert.rejects(call, /enough/)
    await request.gone
    await server.close()
  })

  it('tells neither payload nor key in a failure', async () => {
    const { outcome } = await calling([apiError(500)])
    assert.doesNotMatch((outcome as Error).message, /secret-key|scripted|Hi/)
  })
})

describe('an answer that is watched', () => {
  const whole = responseOf([textItem('Look here'), callItem('look', { a: 1 })])
  const watching = async (...answers: ScriptedAnswer[]) => {
    const heard: string[] = []
    const onText = (text: string) => void heard.push(text)
    const { outcome, requests } = await calling(answers, 'openai', undefined, onText)
    return { outcome, requests, heard }
  }

  it('is heard as it grows, and is what its last event says', async () => {
    const { outcome, requests, heard } = await watching(
      streamOf(['Look ', 'here'], endOf('completed', whole)),
    )
    assert.deepEqual(heard, ['Look ', 'Look here'])
    assert.partialDeepStrictEqual(outcome, { isComplete: true, text: 'Look here' })
    assert.equal((outcome as { toolCalls: unknown[] }).toolCalls.length, 1)
    assert.equal((requests[0]?.body as { stream: boolean } | undefined)?.stream, true)
  })

  it('is not complete when its last event says so', async () => {
    const { outcome } = await watching(streamOf(['Look '], endOf('incomplete', whole)))
    assert.partialDeepStrictEqual(outcome, { isComplete: false })
  })

  it('begins from nothing at another attempt after a stream that broke', async () => {
    const { outcome, requests, heard } = await watching(
      streamOf(['Half of'], undefined),
      streamOf(['Look here'], endOf('completed', whole)),
    )
    assert.deepEqual(heard, ['Half of', 'Look here'])
    assert.equal(requests.length, 2)
    assert.partialDeepStrictEqual(outcome, { text: 'Look here' })
  })

  it('fails after three streams without an end', async () => {
    const { outcome, requests } = await watching(streamOf(['Half of'], undefined))
    assert.ok(outcome instanceof ModelFailure)
    assert.equal(requests.length, 3)
  })

  it('is read whole from a server that does not stream', async () => {
    const { outcome, heard } = await watching(whole)
    assert.partialDeepStrictEqual(outcome, { isComplete: true, text: 'Look here' })
    assert.deepEqual(heard, [])
  })

  it('ends at once when the call is aborted in the middle of a drip', async () => {
    const drip = streamOf(Array(500).fill('x'), undefined, { pauseMs: 20 })
    const stop = new AbortController()
    const onText = () => stop.abort(new Error('enough'))
    const { outcome, requests } = await calling([drip], 'openai', stop.signal, onText)
    assert.equal((outcome as Error).message, 'enough')
    assert.equal(requests.length, 1)
  })
})
