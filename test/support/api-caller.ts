/** Calls the HTTP API as a stranger would: plain requests, asserted answers, polled outcomes. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page, Subscription } from '#services/client/api.ts'
import type { Decision } from '#services/client/api-history.ts'
import type { ClaimedMessage, Message } from '#services/client/api-mailbox.ts'

const POLL_MS = 40
const OUTCOME_WITHIN_MS = 30_000
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** The body as JSON, unchecked; `undefined` where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on answers of any shape.
  json: any
}

export interface CallOptions {
  /** Bytes or text go as they are; anything else as JSON. */
  body?: unknown
  /** A list is a repeated header. */
  headers?: Record<string, string | string[]>
}

export interface Api {
  url: string
  key: string
  /** The same host with another credential; an empty one sends none. */
  as(key: string): Api
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Like `call`, and asserts a 2xx; the body as JSON. */
  ok<T>(method: string, path: string, body?: unknown): Promise<T>
  /** Publishes structured events in one batch; `specversion` and `id` are filled in. */
  publish(...events: Record<string, unknown>[]): Promise<string[]>
  claim(agent: string, options?: ClaimOptions): Promise<ClaimedMessage[]>
  complete(item: ClaimedMessage, result?: Record<string, unknown>): Promise<Answer>
  /** Waits for the decision of an event by a subscription, and for that fate where one is given. */
  decision(subscription: string, event: string, fate?: string): Promise<Decision>
  decisions(query: Record<string, string>): Promise<Decision[]>
  subscription(id: string): Promise<Subscription>
  /** Messages of a mailbox, all pages. */
  messages(agent: string, state?: string): Promise<Message[]>
}

interface ClaimOptions {
  executor?: string
  leaseMs?: number
  waitMs?: number
  max?: number
}

/** An API of one host under one credential. */
export function createApi(url: string, key: string): Api {
  const call = (method: string, path: string, options: CallOptions = {}) =>
    send(`${url}${path}`, method, {
      ...options,
      headers: { ...(key ? { authorization: `Bearer ${key}` } : {}), ...options.headers },
    })
  const ok = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await call(method, path, { body })
    const isGood = answer.status >= 200 && answer.status < 300
    assert.ok(isGood, `${method} ${path}: ${answer.status} ${answer.text.slice(0, 600)}`)
    const link: unknown = answer.status === 202 ? answer.json?.status : undefined
    return String(link).startsWith('/v1/changes/') ? outcomeOf<T>(call, String(link)) : answer.json
  }
  const decisions = async (query: Record<string, string>) =>
    (await ok<Page<Decision>>('GET', `/v1/decisions?${new URLSearchParams(query)}`)).items
  return {
    ...{ url, key, call, ok, decisions },
    as: other => createApi(url, other),
    async publish(...events) {
      const whole = events.map(event => ({ specversion: '1.0', id: randomUUID(), ...event }))
      const headers = { 'content-type': 'application/cloudevents-batch+json' }
      const body = JSON.stringify(whole)
      const answer = await call('POST', '/v1/events', { body, headers })
      assert.equal(answer.status, 202, answer.text)
      return whole.map(({ id }) => id)
    },
    async claim(mailbox, options = {}) {
      const body = { executor: 'e2e', leaseMs: 60_000, waitMs: 20_000, ...options }
      const path = `/v1/mailboxes/${mailbox}/claim`
      return (await ok<{ items: ClaimedMessage[] }>('POST', path, body)).items
    },
    complete: ({ message, lease }, result = {}) =>
      call('POST', `/v1/messages/${message.id}/complete`, {
        body: { handle: lease.handle, result: { ok: true, stopReason: 'end_turn', ...result } },
      }),
    decision: (subscription, event, fate) =>
      eventually(`${fate ?? 'a fate'} of ${event}`, async () => {
        const [found] = await decisions({ subscription, event })
        return found && (fate === undefined || found.fate === fate) ? found : `saw ${found?.fate}`
      }),
    subscription: id => ok('GET', `/v1/subscriptions/${id}`),
    messages: (mailbox, state) => allMessages(ok, mailbox, state),
  }
}

/** A change that took longer than a caller waits is told by its link. */
function outcomeOf<T>(call: Api['call'], link: string): Promise<T> {
  return eventually(`the outcome of ${link}`, async () => {
    const { status, json } = await call('GET', link)
    if (status === 202) return 'still pending'
    assert.ok(json.status < 300, JSON.stringify(json))
    return json.body
  })
}

async function allMessages(ok: Api['ok'], mailbox: string, state?: string): Promise<Message[]> {
  const found: Message[] = []
  let cursor: string | null | undefined
  do {
    const query = new URLSearchParams({ limit: '200' })
    if (state) query.set('state', state)
    if (cursor) query.set('cursor', cursor)
    const page = await ok<Page<Message>>('GET', `/v1/mailboxes/${mailbox}/messages?${query}`)
    found.push(...page.items)
    cursor = page.next
  } while (cursor)
  return found
}

/**
 * Asks again until the answer is a value; a text or `undefined` says why not yet.
 * Rejects with the last reason after `withinMs`.
 */
export async function eventually<T extends object>(
  what: string,
  ask: () => Promise<T | string | undefined>,
  withinMs = OUTCOME_WITHIN_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (typeof answer === 'object') return answer
    if (performance.now() > deadline)
      throw new Error(`Waited ${withinMs} ms for ${what}: ${answer}`)
    await sleep(POLL_MS)
  }
}

/** One request by node's own client, which keeps repeated and oddly spelled headers. */
function send(url: string, method: string, { body, headers = {} }: CallOptions): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const bytes = body === undefined ? undefined : Buffer.from(isRaw ? body : JSON.stringify(body))
  const isTyped = Object.keys(headers).some(name => name.toLowerCase() === 'content-type')
  const typed = body === undefined || isRaw || isTyped ? {} : { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, agent, headers: { ...typed, ...headers } }, answer => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          json: jsonOf(text),
        })
      })
    })
    sent.on('error', reject)
    sent.end(bytes)
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
