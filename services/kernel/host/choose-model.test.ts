import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { chooseModel } from './choose-model.ts'

const none = () => undefined
const files = (given: Record<string, string>) => (path: string) => given[path]
const VARIABLES = {
  RESPONSES_API_KEY: 'k3',
  RESPONSES_BASE_URL: 'http://three/v1',
  OPENAI_API_KEY: 'k4',
  RESPONSES_MODEL: 'small',
}

describe('the model is the first that is found', () => {
  const toml = (url: string) => `base_url = "${url}"\napi_key = "k"`
  const steps = [
    ['http://one/v1', { RESPONSES_CONFIG_PATH: '/one.toml', ...VARIABLES }],
    ['http://two/v1', VARIABLES],
  ] as const
  for (const [url, environment] of steps) {
    it(`takes ${url} before all that comes after`, () => {
      const read = files({
        '/one.toml': toml('http://one/v1'),
        '.local.responses.toml': toml('http://two/v1'),
      })
      assert.partialDeepStrictEqual(chooseModel(environment, read), { mode: 'real', baseUrl: url })
    })
  }

  it('then RESPONSES_*, then a provider key with its address', () => {
    assert.deepEqual(chooseModel(VARIABLES, none), {
      ...{ mode: 'real', provider: 'openai', baseUrl: 'http://three/v1', apiKey: 'k3' },
      ...{ model: 'small', contextTokensMax: 128_000 },
    })
    const azure = { AZURE_OPENAI_API_KEY: 'k5', RESPONSES_BASE_URL: 'http://five/v1' }
    assert.partialDeepStrictEqual(chooseModel(azure, none), { provider: 'azure', apiKey: 'k5' })
    const { RESPONSES_API_KEY: _, ...rest } = VARIABLES
    assert.partialDeepStrictEqual(chooseModel(rest, none), { provider: 'openai', apiKey: 'k4' })
  })

  it('nothing, or a key without an address, is the mock: no money is spent by accident', () => {
    assert.deepEqual(chooseModel({}, none), { mode: 'mock' })
    assert.deepEqual(chooseModel({ OPENAI_API_KEY: 'k' }, none), { mode: 'mock' })
    assert.deepEqual(chooseModel({ ...VARIABLES, AGENT_MODEL_MODE: 'mock' }, none), {
      mode: 'mock',
    })
  })

  it('says what is missing', () => {
    assert.throws(() => chooseModel({ AGENT_MODEL_MODE: 'real' }, none), /no model is configured/)
    assert.throws(() => chooseModel({ RESPONSES_CONFIG_PATH: '/gone' }, none), /cannot be read/)
    assert.throws(
      () => chooseModel({ RESPONSES_CONFIG_PATH: '/x' }, files({ '/x': '= =' })),
      /TOML/,
    )
    const azure = { RESPONSES_API_KEY: 'k', RESPONSES_PROVIDER: 'azure' }
    assert.throws(() => chooseModel(azure, none), /RESPONSES_BASE_URL/)
  })

  it('the example that ships is right', () => {
    const text = readFileSync('config.example.toml', 'utf8')
    const environment = { RESPONSES_CONFIG_PATH: 'x', OPENAI_API_KEY: 'k' }
    assert.partialDeepStrictEqual(chooseModel(environment, files({ x: text })), {
      ...{ mode: 'real', apiKey: 'k', model: 'gpt-5-mini' },
    })
  })
})
