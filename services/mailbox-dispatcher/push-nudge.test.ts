import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type Agent, defaultAgent } from '#kernel/domain/agent.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { SendFailure, type SendRequest } from '#kernel/ports/http-sender.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { createPushNudge, type PushNudge } from './push-nudge.ts'

const TENANT = 'acme'
const URL = 'https://executor.example.com/wake'

let clock: ManualClock
let agents: Map<string, Agent>
let sent: (SendRequest & { at: number })[]
let lines: object[]
let counts: Record<string, number>
let answer: () => Promise<{ status: number; headers: Record<string, string> }>
let nudge: PushNudge

beforeEach(() => {
  clock = createManualClock(1_700_000_000_000)
  agents = new Map()
  sent = []
  lines = []
  counts = {}
  answer = async () => ({ status: 204, headers: {} })
  withPush('triage')
  nudge = createPushNudge({
    sender: {
      send: request => {
        sent.push({ ...request, at: clock.now() })
        return answer()
      },
      check: async () => {},
    },
    directory: { agent: (_, id) => agents.get(id) },
    clock,
    logger: { ...silentLogger, warn: fields => void lines.push(fields) },
    count: outcome => {
      counts[outcome] = (counts[outcome] ?? 0) + 1
    },
  })
})

function withPush(id: string, more: Partial<Agent> = {}): void {
  agents.set(id, { ...defaultAgent(TENANT, id), push: { url: URL }, ...more })
}

function transition(agent: string, state = 'queued'): Output {
  const value = { tenant: TENANT, agent, state, messageId: 'm1', subscription: 'secret' }
  return { topic: 'mailbox.state', key: agent, id: 'm1/1/0', tenant: TENANT, value }
}

const pause = () => clock.advance(1000)

describe('a nudge', () => {
  it('tells only which mailbox has something', async () => {
    nudge.note([transition('triage')])
    await clock.advance(0)
    const [request] = sent
    assert.deepEqual(JSON.parse(Buffer.from(request?.body ?? []).toString()), {
      ...{ agent: 'triage', tenant: TENANT },
    })
    assert.deepEqual([request?.url, request?.method, request?.timeoutMs], [URL, 'POST', 2000])
    assert.ok(!('authorization' in (request?.headers ?? {})))
    assert.deepEqual(counts, { sent: 1 })
  })
  it('goes to agents with push alone, and only for what is queued', async () => {
    agents.set('quiet', defaultAgent(TENANT, 'quiet'))
    withPush('halted', { stopped: { reason: 'r', by: 'p', at: 't' } })
    const decision: Output = { ...transition('triage'), topic: 'decisions' }
    const tombstone = { ...transition('triage'), value: null }
    nudge.note([transition('quiet'), transition('halted'), transition('nobody')])
    nudge.note([transition('triage', 'leased'), decision, tombstone])
    await pause()
    assert.equal(sent.length, 0)
  })
  it('comes at once, and then at most once a second for all that came meanwhile', async () => {
    const start = clock.now()
    for (let count = 0; count < 50; count++) {
      nudge.note([transition('triage')])
      await clock.advance(50)
    }
    await clock.advance(5000)
    assert.deepEqual(
      sent.map(({ at }) => at - start),
      [0, 1000, 2000, 3000],
    )
  })
  it('one agent does not hold up another', async () => {
    withPush('other')
    answer = () => new Promise(() => {})
    nudge.note([transition('triage'), transition('other')])
    nudge.note([transition('triage'), transition('other')])
    await pause()
    assert.equal(sent.length, 2)
  })
  it('is given up when push was taken away meanwhile', async () => {
    nudge.note([transition('triage')])
    nudge.note([transition('triage')])
    agents.set('triage', defaultAgent(TENANT, 'triage'))
    await clock.advance(5000)
    assert.equal(sent.length, 1)
  })
  it('is skipped while too many agents are nudged', async () => {
    answer = () => new Promise(() => {})
    for (let id = 0; id < 1001; id++) {
      withPush(`a${id}`)
      nudge.note([transition(`a${id}`)])
    }
    await clock.advance(0)
    assert.equal(sent.length, 1000)
    assert.deepEqual(counts, { skipped: 1 })
  })
})

describe('a nudge that fails', () => {
  it('is counted, not tried again, and logged once a minute with a fixed word', async () => {
    answer = async () => {
      throw new SendFailure('address-refused')
    }
    for (let count = 0; count < 100; count++) {
      nudge.note([transition('triage')])
      await pause()
    }
    assert.deepEqual(counts, { failed: 100 })
    const last = { tenant: TENANT, agent: 'triage', failure: 'address-refused' }
    assert.deepEqual(lines, [
      { failures: 1, ...last },
      { failures: 60, ...last },
    ])
  })
  it('every status but 2xx is a failure, a redirect too', async () => {
    for (const status of [302, 404, 500]) {
      answer = async () => ({ status, headers: {} })
      nudge.note([transition('triage')])
      await pause()
    }
    assert.deepEqual(counts, { failed: 3 })
  })
})

describe('stopping', () => {
  it('waits for what is under way and begins nothing more', async () => {
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof answer>>>()
    answer = () => promise
    nudge.note([transition('triage')])
    nudge.note([transition('triage')])
    await clock.advance(0)
    let isStopped = false
    const stopping = nudge.stop().then(() => {
      isStopped = true
    })
    await clock.advance(0)
    assert.equal(isStopped, false)
    resolve({ status: 204, headers: {} })
    await stopping
    nudge.note([transition('triage')])
    await clock.advance(5000)
    assert.equal(sent.length, 1)
  })
})
