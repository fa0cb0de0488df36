/** Operations of a real MCP server as tools of the agent that ships, beside a scripted model. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Message } from '#services/client/api.ts'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'
import { callItem, responseOf, textItem } from '#test/support/scripted-responses.ts'
import { type ScriptedServer, scriptedServer } from '#test/support/scripted-server.ts'

const PROGRAM = fileURLToPath(
  new URL(
    '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  ),
)
const CONNECTOR = { transport: 'stdio', command: 'everything' }

let host: HostProcess
let model: ScriptedServer
let api: Api
/** What the model asks for in its next answer; then it speaks. */
let asked: object[] = []

before(async () => {
  model = await scriptedServer(() => responseOf(asked.length > 0 ? asked.splice(0) : [DONE]))
  const commands = { everything: [process.execPath, PROGRAM, 'stdio'] }
  const env = {
    ...{ RESPONSES_API_KEY: 'k', RESPONSES_BASE_URL: model.url },
    AMBIT_MCP_COMMANDS: JSON.stringify(commands),
  }
  host = await startHost('embedded', { env })
  api = createApi(host.url, host.key)
  const allow = [
    { operation: 'echo' },
    { operation: 'get-sum', effect: 'read' },
    { operation: 'get-tiny-image', effect: 'sensitive' },
  ]
  await api.ok('PUT', '/v1/connectors/everything', { ...CONNECTOR, allow })
})
after(async () => {
  await host.stop()
  await model.close()
})
beforeEach(() => {
  model.requests.splice(0)
})

const DONE = textItem('Done.')

/** One turn in a session of its own, in which the model makes these calls at once. */
async function turn(...calls: object[]): Promise<{ tools: string[]; seen: string; run: object }> {
  asked = calls
  const { id } = await api.ok<{ id: string }>('POST', '/v1/mailboxes/assistant/continuations', {
    ...{ session: crypto.randomUUID(), kind: 'turn', input: { text: 'Please.' } },
  })
  const message = await eventually('the turn to end', async () => {
    const { status, json } = await api.call('GET', `/v1/messages/${id}`)
    return status === 200 && json.state === 'done' ? (json as Message) : json?.state
  })
  const body = model.requests[0]?.body as { tools: { name: string }[] }
  return {
    tools: body.tools.map(({ name }) => name).filter(name => name.startsWith('everything')),
    seen: JSON.stringify(model.requests[1]?.body ?? ''),
    run: message.run ?? {},
  }
}

describe('operations of an MCP server as tools', () => {
  it('are those of the allow-list, run, and come back as untrusted content', async () => {
    const { tools, seen, run } = await turn(
      callItem('everything__echo', { message: 'hello' }, 'c1'),
      callItem('everything__get-sum', { a: 2, b: 3 }, 'c2'),
      callItem('everything__get-env', {}, 'c3'),
      callItem('everything__get-sum', { a: 'two' }, 'c4'),
    )
    assert.deepEqual(tools, [
      'everything__echo',
      'everything__get-sum',
      'everything__get-tiny-image',
    ])
    assert.match(seen, /untrusted origin=[^>]*everything__echo[^>]*>\\n.?Echo: hello/)
    assert.match(seen, /The sum of 2 and 3 is 5/)
    assert.match(seen, /refused: there is no tool everything__get-env/)
    assert.match(seen, /refused: the arguments of everything__get-sum do not fit/)
    assert.partialDeepStrictEqual(run, { ok: true, stopReason: 'final-message', toolCalls: 4 })
  })

  it('are asked about when the allow-list says sensitive, whatever the server hints', async () => {
    const { run } = await turn(callItem('everything__get-tiny-image', {}))
    assert.partialDeepStrictEqual(run, { ok: false, stopReason: 'asked' })
  })

  it('have their first hash written down by the registry', async () => {
    await eventually('the pin', async () => {
      const { json } = await api.call('GET', '/v1/connectors/everything')
      return json.pins?.echo ? json.pins : JSON.stringify(json)
    })
  })

  it('are refused, and flagged, when they are not what was allowed', async () => {
    const allow = [{ operation: 'echo', hash: 'mo_of-another-day' }, { operation: 'get-sum' }]
    await api.ok('PUT', '/v1/connectors/everything', { ...CONNECTOR, allow })
    const { tools, seen } = await turn(callItem('everything__echo', { message: 'hello' }))
    assert.deepEqual(tools, ['everything__get-sum'])
    assert.match(seen, /refused: there is no tool everything__echo/)
    await eventually('the flag', async () => {
      const { json } = await api.call('GET', '/v1/connectors/everything')
      return json.changed?.echo ?? JSON.stringify(json)
    })
  })

  it('are those that the policy gives to whom the run acts for', async () => {
    const policy = await api.ok<object>('GET', '/v1/policy')
    const { version: _version, tenant: _tenant, ...given } = policy as Record<string, unknown>
    const row = { name: 'everything', operations: ['get-sum'], persons: ['user:nobody'] }
    await api.ok('PUT', '/v1/policy', { ...given, connectors: [row] })
    const { tools, seen } = await turn(callItem('everything__get-sum', { a: 2, b: 3 }))
    assert.deepEqual(tools, [])
    assert.match(seen, /refused: there is no tool everything__get-sum/)
  })
})
