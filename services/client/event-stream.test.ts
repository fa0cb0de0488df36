import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { problem, scriptedServer } from '#test/support/scripted-server.ts'
import { createClient } from './create-client.ts'
import { readEventStream } from './event-stream.ts'

const impatient = { now: () => performance.now(), sleep: async () => {} }

function bodyOf(...chunks: string[]): ReadableStream<Uint8Array> {
  const bytes = chunks.map(chunk => new TextEncoder().encode(chunk))
  return new ReadableStream({
    start(controller) {
      for (const chunk of bytes) controller.enqueue(chunk)
      controller.close()
    },
  })
}

describe('the event stream format', () => {
  it('joins data lines, ignores comments and drops an unfinished event', async () => {
    const body = bodyOf(
      ': hello\nid: 1\nevent: decision\ndata: {"a":\ndata: 1}\n\n',
      'data: plain\r',
      '\n\r\nretry: 50\ndata: unfinished',
    )
    assert.deepEqual(await Array.fromAsync(readEventStream(body)), [
      { type: 'decision', id: '1', data: { a: 1 } },
      { type: 'message', id: '1', data: 'plain' },
      { retryMs: 50 },
    ])
  })
})

describe('the stream', () => {
  it('goes on after the last event when the connection breaks', async () => {
    const server = await scriptedServer(({ headers }) => response => {
      const id = Number(headers['last-event-id'] ?? '0') + 1
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`id: ${id}\ndata: ${id}\n\n`, () => response.destroy())
    })
    try {
      const seen: unknown[] = []
      const lost: unknown[] = []
      const client = createClient({ url: server.url, clock: impatient })
      const onReconnect = (error: unknown) => lost.push(error)
      for await (const { data } of client.stream({ onReconnect })) {
        if (seen.push(data) === 3) break
      }
      assert.deepEqual(seen, [1, 2, 3])
      assert.equal(lost.length, 2)
    } finally {
      await server.close()
    }
  })

  it('ends quietly when its signal aborts', async () => {
    const server = await scriptedServer(() => response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
    })
    try {
      const stop = new AbortController()
      const seen: unknown[] = []
      const client = createClient({ url: server.url })
      for await (const { data } of client.stream({ signal: stop.signal })) {
        seen.push(data)
        stop.abort()
      }
      assert.deepEqual(seen, [1])
    } finally {
      await server.close()
    }
  })

  it('rejects where it is refused', async () => {
    const server = await scriptedServer(() => problem(401, 'unauthenticated'))
    try {
      const stream = createClient({ url: server.url, clock: impatient }).stream()
      await assert.rejects(stream.next(), { status: 401, code: 'unauthenticated' })
    } finally {
      await server.close()
    }
  })
})
