import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  problem,
  type ScriptedAnswer,
  type ScriptedRequest,
  type ScriptedServer,
  scriptedServer,
} from '#test/support/scripted-server.ts'
import { type SteppedClock, steppedClock } from '#test/support/stepped-clock.ts'
import { PermanentError, RunFailure } from './client-error.ts'
import { type Client, createClient } from './create-client.ts'
import type { Handler, WorkEvent } from './handle-message.ts'
import type { WorkOptions } from './work-mailbox.ts'

const LEASE_MS = 30_000
/** With a spread of 1; it doubles. */
const FIRST_BACKOFF_MS = 200

/** A mailbox with the given messages; `answers` replaces single routes by their last word. */
interface World {
  server: ScriptedServer
  clock: SteppedClock
  client: Client
  events: WorkEvent[]
  stop: AbortController
  work(handler: Handler, options?: Partial<WorkOptions>): Promise<void>
  bodies(verb: string): unknown[]
}

type Answers = Record<string, (request: ScriptedRequest) => ScriptedAnswer>

let open: ScriptedServer | undefined
afterEach(() => open?.close())

async function world(messages: string[], answers: Answers = {}): Promise<World> {
  const waiting = [...messages]
  const server = await scriptedServer(request => {
    const verb = request.path.split('/').at(-1) ?? ''
    const scripted = answers[verb]?.(request)
    if (scripted) return scripted
    if (verb === 'claim') return claim(waiting, request)
    if (verb === 'renew') return { body: { lease: leaseOf('renewed') } }
    if (verb === 'events') return { status: 202, body: { accepted: [] } }
    return { body: { id: 'm', state: verb === 'complete' ? 'done' : 'queued', attempts: 1 } }
  })
  open = server
  const clock = steppedClock()
  const client = createClient({ url: server.url, key: 'k', clock, random: () => 1 })
  const stop = new AbortController()
  const events: WorkEvent[] = []
  return {
    ...{ server, clock, client, events, stop },
    work: (handler, options = {}) =>
      client.work('triage', handler, {
        ...{ executor: 'test', leaseMs: LEASE_MS, signal: stop.signal },
        onEvent: event => events.push(event),
        ...options,
      }),
    bodies: verb =>
      server.requests.filter(({ path }) => path.endsWith(`/${verb}`)).map(({ body }) => body),
  }
}

/** Hands out what is there; a claim that finds nothing waits, as a long poll does. */
function claim(waiting: string[], { body }: ScriptedRequest): ScriptedAnswer {
  const { max } = body as { max: number }
  const ids = waiting.splice(0, max)
  if (ids.length === 0) return 'hang'
  return {
    body: {
      items: ids.map(id => ({ message: { id }, lease: leaseOf('first'), attempt: 1 })),
    },
  }
}

function leaseOf(handle: string) {
  return { token: 17, handle, expiresAt: '2026-01-01T00:00:30Z' }
}

/** Runs until the first message was settled, asked or lost, then drains. */
async function untilReported({ work, stop }: World, handler: Handler): Promise<WorkEvent> {
  const { promise, resolve } = Promise.withResolvers<WorkEvent>()
  const working = work(handler, { onEvent: resolve })
  const event = await promise
  stop.abort()
  await working
  return event
}

describe('an executor settles', () => {
  it('completes with what the handler returned', async () => {
    const test = await world(['m1'])
    const result = { ok: true, stopReason: 'final-message', output: 'hello' }
    const event = await untilReported(test, async () => result)
    assert.deepEqual(event, { kind: 'settled', messageId: 'm1', state: 'done' })
    assert.deepEqual(test.bodies('complete'), [{ handle: 'first', result }])
  })

  it('fails for another attempt when the handler throws', async () => {
    const test = await world(['m1'])
    await untilReported(test, async () => {
      throw new TypeError('no such ticket')
    })
    const error = { code: 'TypeError', message: 'no such ticket' }
    assert.deepEqual(test.bodies('fail'), [{ handle: 'first', error, retryable: true }])
  })

  it('fails with the result of the run when the handler throws a RunFailure', async () => {
    const test = await world(['m1'])
    const result = { ok: false, stopReason: 'model-error', usage: { inputTokens: 7 } }
    await untilReported(test, async () => {
      throw new RunFailure('model-error', 'no answer', result)
    })
    const error = { code: 'model-error', message: 'no answer' }
    assert.deepEqual(test.bodies('fail'), [{ handle: 'first', error, retryable: true, result }])
  })

  it('fails for good when the handler throws a PermanentError', async () => {
    const test = await world(['m1'])
    await untilReported(test, async () => {
      throw new PermanentError('the account is closed')
    })
    const [body] = test.bodies('fail') as { retryable: boolean }[]
    assert.equal(body?.retryable, false)
  })

  it('fails for good when the result is refused, instead of doing the work again', async () => {
    const test = await world(['m1'], { complete: () => problem(422, 'invalid') })
    await untilReported(test, async () => undefined)
    const [body] = test.bodies('fail') as { retryable: boolean; error: { code: string } }[]
    assert.equal(body?.retryable, false)
    assert.equal(body?.error.code, 'invalid')
  })

  it('settles nothing after a question to a person', async () => {
    const test = await world(['m1'])
    const event = await untilReported(test, async (_message, { ask }) => {
      await ask({ question: 'Refund 12 EUR?', options: ['yes', 'no'] })
      return undefined
    })
    assert.deepEqual(event, { kind: 'asked', messageId: 'm1' })
    assert.equal(test.bodies('complete').length + test.bodies('fail').length, 0)
  })

  it('repeats a settlement whose answer was lost', async () => {
    let lost = 0
    const test = await world(['m1'], {
      complete: () => (lost++ < 1 ? 'cut' : { body: { id: 'm1', state: 'done', attempts: 1 } }),
    })
    const { promise, resolve } = Promise.withResolvers<WorkEvent>()
    const working = test.work(async () => undefined, { onEvent: resolve })
    await passing(test.clock, FIRST_BACKOFF_MS)
    assert.deepEqual(await promise, { kind: 'settled', messageId: 'm1', state: 'done' })
    test.stop.abort()
    await working
  })
})

/** Moves time on once somebody sleeps for exactly that long. */
async function passing(clock: SteppedClock, ms: number): Promise<void> {
  await clock.sleeping(ms)
  clock.advance(ms)
}

describe('an executor keeps its lease', () => {
  it('renews at a third of the lease while the handler runs, with the newest handle', async () => {
    const test = await world(['m1'])
    const finish = Promise.withResolvers<undefined>()
    const working = test.work(() => finish.promise)
    for (const nth of [1, 2]) {
      await passing(test.clock, LEASE_MS / 3)
      await test.server.asked('POST /v1/messages/m1/renew', nth)
    }
    // The second renewal was sent with the handle of the first answer.
    assert.deepEqual(test.bodies('renew'), [
      { handle: 'first', leaseMs: LEASE_MS },
      { handle: 'renewed', leaseMs: LEASE_MS },
    ])
    finish.resolve(undefined)
    await test.server.asked('POST /v1/messages/m1/complete')
    assert.equal((test.bodies('complete')[0] as { handle: string }).handle, 'renewed')
    test.stop.abort()
    await working
  })

  it('aborts the handler on a stale lease, and settles nothing', async () => {
    const test = await world(['m1'], { renew: () => problem(409, 'stale-lease') })
    const working = untilReported(test, (_message, { signal }) => aborted(signal))
    await passing(test.clock, LEASE_MS / 3)
    const event = await working
    assert.equal(event.kind, 'lost')
    assert.equal(event.kind === 'lost' && (event.error as { code: string }).code, 'stale-lease')
    assert.equal(test.bodies('complete').length + test.bodies('fail').length, 0)
  })

  // A server that hangs must not let a handler work beyond its lease: somebody else has it then.
  it('takes the lease as lost at its end when no renewal is answered', async () => {
    const test = await world(['m1'], { renew: () => 'hang' })
    let abortedAt = 0
    const working = untilReported(test, async (_message, { signal }) => {
      await aborted(signal).catch(() => undefined)
      abortedAt = test.clock.now()
      return undefined
    })
    // Waits and unanswered renewals in turn, until nothing of the lease is left.
    const steps = [LEASE_MS / 3, 7500, FIRST_BACKOFF_MS, 7500, 2 * FIRST_BACKOFF_MS, 4400]
    for (const ms of steps) await passing(test.clock, ms)
    assert.equal((await working).kind, 'lost')
    assert.equal(abortedAt, LEASE_MS)
  })

  it('goes on when a renewal failed once', async () => {
    let asked = 0
    const test = await world(['m1'], {
      renew: () =>
        asked++ === 0 ? problem(503, 'store-unavailable') : { body: { lease: leaseOf('second') } },
    })
    const finish = Promise.withResolvers<undefined>()
    const working = test.work(() => finish.promise)
    await passing(test.clock, LEASE_MS / 3)
    await passing(test.clock, FIRST_BACKOFF_MS)
    await test.clock.sleeping(LEASE_MS / 3)
    finish.resolve(undefined)
    await test.server.asked('POST /v1/messages/m1/complete')
    test.stop.abort()
    await working
    assert.equal(test.events[0]?.kind, 'settled')
  })
})

/** A handler's work that ends only when it is told to. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

describe('an executor publishes', () => {
  it('under its lease, so that lineage is carried', async () => {
    const test = await world(['m1'])
    await untilReported(test, async (_message, { emit }) => {
      await emit({ source: '/triage', type: 'com.shop.ticket.answered' })
      return undefined
    })
    const sent = test.server.requests.find(({ path }) => path === '/v1/events')
    assert.equal(sent?.headers['ambit-lease'], 'first')
  })
})

describe('an executor claims', () => {
  it('never more than it may work on at once', async () => {
    const test = await world(['m1', 'm2', 'm3'])
    const gates = new Map<string, () => void>()
    const working = test.work(
      ({ id }) => new Promise(resolve => gates.set(id, () => resolve(undefined))),
      { concurrency: 2 },
    )
    await test.server.asked('POST /v1/mailboxes/triage/claim')
    await untilSize(gates, 2)
    gates.get('m1')?.()
    await test.server.asked('POST /v1/mailboxes/triage/claim', 2)
    assert.deepEqual(
      test.bodies('claim').map(body => (body as { max: number }).max),
      [2, 1],
    )
    await untilSize(gates, 3)
    test.stop.abort()
    for (const release of gates.values()) release()
    await working
    assert.equal(test.events.length, 3)
  })

  it('waits and asks again while the server is away', async () => {
    let asked = 0
    const test = await world(['m1'], {
      claim: () => (asked++ < 2 ? problem(503, 'not-ready') : undefined) as ScriptedAnswer,
    })
    const working = test.work(async () => undefined)
    await passing(test.clock, FIRST_BACKOFF_MS)
    await passing(test.clock, 2 * FIRST_BACKOFF_MS)
    await test.server.asked('POST /v1/messages/m1/complete')
    test.stop.abort()
    await working
    assert.deepEqual(
      test.events.map(({ kind }) => kind),
      ['claim-failed', 'claim-failed', 'settled'],
    )
  })

  it('rejects when its credential is refused', async () => {
    const test = await world([], { claim: () => problem(403, 'forbidden') })
    await assert.rejects(
      test.work(async () => undefined),
      { status: 403, code: 'forbidden' },
    )
  })
})

async function untilSize(map: Map<string, unknown>, size: number): Promise<void> {
  while (map.size < size) await new Promise(resolve => setImmediate(resolve))
}

describe('an executor drains', () => {
  it('stops claiming, lets running work finish and settles it', async () => {
    const test = await world(['m1'])
    const started = Promise.withResolvers<undefined>()
    const finish = Promise.withResolvers<undefined>()
    const working = test.work(async () => {
      started.resolve(undefined)
      return finish.promise
    })
    await started.promise
    test.stop.abort()
    finish.resolve(undefined)
    await working
    assert.deepEqual(test.events, [{ kind: 'settled', messageId: 'm1', state: 'done' }])
    assert.equal(test.bodies('claim').length, 1)
  })

  it('gives up a waiting claim at once', async () => {
    const test = await world([])
    const working = test.work(async () => undefined)
    const request = await test.server.asked('POST /v1/mailboxes/triage/claim')
    test.stop.abort()
    await working
    await request.gone
    assert.deepEqual(test.events, [])
  })

  it('aborts handlers after the drain time and gives their messages back', async () => {
    const test = await world(['m1'])
    const started = Promise.withResolvers<undefined>()
    const working = test.work(
      (_message, { signal }) => {
        started.resolve(undefined)
        return aborted(signal)
      },
      { drainMs: 5000 },
    )
    await started.promise
    test.stop.abort()
    await passing(test.clock, 5000)
    await working
    const [body] = test.bodies('fail') as { retryable: boolean }[]
    assert.equal(body?.retryable, true)
  })
})
