/**
 * The floor on Kafka: a chain of plain kafkajs clients with as many hops as the pipeline and no
 * logic. `bare-chain.ts door|hop|sink BROKERS PREFIX N`; each role is a process.
 *
 * door: HTTP in → `PREFIX.0`; hop N: `PREFIX.N` → `PREFIX.N+1`; sink N: `PREFIX.N` → HTTP out.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import kafkajs from 'kafkajs'

const ROLES = { door, hop, sink }
const [role = '', brokers = '', prefix = '', at = '0'] = process.argv.slice(2)
const topicAt = (n: number) => `${prefix}.${n}`
const kafka = new kafkajs.Kafka({
  clientId: `bare-${role}-${at}`,
  brokers: brokers.split(','),
  logLevel: kafkajs.logLevel.NOTHING,
})

async function producerOf() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  return producer
}

async function consume(handle: (topic: string, values: string[]) => Promise<void>) {
  const consumer = kafka.consumer({ groupId: `${prefix}-${role}-${at}` })
  await consumer.connect()
  await consumer.subscribe({ topic: topicAt(Number(at)), fromBeginning: true })
  await consumer.run({
    partitionsConsumedConcurrently: 12,
    eachBatch: async ({ batch }) => {
      await handle(
        batch.topic,
        batch.messages.map(({ value }) => value?.toString() ?? ''),
      )
    },
  })
}

function listen(handle: (body: string, response: ServerResponse) => void): void {
  const server = createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => handle(Buffer.concat(chunks).toString(), response))
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    process.stdout.write(`bare ${role} is ready on http://127.0.0.1:${port}\n`)
  })
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** Requests that came while a produce was under way go into the next one, as in the product. */
async function door(): Promise<void> {
  const producer = await producerOf()
  let waiting: { events: { id: string }[]; response: ServerResponse }[] = []
  let isSending = false
  const send = async () => {
    isSending = true
    while (waiting.length > 0) {
      const taken = waiting
      waiting = []
      const messages = taken.flatMap(({ events }) =>
        events.map(event => ({ key: event.id, value: JSON.stringify(event) })),
      )
      await producer.send({ topic: topicAt(0), acks: -1, messages })
      for (const { response } of taken) answer(response, 202, {})
    }
    isSending = false
  }
  listen((body, response) => {
    const parsed = JSON.parse(body) as { id: string } | { id: string }[]
    waiting.push({ events: Array.isArray(parsed) ? parsed : [parsed], response })
    if (!isSending) void send()
  })
}

async function hop(): Promise<void> {
  const producer = await producerOf()
  await consume(async (_topic, values) => {
    const messages = values.map(value => ({ key: (JSON.parse(value) as { id: string }).id, value }))
    await producer.send({ topic: topicAt(Number(at) + 1), acks: -1, messages })
  })
  listen((_body, response) => answer(response, 200, {}))
}

async function sink(): Promise<void> {
  const held: unknown[] = []
  const claims: (() => void)[] = []
  await consume(async (_topic, values) => {
    for (const value of values) held.push(JSON.parse(value))
    for (const wake of claims.splice(0)) wake()
  })
  listen((_body, response) => {
    const reply = () => {
      const items = held.splice(0, 100).map(event => ({
        message: { id: '', events: [event] },
        lease: { handle: '' },
      }))
      answer(response, 200, { items })
    }
    if (held.length > 0) reply()
    else {
      const late = setTimeout(() => wake(), 1000)
      const wake = () => {
        clearTimeout(late)
        if (!response.writableEnded) reply()
      }
      claims.push(wake)
    }
  })
}

await ROLES[role as keyof typeof ROLES]()
