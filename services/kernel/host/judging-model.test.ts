import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfiguration } from './configuration.ts'
import { openJudgingModel } from './judging-model.ts'

const open = (more: Record<string, string>, environment: Record<string, string> = {}) =>
  openJudgingModel(readConfiguration(more), { environment, readFile: () => undefined })

test('without a server and a key the judge is offline', () => {
  assert.deepEqual(open({}), { model: undefined, names: ['offline'] })
  assert.deepEqual(open({ AMBIT_EVALUATOR_MODEL: 'anything' }).names, ['offline'])
})

test('a server or a key alone is enough for a model', () => {
  const url = { AMBIT_EVALUATOR_BASE_URL: 'http://127.0.0.1:9/v1' }
  assert.deepEqual(open(url).names, ['gpt-4.1-mini'])
  assert.deepEqual(open({ AMBIT_EVALUATOR_API_KEY: 'k' }).names, ['gpt-4.1-mini'])
  const two = { AMBIT_EVALUATOR_MODEL: 'one', AMBIT_EVALUATOR_FALLBACK_MODEL: 'two' }
  assert.deepEqual(open({ ...url, ...two }).names, ['one', 'two'])
  assert.equal(open({ ...url, AMBIT_EVALUATOR_MODEL: 'offline' }).model, undefined)
})

test('prices are read as a table and need their date', () => {
  const prices = 'org/model:8b=0.25/2, other=1/0.5'
  const dated = { AMBIT_EVALUATOR_PRICES: prices, AMBIT_EVALUATOR_PRICES_DATE: '2026-11-30' }
  assert.deepEqual(readConfiguration(dated).AMBIT_EVALUATOR_PRICES, [
    { model: 'org/model:8b', input: '0.25', output: '2' },
    { model: 'other', input: '1', output: '0.5' },
  ])
  assert.throws(() => readConfiguration({ AMBIT_EVALUATOR_PRICES: prices }), /PRICES_DATE/)
  assert.throws(() => readConfiguration({ ...dated, AMBIT_EVALUATOR_PRICES: 'x=1' }), /PRICES/)
})

test('the model of the agent judges, too, unless the evaluator has its own', () => {
  const agent = { RESPONSES_API_KEY: 'k', RESPONSES_MODEL: 'of-the-agent' }
  assert.deepEqual(open({}, agent).names, ['of-the-agent'])
  assert.ok(open({}, agent).model)
  assert.deepEqual(open({ AMBIT_EVALUATOR_API_KEY: 'k' }, agent).names, ['gpt-4.1-mini'])
  assert.equal(open({ AMBIT_EVALUATOR_MODEL: 'offline' }, agent).model, undefined)
  assert.equal(open({}, { ...agent, AGENT_MODEL_MODE: 'mock' }).model, undefined)
})
