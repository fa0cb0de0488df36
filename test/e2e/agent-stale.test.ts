/**
 * An executor that slept through its lease, as a stopped process or a paused machine does: it does
 * not know, and everything that it then tries is refused.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ChatModel } from '#kernel/ports/chat-model.ts'
import { createAgentHandler } from '#services/agent/executor/agent-executor.ts'
import { createToolRegistry } from '#services/agent/tools/tool-registry.ts'
import { isClientError } from '#services/client/client-error.ts'
import { createClient } from '#services/client/create-client.ts'
import type { WorkEvent } from '#services/client/handle-message.ts'
import {
  callOf,
  fakeTool,
  LIMITS,
  memorySessions,
  scriptedModel,
} from '#test/support/agent-world.ts'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { memoryOperations } from '#test/support/chat-world.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'

const LEASE_MS = 1000

let host: HostProcess
let api: Api
before(async () => {
  host = await startHost('embedded', { env: { AGENT_ENABLED: 'false' } })
  api = createApi(host.url, host.key)
})
after(() => host.stop())

/** Time that stands still: no renewal comes due, and no deadline passes. */
const stopped = {
  now: () => 0,
  sleep: (_ms: number, signal?: AbortSignal) =>
    new Promise<void>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    }),
}

function executorWith(model: ChatModel, tool: ReturnType<typeof fakeTool>) {
  const sessions = memorySessions()
  const handler = createAgentHandler({
    ...{ agent: 'sleeper', model, sessionsUnder: () => sessions, limits: LIMITS, prices: [] },
    ...{ operations: memoryOperations(), registry: createToolRegistry([tool]) },
    connectorTools: async () => [],
    clock: { ...stopped, date: () => 0 },
    rules: { isAllowed: () => true, isSensitiveForbiddenWhenWoken: false },
    waitingMessages: async () => [],
    askClosing: async () => {},
    record() {},
  })
  const client = createClient({ url: host.url, key: host.key, clock: stopped })
  const stop = new AbortController()
  const events: WorkEvent[] = []
  const working = client.work('sleeper', handler, {
    ...{ executor: 'sleeper-1', leaseMs: LEASE_MS, signal: stop.signal },
    onEvent: event => events.push(event),
  })
  return {
    events,
    end() {
      stop.abort()
      return working
    },
  }
}

describe('an executor that wakes after its lease', () => {
  it('runs no tool and settles nothing; the next holder does both', async () => {
    const woken = Promise.withResolvers<void>()
    const asleep = Promise.withResolvers<void>()
    const tool = fakeTool({ name: 'pay', effect: 'write' })
    const model = scriptedModel(async () => {
      asleep.resolve()
      await woken.promise
      return { toolCalls: [callOf('pay', { to: 'ana' })] }
    })
    const { events, end } = executorWith(model, tool)
    const turn = { session: 's1', kind: 'turn', input: { text: 'Pay.' } }
    const path = '/v1/mailboxes/sleeper/continuations'
    const { id } = await api.ok<{ id: string }>('POST', path, turn)
    await asleep.promise
    const [next] = await api.claim('sleeper', { executor: 'awake' })
    assert.equal(next?.message.id, id)
    assert.equal(next?.attempt, 2)
    woken.resolve()
    const lost = await eventually('the end', async () =>
      events.find(event => event.kind === 'lost'),
    )
    assert.equal(lost.messageId, id)
    assert.ok(isClientError(lost.error))
    assert.equal(lost.error.code, 'stale-lease')
    assert.equal(tool.effects.size, 0)
    assert.equal(model.requests.length, 1)
    assert.equal((await api.call('GET', `/v1/messages/${id}`)).json.state, 'leased')
    assert.ok(next)
    assert.equal((await api.complete(next)).status, 200)
    await end()
  })

  it('is refused at every door, and told who holds the message now', async () => {
    const turn = { session: 's2', kind: 'turn', input: { text: 'Pay.' } }
    await api.ok('POST', '/v1/mailboxes/drowsy/continuations', turn)
    const [first] = await api.claim('drowsy', { leaseMs: LEASE_MS })
    const [next] = await api.claim('drowsy', { executor: 'awake' })
    assert.ok(first && next)
    assert.equal(next.message.id, first.message.id)
    assert.ok(next.lease.token > first.lease.token)
    const { handle } = first.lease
    const doors: Record<string, object> = {
      authorize: { effect: { tool: 'pay', class: 'write' } },
      renew: { leaseMs: LEASE_MS },
      ask: { question: 'May I?' },
      fail: { error: 'late', retryable: false },
      complete: { result: { ok: true, stopReason: 'final-message' } },
    }
    for (const [door, body] of Object.entries(doors)) {
      const answer = await api.call('POST', `/v1/messages/${first.message.id}/${door}`, {
        body: { handle, ...body },
      })
      assert.deepEqual([door, answer.status, answer.json.code], [door, 409, 'stale-lease'])
      assert.match(answer.text, new RegExp(`\\b${next.lease.token}\\b`))
    }
    assert.equal((await api.complete(next)).status, 200)
  })
})
