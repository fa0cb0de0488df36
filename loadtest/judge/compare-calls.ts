/**
 * What a day of events costs in model calls, tokens and money: Ambit's evaluator and the agent it
 * wakes, beside an agent that is woken for every event. Both ask the same server about the same
 * items with the same words; a real agent brings a longer prompt and several turns per event, which
 * would only add to the other side.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createOpenAiStructuredModel } from '#kernel/adapters/openai/structured-completion.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import type { StructuredModel } from '#kernel/ports/model.ts'
import { judgeItemOf } from '#services/evaluator/judge/judge-item.ts'
import { promptOf } from '#services/evaluator/judge/prompt.ts'
import { VERDICTS_JSON_SCHEMA } from '#services/evaluator/judge/verdict-schema.ts'
import { withHost } from '../pipeline/children.ts'
import { call, putAgent } from '../pipeline/drive.ts'
import {
  AGENT,
  type CountedModel,
  JUDGE,
  microsOf,
  PRICE_SETTINGS,
  startCountedModel,
  type Tally,
} from './counted-model.ts'
import { type ShopEvent, WATCHES } from './workload.ts'

const PER_SECOND = 100
const WAKES_AT_ONCE = 20
const QUIET_WITHIN_MS = 60_000

/** What one side spent on all events. */
export interface Spent {
  calls: number
  tokens: number
  money: number
}

export interface OurCalls {
  /** Judging, and the agent's calls for what was let through. */
  all: Spent
  judging: Spent
  /** How often the agent was woken. */
  woken: number
}

/** Plays the events to a host of their own; `batchMax` bounds the items of one judging call. */
export async function countOurs(
  events: readonly ShopEvent[],
  { batchMax, answerMs }: { batchMax: number; answerMs: number },
): Promise<OurCalls> {
  return withServer(answerMs, async server => {
    const delivered = await playToAmbit(server, events, batchMax)
    await wakeAll(server, delivered)
    const judging = spent(JUDGE, server.tally(JUDGE))
    const waking = spent(AGENT, server.tally(AGENT))
    return { all: sum([judging, waking]), judging, woken: delivered.length }
  })
}

/** Wakes the agent for every event. */
export async function countTheirs(events: readonly ShopEvent[]): Promise<Spent> {
  return withServer(0, async server => {
    await wakeAll(
      server,
      events.map(event => [event]),
    )
    return spent(AGENT, server.tally(AGENT))
  })
}

async function withServer<T>(
  answerMs: number,
  work: (server: CountedModel) => Promise<T>,
): Promise<T> {
  const server = await startCountedModel({ answerMs, isMet })
  try {
    return await work(server)
  } finally {
    await server.close()
  }
}

function isMet(criterion: string, { text }: { text: string }): boolean {
  return WATCHES.some(watch => criterion.includes(watch.criterion) && watch.isMet(text))
}

async function wakeAll(server: CountedModel, messages: readonly CloudEvent[][]): Promise<void> {
  const model = createOpenAiStructuredModel({ baseUrl: server.baseUrl, apiKey: 'k' })
  for (let at = 0; at < messages.length; at += WAKES_AT_ONCE) {
    await Promise.all(messages.slice(at, at + WAKES_AT_ONCE).map(each => wake(model, each)))
  }
}

/** One call of an agent that was woken: all criteria of its events' type, and the events. */
async function wake(model: StructuredModel, events: readonly CloudEvent[]): Promise<void> {
  const types = new Set(events.map(({ type }) => type))
  const criteria = WATCHES.filter(({ type }) => types.has(type)).map(({ criterion }) => criterion)
  const items = events.map(event => judgeItemOf(event))
  const question = { criterion: criteria.join('; '), scope: 'each' as const, items }
  const result = await model.complete({
    ...promptOf(question, 'b'.repeat(32)),
    ...{ model: AGENT, schema: VERDICTS_JSON_SCHEMA, outputTokensMax: 600, timeoutMs: 30_000 },
  })
  if (result.kind !== 'answer') throw new Error(`the agent's call failed: ${result.reason}`)
}

/** Events in at a steady pace; answers those of each message that came out. */
async function playToAmbit(
  server: CountedModel,
  events: readonly ShopEvent[],
  batchMax: number,
): Promise<CloudEvent[][]> {
  const settings = {
    ...{ AMBIT_EVALUATOR_BASE_URL: server.baseUrl, AMBIT_EVALUATOR_API_KEY: 'k' },
    ...{ AMBIT_EVALUATOR_MODEL: JUDGE, ...PRICE_SETTINGS },
    AMBIT_EVALUATOR_BATCH_MAX: String(batchMax),
  }
  return withHost(
    () => settings,
    async ({ url }) => {
      await subscribe(url)
      const begin = performance.now()
      for (const [at, event] of events.entries()) {
        const waitMs = begin + (at * 1000) / PER_SECOND - performance.now()
        if (waitMs > 1) await delay(waitMs)
        await call('POST', `${url}/v1/events`, event, 'application/cloudevents+json')
      }
      await allDecided(url, expectedPairs(events))
      await checkUsage(url, server.tally(JUDGE))
      return claimAll(url)
    },
  )
}

async function subscribe(url: string): Promise<void> {
  await putAgent(url, 'bench')
  for (const { name, type, criterion, filters, cooldownMs } of WATCHES) {
    await call('POST', `${url}/v1/subscriptions`, {
      ...{ name, agent: 'bench', instruction: 'Act on it.', on: { types: [type] }, filters },
      condition: { criterion },
      limits: { cooldownMs, cooldownRule: 'drop', storm: null },
    })
  }
}

/** Pairs of an event and a subscription that takes it; a resent event is the same pair. */
function expectedPairs(events: readonly ShopEvent[]): number {
  const known = new Map(events.map(event => [event.id, event]))
  return [...known.values()].reduce((pairs, { type, data }) => {
    return pairs + WATCHES.filter(watch => watch.type === type && watch.takes(data)).length
  }, 0)
}

interface Page {
  items: { fate: string }[]
  next: string | null
}

async function allDecided(url: string, pairs: number): Promise<void> {
  const deadline = performance.now() + QUIET_WITHIN_MS
  for (;;) {
    const fates = await fatesOf(url)
    const waiting = fates.filter(fate => fate === 'held').length
    if (fates.length === pairs && waiting === 0) return failIfNotJudged(fates)
    if (performance.now() > deadline) {
      throw new Error(`expected ${pairs} decisions, got ${fates.length}, ${waiting} of them held`)
    }
    await delay(500)
  }
}

function failIfNotJudged(fates: readonly string[]): void {
  const failed = fates.filter(fate => fate === 'evaluation-failed' || fate === 'over-budget')
  if (failed.length > 0) throw new Error(`${failed.length} events were not judged`)
}

async function fatesOf(url: string): Promise<string[]> {
  const fates: string[] = []
  let cursor = ''
  do {
    const query = `limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const { items, next } = (await call('GET', `${url}/v1/decisions?${query}`)) as Page
    fates.push(...items.map(({ fate }) => fate))
    cursor = next ?? ''
  } while (cursor !== '')
  return fates
}

/** What Ambit says that it spent must be what the server was asked for. */
async function checkUsage(url: string, tally: Tally): Promise<void> {
  const { items } = (await call('GET', `${url}/v1/usage?by=tenant`)) as { items: Tally[] }
  const [row] = items
  for (const name of ['calls', 'inputTokens', 'outputTokens'] as const) {
    if (row?.[name] === tally[name]) continue
    throw new Error(`usage says ${row?.[name]} ${name}, the server counted ${tally[name]}`)
  }
}

async function claimAll(url: string): Promise<CloudEvent[][]> {
  const delivered: CloudEvent[][] = []
  for (;;) {
    const body = { executor: 'bench', leaseMs: 60_000, waitMs: 0, max: 100 }
    const { items } = (await call('POST', `${url}/v1/mailboxes/bench/claim`, body)) as {
      items: { message: { events: CloudEvent[] } }[]
    }
    if (items.length === 0) return delivered
    delivered.push(...items.map(({ message }) => message.events))
  }
}

const spent = (model: string, tally: Tally): Spent => ({
  calls: tally.calls,
  tokens: tally.inputTokens + tally.outputTokens,
  money: microsOf(model, tally) / 1_000_000,
})

function sum(parts: readonly Spent[]): Spent {
  const of = (name: keyof Spent) => parts.reduce((all, part) => all + part[name], 0)
  return { calls: of('calls'), tokens: of('tokens'), money: of('money') }
}
