/**
 * The open-loop driver: events in over HTTP, messages out of a mailbox, every event accounted for.
 * Loopback only; bounded in count and time.
 */
import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { KEY } from './children.ts'

export interface DriveOptions {
  /** Where events are published. */
  url: string
  /** Where messages are claimed. */
  claimUrl: string
  /** Whether claimed messages are completed; the bare chain has nothing to complete. */
  isCompleting: boolean
  agent: string
  type: string
  events: number
  /** Events per second; 0 sends as fast as answers come. */
  rate: number
  /** Events per request when saturating. */
  batch: number
  senders: number
  claimers: number
}

export interface DriveResult {
  sent: number
  received: number
  doubled: number
  lost: number
  /** Ms from the request's start to the claim's answer. */
  p50: number
  p99: number
  /** Received per second, from the first send to the last receipt. */
  perSecond: number
}

/** Sources that the load spreads over, and subscriptions that share them. */
const SOURCES = 64
const SUBSCRIPTIONS = 8
const agentPool = new Agent({ keepAlive: true, maxSockets: 64 })

/** One JSON request over a kept connection; rejects on anything but 2xx. */
export function call(
  method: 'GET' | 'POST' | 'PUT',
  url: string,
  body?: unknown,
  contentType = 'application/json',
): Promise<unknown> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const sized = { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      ...{ method, agent: agentPool },
      headers: { authorization: `Bearer ${KEY}`, ...(body === undefined ? {} : sized) },
    })
    request.on('error', reject)
    request.on('response', response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () => {
        const answer = Buffer.concat(chunks).toString()
        const status = response.statusCode ?? 0
        if (status >= 200 && status < 300) resolve(answer === '' ? null : JSON.parse(answer))
        else reject(new Error(`${method} ${url}: ${status} ${answer.slice(0, 300)}`))
      })
    })
    request.end(text)
  })
}

/** An agent with room for everything that is claimed at once. */
export async function putAgent(url: string, name: string): Promise<void> {
  await call('PUT', `${url}/v1/agents/${name}`, { maxConcurrentLeases: 1000 })
}

/** Makes the agent of a load, and subscriptions that share its sources and hear of its type. */
export async function subscribe(
  url: string,
  { agent, type, ...more }: { agent: string; type: string; condition?: object },
): Promise<void> {
  await putAgent(url, agent)
  const share = SOURCES / SUBSCRIPTIONS
  for (let n = 0; n < SUBSCRIPTIONS; n++) {
    const sources = Array.from({ length: share }, (_, k) => sourceOf(n * share + k))
    await call('POST', `${url}/v1/subscriptions`, {
      ...{ name: `${agent}-${n}`, agent, instruction: 'Measure.' },
      ...{ on: { types: [type], sources }, limits: { storm: null }, ...more },
    })
  }
}

const sourceOf = (n: number) => `/load/${n}`

interface Claimed {
  items: { message: { id: string; events: { id: string }[] }; lease: { handle: string } }[]
}

/** Sends and claims at once; resolves when all came out or nothing came for 20 s. */
export async function drive(options: DriveOptions): Promise<DriveResult> {
  const run = Date.now().toString(36)
  const sentAt = new Map<string, number>()
  const latencies: number[] = []
  const seen = new Map<string, number>()
  let lastReceipt = performance.now()
  let isDone = false
  const claimer = async () => {
    while (!isDone) {
      const body = { executor: 'load', leaseMs: 30_000, waitMs: 1000, max: 100 }
      const url = `${options.claimUrl}/v1/mailboxes/${options.agent}/claim`
      const { items } = (await call('POST', url, body)) as Claimed
      const now = performance.now()
      for (const { message } of items) {
        for (const { id } of message.events) {
          const start = sentAt.get(id)
          if (start === undefined) continue
          seen.set(id, (seen.get(id) ?? 0) + 1)
          latencies.push(now - start)
          lastReceipt = now
        }
      }
      if (!options.isCompleting) continue
      await Promise.all(
        items.map(({ message, lease }) =>
          call('POST', `${options.claimUrl}/v1/messages/${message.id}/complete`, {
            handle: lease.handle,
            result: { ok: true, stopReason: 'final-message' },
          }),
        ),
      )
    }
  }
  const claiming = Array.from({ length: options.claimers }, claimer)
  const begin = performance.now()
  await send(options, run, sentAt)
  while (seen.size < options.events && performance.now() - lastReceipt < 20_000) await delay(20)
  isDone = true
  await Promise.all(claiming)
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN
  const received = seen.size
  return {
    sent: options.events,
    received,
    doubled: [...seen.values()].filter(count => count > 1).length,
    lost: options.events - received,
    p50: at(0.5),
    p99: at(0.99),
    perSecond: received / ((lastReceipt - begin) / 1000),
  }
}

async function send(
  options: DriveOptions,
  run: string,
  sentAt: Map<string, number>,
): Promise<void> {
  const { url, events, rate, batch, senders } = options
  const begin = performance.now()
  let next = 0
  const sendFrom = async () => {
    while (next < events) {
      const first = next
      const size = rate > 0 ? 1 : Math.min(batch, events - first)
      next += size
      if (rate > 0) {
        const due = begin + (first * 1000) / rate
        const wait = due - performance.now()
        if (wait > 1) await delay(wait)
      }
      const list = Array.from({ length: size }, (_, n) => eventOf(options, run, first + n))
      const now = performance.now()
      for (const { id } of list) sentAt.set(id, now)
      const [only] = list
      const [body, type] = size === 1 ? [only, 'cloudevents'] : [list, 'cloudevents-batch']
      await call('POST', `${url}/v1/events`, body, `application/${type}+json`)
    }
  }
  await Promise.all(Array.from({ length: senders }, sendFrom))
}

/** Many sources, so that keys spread over the partitions. */
function eventOf({ type }: DriveOptions, run: string, index: number) {
  const id = `${run}-${index}`
  const data = { order: id, total: 129.9, text: 'order was updated by a customer in the shop' }
  return { specversion: '1.0', id, source: sourceOf(index % SOURCES), type, data }
}
