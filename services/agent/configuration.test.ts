import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { AGENT_SETTINGS, readAgentConfiguration } from './configuration.ts'

describe("the agent's settings", () => {
  it('are the ones that docs/agents.md lists, with their defaults and meaning', () => {
    const page = readFileSync('docs/agents.md', 'utf8')
    const defaults: Record<string, unknown> = readAgentConfiguration({})
    for (const [name, setting] of Object.entries(AGENT_SETTINGS)) {
      const value = defaults[name]
      const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0)
      const shown = isEmpty ? '' : `\`${value}\` `
      const row = `| \`${name}\` | ${shown}| ${setting.description} |`
      assert.ok(page.includes(row), `docs/agents.md has the row ${row}`)
    }
  })

  it('override the limits, and stop the start where they are none', () => {
    const given = { AGENT_LOOP_MAX_ITERATIONS: '3', AGENT_TOOLS: 'a,b', OTHER: 'x' }
    assert.partialDeepStrictEqual(readAgentConfiguration(given), {
      AGENT_LOOP_MAX_ITERATIONS: 3,
      AGENT_LOOP_MAX_TOOL_CALLS: 50,
      AGENT_TOOLS: ['a', 'b'],
    })
    for (const bad of ['0', '-1', 'many', '1.5']) {
      assert.throws(
        () => readAgentConfiguration({ AGENT_LOOP_MAX_ITERATIONS: bad }),
        /AGENT_LOOP_MAX_ITERATIONS/,
      )
    }
  })

  it('take prices only with the day on which they were looked up', () => {
    const prices = { AGENT_MODEL_PRICES: 'gpt-5-mini=0.25/2' }
    assert.throws(() => readAgentConfiguration(prices), /AGENT_MODEL_PRICES_DATE/)
    const dated = { ...prices, AGENT_MODEL_PRICES_DATE: '2026-11-30' }
    assert.deepEqual(readAgentConfiguration(dated).AGENT_MODEL_PRICES, [
      { model: 'gpt-5-mini', input: '0.25', output: '2' },
    ])
    assert.throws(() => readAgentConfiguration({ ...dated, AGENT_MODEL_PRICES: 'x=1' }), /PRICES/)
  })
})
