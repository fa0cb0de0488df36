import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  type ChatAnswer,
  type ChatItem,
  type ChatModel,
  ModelFailure,
} from '#kernel/ports/chat-model.ts'
import {
  agentWorld,
  callOf,
  fakeTool,
  memorySessions,
  orphansIn,
  scriptedModel,
} from '#test/support/agent-world.ts'
import { runAgentTurn } from './run-agent-turn.ts'
import { STOP_REASONS, type StopReason } from './stop-reason.ts'
import type { TurnInput, TurnResult, TurnWorld } from './turn-state.ts'

const reached = new Set<StopReason>()

async function runTurn(world: TurnWorld, input: TurnInput): Promise<TurnResult> {
  const result = await runAgentTurn(world, input)
  reached.add(result.stopReason)
  assert.equal(result.ok, result.stopReason === 'final-message')
  assert.equal(result.error === undefined, result.ok || result.stopReason === 'asked')
  return result
}

const looks = (count: number) =>
  Array.from({ length: count }, (_, at) => callOf('look', { to: `${at}` }, `c${at}`))

after(() => assert.deepEqual([...reached].toSorted(), [...STOP_REASONS].toSorted()))

describe('a turn ends by its limits', () => {
  it('final-message: the answer is kept and handed back with usage', async () => {
    const model = scriptedModel({ toolCalls: looks(1) }, { text: 'Done.' })
    const { world, input, items } = agentWorld({ model, tools: [fakeTool()] })
    const result = await runTurn(world, input)
    assert.equal(result.stopReason, 'final-message')
    assert.equal(result.finalMessage, 'Done.')
    assert.deepEqual(result.usage, { inputTokens: 200, outputTokens: 20, calls: 2 })
    assert.deepEqual(result.calls, [{ tool: 'look', outcome: 'ok' }])
    assert.deepEqual(
      items().map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
  })

  it('max-iterations: an endless loop is ended by count', async () => {
    const tool = fakeTool()
    const model = scriptedModel({ toolCalls: looks(1) })
    const { world, input } = agentWorld({ model, tools: [tool], limits: { iterationsMax: 3 } })
    const result = await runTurn(world, input)
    assert.equal(result.stopReason, 'max-iterations')
    assert.equal(result.iterations, 3)
    assert.equal(model.requests.length, 3)
  })

  it('max-tool-calls: five asked and three left runs none', async () => {
    const tool = fakeTool()
    const model = scriptedModel({ toolCalls: looks(2) }, { toolCalls: looks(5) })
    const { world, input, items } = agentWorld({
      model,
      tools: [tool],
      limits: { toolCallsMax: 5 },
    })
    const result = await runTurn(world, input)
    assert.equal(result.stopReason, 'max-tool-calls')
    assert.equal(result.toolCalls, 2)
    assert.equal(tool.effects.size, 2)
    assert.deepEqual(orphansIn(items()), [])
  })

  it('max-tool-calls: two hundred calls at once run none by default', async () => {
    const tool = fakeTool({ effect: 'write' })
    const { world, input, effects } = agentWorld({
      model: scriptedModel({ toolCalls: looks(200) }),
      tools: [tool],
    })
    assert.equal((await runTurn(world, input)).stopReason, 'max-tool-calls')
    assert.equal(tool.effects.size, 0)
    assert.deepEqual(effects, [])
  })

  it('wall-time: looked at between iterations', async () => {
    const parts = { model: scriptedModel({ toolCalls: looks(1) }), limits: { wallTimeMs: 1000 } }
    const slow = fakeTool({
      run: async () => {
        await clock.advance(1000)
        return 'late'
      },
    })
    const { world, input, clock, items } = agentWorld({ ...parts, tools: [slow] })
    const result = await runTurn(world, input)
    assert.equal(result.stopReason, 'wall-time')
    assert.equal(result.toolCalls, 1)
    assert.deepEqual(orphansIn(items()), [])
  })
})

describe('a turn ends by what the model does', () => {
  it('truncated-response: nothing of it is executed, whatever it contains', async () => {
    const tool = fakeTool()
    const model = scriptedModel({ isComplete: false, text: 'Half', toolCalls: looks(1) })
    const { world, input, items } = agentWorld({ model, tools: [tool] })
    assert.equal((await runTurn(world, input)).stopReason, 'truncated-response')
    assert.equal(tool.effects.size, 0)
    assert.equal(items().length, 1)
  })

  it('malformed-output: nothing, blanks, a refusal, calls without ids of their own', async () => {
    const twice = [callOf('look', {}, 'same'), callOf('look', {}, 'same')]
    const bad: [Partial<ChatAnswer>, string][] = [
      [{}, 'empty-output'],
      [{ text: ' \n' }, 'empty-output'],
      [{ refusal: 'I cannot.' }, 'refusal'],
      [{ toolCalls: twice }, 'unnamed-calls'],
      [{ toolCalls: [callOf('look', {}, '')] }, 'unnamed-calls'],
    ]
    for (const [answer, code] of bad) {
      const { world, input } = agentWorld({ model: scriptedModel(answer) })
      const { stopReason, error } = await runTurn(world, input)
      assert.equal(stopReason, 'malformed-output')
      assert.equal(error?.code, code)
    }
  })

  it('context-overflow: what cannot fit is not sent; a refused one is named', async () => {
    const model = { ...scriptedModel({ text: 'ok' }), contextTokensMax: 5000 }
    const { world, input } = agentWorld({ model })
    const long = await runTurn(world, { ...input, opening: 'x'.repeat(5000) })
    assert.equal(long.stopReason, 'context-overflow')
    assert.equal(long.iterations, 0)
    const refused = new ModelFailure('too long', { reason: 'context-overflow' })
    const other = agentWorld({ model: scriptedModel(refused) })
    assert.equal((await runTurn(other.world, other.input)).stopReason, 'context-overflow')
  })

  it('model-error: a failure of the adapter, foreseen or not', async () => {
    for (const error of [new ModelFailure('500'), new TypeError('oops')]) {
      const { world, input } = agentWorld({ model: scriptedModel(error) })
      assert.equal((await runTurn(world, input)).stopReason, 'model-error')
    }
  })

  it('request-timeout: the call is aborted, and not only abandoned', async () => {
    let wasAborted = false
    const model = scriptedModel((_request, signal) => {
      signal.addEventListener('abort', () => {
        wasAborted = true
      })
      return new Promise(() => {})
    })
    const { world, input, clock } = agentWorld({ model, limits: { requestTimeoutMs: 50 } })
    const running = runTurn(world, input)
    await clock.advance(50)
    assert.equal((await running).stopReason, 'request-timeout')
    assert.ok(wasAborted)
  })
})

describe('a turn ends by what its surroundings say', () => {
  it('policy-denied and budget-exhausted: before a model call, and at an effect', async () => {
    const reasons = [
      ['subscription-paused', 'policy-denied'],
      ['over-budget: tenant tokens', 'budget-exhausted'],
    ] as const
    for (const [reason, expected] of reasons) {
      const model = scriptedModel({ text: 'never' })
      const before = agentWorld({ model, goOn: reason })
      assert.equal((await runTurn(before.world, before.input)).stopReason, expected)
      assert.equal(model.requests.length, 0)
      const tool = fakeTool({ name: 'send', effect: 'write' })
      const at = agentWorld({
        model: scriptedModel({ toolCalls: [callOf('send', { to: 'a' }), callOf('look', {})] }),
        tools: [tool],
        refuse: () => reason,
      })
      const result = await runTurn(at.world, at.input)
      assert.equal(result.stopReason, expected)
      assert.equal(tool.effects.size, 0)
      assert.deepEqual(orphansIn(at.items()), [])
      assert.deepEqual(
        result.calls.map(({ outcome }) => outcome),
        ['refused', 'refused'],
      )
    }
  })

  it('lease-lost and cancelled: the model call ends at once and nothing more is kept', async () => {
    for (const reason of ['lease-lost', 'cancelled'] as const) {
      const model = scriptedModel(() => new Promise(() => {}))
      const { world, input, stop, clock, items } = agentWorld({ model })
      const running = runTurn(world, input)
      await clock.advance(1)
      stop.abort(reason)
      assert.equal((await running).stopReason, reason)
      assert.equal(items().length, 1)
    }
  })

  it('asked: a sensitive tool waits for a person, and does not run', async () => {
    const tool = fakeTool({ name: 'wipe', effect: 'sensitive', target: () => 'disk' })
    const model = scriptedModel({ toolCalls: [callOf('wipe', { to: 'a' })] })
    const { world, input, items } = agentWorld({ model, tools: [tool] })
    const result = await runTurn(world, input)
    assert.equal(result.stopReason, 'asked')
    assert.deepEqual(result.question?.effect, { tool: 'wipe', target: 'disk' })
    assert.equal(tool.effects.size, 0)
    assert.deepEqual(orphansIn(items()), [])
  })
})

describe('what a turn sends', () => {
  it('forgets whole earlier turns before it forgets a call without its result', async () => {
    const store = memorySessions()
    const old = (text: string) =>
      ({ messageId: 'm0', at: 0, item: { role: 'user', text } }) as const
    const call = callOf('look', { to: 'x' })
    store.entries.push(
      old('first'),
      { messageId: 'm0', at: 0, item: { role: 'assistant', text: '', toolCalls: [call] } },
      { messageId: 'm0', at: 0, item: { role: 'tool', callId: call.id, text: 'y'.repeat(3000) } },
      old('second'),
    )
    const model = { ...scriptedModel({ text: 'ok' }), contextTokensMax: 5000 }
    const { world, input } = agentWorld({ model, store })
    assert.equal((await runTurn(world, input)).ok, true)
    const sent = model.requests[0]?.items ?? []
    assert.deepEqual(
      sent.map(({ text }) => text),
      ['second', 'Hello'],
    )
  })

  it('hands news over once and does not keep it', async () => {
    const model = scriptedModel({ text: 'ok' })
    const { world, input, items } = agentWorld({ model })
    const tells = { mode: 'next_turn' as const, operations: ['op1'] }
    const news = { tells, context: 'An operation ended.', text: 'Done.' }
    await runTurn(world, { ...input, news })
    assert.deepEqual(
      model.requests[0]?.items.map(({ text }) => text),
      ['An operation ended.', 'Hello'],
    )
    assert.ok(items().every(({ text }) => text !== 'An operation ended.'))
  })

  it('a turn tried again speaks last, and its news does not go to make room', async () => {
    const model = scriptedModel({ text: 'ok' })
    const { world, input, store } = agentWorld({ model: { ...model, contextTokensMax: 4500 } })
    const said = (messageId: string, item: ChatItem) =>
      store.entries.push({ messageId, item, at: 0 })
    said('m1', { role: 'user', text: 'Hello' })
    said('m2', { role: 'user', text: 'x'.repeat(2000) })
    said('m2', { role: 'assistant', text: 'Another answer', toolCalls: [] })
    const tells = { mode: 'next_turn' as const, operations: ['op1'] }
    const news = { tells, context: 'It ended.', text: 'Done.' }
    await runTurn(world, { ...input, news })
    const sent = model.requests[0]?.items.map(({ text }) => text) ?? []
    assert.deepEqual(sent.slice(-2), ['It ended.', 'Hello'])
    assert.ok(!sent.some(text => text.startsWith('xxx')))
    assert.deepEqual(store.entries.at(-1)?.tells, tells)
  })
})

describe('an answer that is watched', () => {
  it('shows an answer while it comes, and nothing of it once the answer is none', async () => {
    for (const end of [
      { isComplete: false },
      { refusal: 'No.', text: '' },
      { text: 'Half done.' },
    ]) {
      const shown: (string | undefined)[] = []
      const model: ChatModel = {
        ...scriptedModel({}),
        async complete(request, signal, onText) {
          onText?.('Half')
          onText?.('Half done.')
          return scriptedModel({ text: 'Half done.', ...end }).complete(request, signal)
        },
      }
      const { world, input, items } = agentWorld({ model })
      const onDraft = (text: string | undefined) => void shown.push(text)
      const { ok } = await runTurn({ ...world, onDraft }, input)
      assert.deepEqual(shown, ['Half', 'Half done.', undefined])
      assert.equal(items().filter(({ role }) => role === 'assistant').length, ok ? 1 : 0)
    }
  })

  it('a drip counts against the time of the request, and nothing is shown afterwards', async () => {
    const shown: (string | undefined)[] = []
    let drip: ((text: string) => void) | undefined
    const model: ChatModel = {
      ...scriptedModel({}),
      complete: (_request, _signal, onText) => {
        drip = onText
        onText?.('x')
        return new Promise(() => {})
      },
    }
    const { world, input, clock } = agentWorld({ model, limits: { requestTimeoutMs: 100 } })
    const onDraft = (text: string | undefined) => void shown.push(text)
    const running = runTurn({ ...world, onDraft }, input)
    await clock.advance(50)
    drip?.('xx')
    await clock.advance(50)
    assert.equal((await running).stopReason, 'request-timeout')
    drip?.('xxx')
    assert.deepEqual(shown, ['x', 'xx', undefined])
  })
})

describe('what is kept when a turn ends without a model', () => {
  it('a question outlives a crash before the mailbox heard of it', async () => {
    const model = scriptedModel({ toolCalls: [callOf('pay', { to: 'ana' })] })
    const tool = fakeTool({ name: 'pay', effect: 'sensitive' })
    const { world, input } = agentWorld({ model, tools: [tool] })
    const first = await runTurn(world, input)
    const second = await runTurn(world, input)
    assert.equal(second.stopReason, 'asked')
    assert.deepEqual(second.question, first.question)
    assert.equal(model.requests.length, 1)
  })

  it('answers at once when everything was accepted for later', async () => {
    const tool = fakeTool({ effect: 'write', run: async () => ({ accepted: 'x', reply: 'Soon.' }) })
    const model = scriptedModel({ toolCalls: looks(1) })
    const { world, input, items } = agentWorld({ model, tools: [tool] })
    const result = await runTurn(world, input)
    assert.equal(result.finalMessage, 'Soon.')
    assert.equal(model.requests.length, 1)
    assert.equal(items().at(-1)?.text, 'Soon.')
  })
})

/**
 * The process dies at each write of a turn in turn, and the message is tried again. A crash would
 * show as a call without a result, or as an effect under two keys.
 */
describe('a crash anywhere in a turn', () => {
  for (let crashAfter = 0; crashAfter < 8; crashAfter += 1) {
    it(`after ${crashAfter} writes leaves no orphan and no second effect`, async () => {
      const store = memorySessions()
      const tool = fakeTool({ effect: 'write' })
      const script = [{ toolCalls: looks(2) }, { text: 'Done.' }]
      const attempt = async (model = scriptedModel(...script)) => {
        const { world, input } = agentWorld({ model, tools: [tool], store })
        return runAgentTurn(world, input)
      }
      store.crashAfter = crashAfter
      await attempt().catch(() => {})
      assert.deepEqual(orphansIn(store.entries.map(({ item }) => item)), [])
      store.crashAfter = Number.POSITIVE_INFINITY
      const hasRun =
        store.entries.some(({ item }) => item.role === 'tool') || store.intents.size > 0
      const result = await attempt(hasRun ? scriptedModel({ text: 'Done.' }) : undefined)
      assert.equal(result.finalMessage, 'Done.')
      assert.deepEqual(orphansIn(store.entries.map(({ item }) => item)), [])
      assert.equal(store.entries.filter(({ item }) => item.role === 'user').length, 1)
      assert.equal(store.entries.filter(({ item }) => item.role === 'tool').length, 2)
      assert.equal(store.intents.size, 0)
      assert.deepEqual([...tool.effects.keys()].length, 2)
    })
  }
})
