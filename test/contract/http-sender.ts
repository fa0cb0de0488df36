/**
 * What every HttpSender promises (H1 to H6 of the port), as one suite for all adapters. The
 * receiver is a local server, reached through an allowed origin; no other machine is called.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { type HttpSender, SendFailure, type SendFailureWord } from '#kernel/ports/http-sender.ts'

/** How a suite makes the sender under test. */
export type MakeSender = (options: {
  allowOrigins: string[]
  resolve(hostname: string): Promise<string[]>
}) => HttpSender

interface Receiver {
  origin: string
  close(): Promise<void>
}

const NAME = 'receiver.test'
const MINUTE = 60_000
const BODY = Buffer.from('{"a":"ü"}')

/** Listens on loopback; `origin` carries a name that only the stub DNS knows. */
async function receive(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Receiver> {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://${NAME}:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A receiver below HTTP, for answers that are none. */
async function receiveRaw(onSocket: (socket: Socket) => void): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const server = createTcpServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://${NAME}:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

const post = (url: string, timeoutMs = MINUTE) => ({
  ...{ url, method: 'POST', headers: { 'content-type': 'application/json' } },
  ...{ body: BODY, timeoutMs },
})

const failsWith = (word: SendFailureWord) => (error: unknown) =>
  error instanceof SendFailure && error.word === word && error.message === word

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** A sender that may call one receiver, whose name the stub DNS leads to loopback. */
const senderFor = (makeSender: MakeSender, { origin }: Receiver) =>
  makeSender({ allowOrigins: [origin], resolve: async () => ['127.0.0.1'] })

type Check = (makeSender: MakeSender) => Promise<void>

const exchanges: Record<string, Check> = {
  'sends method, path, headers and body as given': async makeSender => {
    const seen = Promise.withResolvers<{ request: IncomingMessage; body: Buffer }>()
    const receiver = await receive(async (request, response) => {
      seen.resolve({ request, body: await readAll(request) })
      response.writeHead(202, { 'X-Answer': 'yes' }).end('ignored')
    })
    try {
      const url = `${receiver.origin}/in/%C3%BC?x=1#fragment`
      const answer = await senderFor(makeSender, receiver).send(post(url))
      assert.equal(answer.status, 202)
      assert.equal(answer.headers['x-answer'], 'yes')
      const { request, body } = await seen.promise
      assert.deepEqual([request.method, request.url], ['POST', '/in/%C3%BC?x=1'])
      assert.equal(request.headers['content-type'], 'application/json')
      assert.equal(request.headers.host, new URL(receiver.origin).host)
      assert.deepEqual(body, BODY)
    } finally {
      await receiver.close()
    }
  },
  'H2 asks DNS at every call and connects to its answer': async makeSender => {
    const receiver = await receive((_request, response) => void response.end())
    const asked: string[] = []
    const sender = makeSender({
      allowOrigins: [receiver.origin],
      resolve: async hostname => {
        asked.push(hostname)
        return ['127.0.0.1']
      },
    })
    try {
      for (let call = 0; call < 2; call++) await sender.send(post(receiver.origin))
      assert.deepEqual(asked, [NAME, NAME])
    } finally {
      await receiver.close()
    }
  },
  'H3 a redirect is the answer, and nobody goes there': async makeSender => {
    const paths: string[] = []
    const receiver = await receive((request, response) => {
      paths.push(request.url ?? '')
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    try {
      const answer = await senderFor(makeSender, receiver).send(post(`${receiver.origin}/in`))
      assert.equal(answer.status, 307)
      assert.deepEqual(paths, ['/in'])
    } finally {
      await receiver.close()
    }
  },
  'any status is an answer': async makeSender => {
    const statuses = [200, 404, 429, 500, 503]
    const receiver = await receive((request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { 'retry-after': '7' }).end()
    })
    try {
      const sender = senderFor(makeSender, receiver)
      for (const status of statuses) {
        const answer = await sender.send(post(`${receiver.origin}/${status}`))
        assert.deepEqual([answer.status, answer.headers['retry-after']], [status, '7'])
      }
    } finally {
      await receiver.close()
    }
  },
}

const refusals: Record<string, Check> = {
  'H1 an address inside is refused before anybody is called': async makeSender => {
    let calls = 0
    const receiver = await receive((_request, response) => {
      calls += 1
      response.end()
    })
    const resolve = async () => ['127.0.0.1']
    const sender = makeSender({ allowOrigins: ['http://other.test:1'], resolve })
    try {
      await assert.rejects(sender.send(post(receiver.origin)), failsWith('not-https'))
      const secure = receiver.origin.replace('http:', 'https:')
      await assert.rejects(sender.send(post(secure)), failsWith('address-refused'))
      await assert.rejects(sender.check(secure), failsWith('address-refused'))
      assert.equal(calls, 0)
    } finally {
      await receiver.close()
    }
  },
  'a check connects to nobody': async makeSender => {
    let calls = 0
    const receiver = await receiveRaw(() => {
      calls += 1
    })
    try {
      await senderFor(makeSender, receiver).check(receiver.origin)
      assert.equal(calls, 0)
    } finally {
      await receiver.close()
    }
  },
  'H6 a receiver that is not there is a fixed word': async makeSender => {
    const receiver = await receive(() => {})
    await receiver.close()
    const call = senderFor(makeSender, receiver).send(post(receiver.origin))
    await assert.rejects(call, failsWith('connection-failed'))
  },
  'H6 a connection that is dropped is a fixed word': async makeSender => {
    const receiver = await receiveRaw(socket => socket.destroy())
    try {
      const call = senderFor(makeSender, receiver).send(post(receiver.origin))
      await assert.rejects(call, failsWith('connection-failed'))
    } finally {
      await receiver.close()
    }
  },
}

const hostile: Record<string, Check> = {
  'H4 a receiver that accepts and never answers ends the call in time': async makeSender => {
    const receiver = await receive(() => {})
    try {
      const call = senderFor(makeSender, receiver).send(post(receiver.origin, 50))
      await assert.rejects(call, failsWith('timeout'))
    } finally {
      await receiver.close()
    }
  },
  'H4 a head that drips ends the call in time': async makeSender => {
    const receiver = await receiveRaw(socket => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const drip = setInterval(() => socket.write('x: y\r\n'), 5)
      socket.once('close', () => clearInterval(drip))
    })
    try {
      const call = senderFor(makeSender, receiver).send(post(receiver.origin, 60))
      await assert.rejects(call, failsWith('timeout'))
    } finally {
      await receiver.close()
    }
  },
  'H5 a body that never ends is cut off, and its status counts': async makeSender => {
    const receiver = await receive((_request, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16 * 1024)));
      }
      response.on('drain', more)
      more()
    })
    try {
      const answer = await senderFor(makeSender, receiver).send(post(receiver.origin))
      assert.equal(answer.status, 200)
    } finally {
      await receiver.close()
    }
  },
  'H4 H5 a body that stops in the middle takes the status not back': async makeSender => {
    const receiver = await receive((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('x')
    })
    try {
      const answer = await senderFor(makeSender, receiver).send(post(receiver.origin, 400))
      assert.equal(answer.status, 200)
    } finally {
      await receiver.close()
    }
  },
  'H5 a head without bounds is refused': async makeSender => {
    const receiver = await receiveRaw(socket => {
      socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(64 * 1024)}\r\n\r\n`)
    })
    try {
      const call = senderFor(makeSender, receiver).send(post(receiver.origin))
      await assert.rejects(call, failsWith('answer-refused'))
    } finally {
      await receiver.close()
    }
  },
  'H6 an answer that is not HTTP is refused': async makeSender => {
    const receiver = await receiveRaw(socket => void socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    try {
      const call = senderFor(makeSender, receiver).send(post(receiver.origin))
      await assert.rejects(call, failsWith('answer-refused'))
    } finally {
      await receiver.close()
    }
  },
}

/** Asks for the body of an answer, of at most 100 bytes. */
const get = (url: string, timeoutMs = MINUTE) => ({
  ...{ url, method: 'GET', headers: {}, body: new Uint8Array(), timeoutMs },
  answerBytesMax: 100,
})

async function answersWith(
  makeSender: MakeSender,
  answer: (response: ServerResponse) => void,
  timeoutMs?: number,
) {
  const receiver = await receive((_request, response) => answer(response))
  try {
    return await senderFor(makeSender, receiver).send(get(receiver.origin, timeoutMs))
  } finally {
    await receiver.close()
  }
}

const bodies: Record<string, Check> = {
  'H5 gives the body that was asked for, as it came': async makeSender => {
    const { status, body } = await answersWith(makeSender, response => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(BODY)
    })
    assert.equal(status, 200)
    assert.deepEqual(Buffer.from(body ?? []), BODY)
  },
  'H5 an empty body is one': async makeSender => {
    const { status, body } = await answersWith(makeSender, response => {
      response.writeHead(304).end()
    })
    assert.deepEqual([status, body?.length], [304, 0])
  },
  'H5 a body above its bound is refused': async makeSender => {
    const call = answersWith(makeSender, response => void response.end(Buffer.alloc(101)))
    await assert.rejects(call, failsWith('answer-too-large'))
  },
  'H5 a body that breaks off is no answer': async makeSender => {
    const call = answersWith(makeSender, response => {
      response.writeHead(200, { 'content-length': '50' }).write('x')
      setTimeout(() => response.destroy(), 20)
    })
    await assert.rejects(call, failsWith('connection-failed'))
  },
  'H4 a body that never ends ends the call in time': async makeSender => {
    const call = answersWith(
      makeSender,
      response => void response.writeHead(200, { 'content-length': '50' }).write('x'),
      200,
    )
    await assert.rejects(call, failsWith('timeout'))
  },
}

/** Declares the whole suite for one adapter. */
export function httpSenderContract(name: string, makeSender: MakeSender): void {
  describe(`${name} keeps the HttpSender contract`, () => {
    for (const [promise, check] of Object.entries({
      ...exchanges,
      ...refusals,
      ...hostile,
      ...bodies,
    })) {
      test(promise, () => check(makeSender))
    }
  })
}
