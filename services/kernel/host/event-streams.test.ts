import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Registry } from 'prom-client'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { createEventStreams, type SendEvent } from './event-streams.ts'
import { createHttpApp, type HttpApp } from './http-app.ts'

let app: HttpApp
let clock: ManualClock
let url: string
/** How to send to each reader, in the order in which they came. */
let sends: SendEvent[]
let stopped: PromiseWithResolvers<void>

beforeEach(async () => {
  app = await createHttpApp({
    ...{ logger: silentLogger, ids: { random: () => 'r' }, metrics: new Registry() },
    ...{ notReady: () => [], ratePerSecond: 0 },
  })
  clock = createManualClock(0)
  sends = []
  stopped = Promise.withResolvers()
  const streams = createEventStreams(app, clock)
  app.get('/stream', async (_request, reply) =>
    streams.answer(reply, send => {
      sends.push(send)
      send('hello', { n: 1 })
      return stopped.resolve
    }),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/stream`
})
afterEach(() => app.close())

/** A reader, and what it got until the text fits. */
async function connect() {
  const response = await fetch(url)
  assert.ok(response.body)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (pattern: RegExp) => {
    while (!pattern.test(text)) text += (await reader.read()).value ?? assert.fail('ended')
    return text
  }
  return { response, reader, until }
}

describe('a stream of events', () => {
  it('begins with what it is given, and goes on with what is sent', async () => {
    const { response, until } = await connect()
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    sends[0]?.('more', { text: 'two\nlines' })
    const text = await until(/more/)
    assert.match(text, /^event: hello\ndata: {"n":1}\n\n: beat\n\nevent: more\ndata: .*\n\n$/)
    assert.match(text, /data: {"text":"two\\nlines"}/)
  })

  it('keeps a silent connection open', async () => {
    const { until } = await connect()
    await until(/: beat\n\n/)
    await clock.advance(15_000)
    await until(/: beat\n\n: beat\n\n$/)
  })

  it('stops when the reader has gone', async () => {
    const { reader, until } = await connect()
    await until(/beat/)
    await reader.cancel()
    await stopped.promise
    sends[0]?.('late', {})
  })

  it('cuts off a reader that does not keep up', async () => {
    const { reader } = await connect()
    const large = 'x'.repeat(1024 * 1024)
    for (let sent = 0; sent < 64; sent += 1) sends[0]?.('large', large)
    await stopped.promise
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    })
  })

  it('ends when the process does', async () => {
    const { reader, until } = await connect()
    await until(/beat/)
    const closed = app.close()
    while (!(await reader.read()).done);
    await Promise.all([closed, stopped.promise])
  })
})
