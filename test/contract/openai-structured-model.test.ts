import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAiStructuredModel } from '#kernel/adapters/openai/structured-completion.ts'
import { modelAnswer, modelError, modelServer } from '#test/support/model-server.ts'
import { structuredModelContract } from './structured-model.ts'

structuredModelContract('openai', createOpenAiStructuredModel)

test('openai leaves out the temperature once a model said that it has none', async () => {
  const server = await modelServer(({ temperature }) =>
    temperature === undefined
      ? modelAnswer({ ok: true })
      : modelError(400, 'unsupported_parameter', 'Unsupported', { param: 'temperature' }),
  )
  const model = createOpenAiStructuredModel({ baseUrl: server.baseUrl, apiKey: 'k' })
  const request = {
    ...{ model: 'thinker', instructions: 'i', input: 'x', outputTokensMax: 10, timeoutMs: 2000 },
    schema: { name: 'verdicts', schema: {} },
  }
  const first = await model.complete(request)
  assert.equal(first.kind === 'failed' && first.mayRetry && !first.isOutage, true)
  assert.equal((await model.complete(request)).kind, 'answer')
  assert.equal((await model.complete(request)).kind, 'answer')
  assert.equal(server.requests.length, 3)
  await server.close()
})
