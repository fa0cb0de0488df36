/**
 * Semantic conditions under load, judged by a scripted model that takes its time, while the
 * processes that ask it are killed, one after the other and both at once.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRedisStateStore } from '#kernel/adapters/redis/redis-state-store.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import { eventually } from '#test/support/api-caller.ts'
import type { Cluster } from '#test/support/cluster.ts'
import { type AskedModel, modelAnswer, modelServer } from '#test/support/model-server.ts'
import { askedItems, verdictFor } from '#test/support/scripted-judge.ts'
import { subscribe } from './change.ts'
import { type Drill, type DrillReport, onCluster, play } from './drill.ts'
import { untilNothingLost } from './findings.ts'
import { type FollowedTopics, followTopics } from './follow-topics.ts'
import { createJudgeLedger, type JudgeLedger, type ModelCall, TOKENS } from './judge-ledger.ts'
import type { Finding } from './ledger.ts'

const SIZE = { 'control-plane': 1, ingest: 1, guard: 1, evaluator: 2 }
const SUBSCRIPTIONS = 6
/** Events of one round; each batch has one for every subscription. */
const BATCHES = 24
const BATCH_EVERY_MS = 250
const MODEL_TAKES_MS = 400
/** How long nobody judges what was the victim's, besides what the broker needs to notice. */
const AWAY_MS = 2000
const RECOVER_MS = 60_000
const AGREE_MS = 15_000
const AGREE_EVERY_MS = 250

interface Self {
  cluster: Cluster
  ledger: JudgeLedger
  followed: FollowedTopics
  /** Ids of the subscriptions; the type of their events ends with their place. */
  subscriptions: string[]
  sent: number
}

/** Semantic conditions under `kill -9` of their evaluators. */
export const judgeDrill: Drill = {
  name: 'judge',
  does: 'kill -9 of evaluators while a model is asked',
  async run() {
    const ledger = createJudgeLedger()
    const server = await modelServer(asked => answer(ledger, asked))
    const env = {
      AMBIT_EVALUATOR_BASE_URL: server.baseUrl,
      AMBIT_EVALUATOR_API_KEY: 'k',
      AMBIT_EVALUATOR_MODEL: 'scripted',
      AMBIT_EVALUATOR_PRICES: 'scripted=1000/2000',
      AMBIT_EVALUATOR_PRICES_DATE: '2026-11-30',
    }
    try {
      return await onCluster({ size: SIZE, env }, cluster => drill(cluster, ledger))
    } finally {
      await server.close()
    }
  },
}

async function answer({ calls }: JudgeLedger, asked: AskedModel) {
  const items = askedItems(asked)
  const names = items.map(({ text }) => /\be\d+\b/.exec(text)?.[0] ?? text)
  const call: ModelCall = { items: names, startedMs: Date.now() }
  calls.push(call)
  await sleep(MODEL_TAKES_MS)
  call.answeredMs = Date.now()
  const verdicts = items.map(item => verdictFor(item, /\byes\b/.test(item.text)))
  return modelAnswer({ verdicts }, TOKENS)
}

async function drill(cluster: Cluster, ledger: JudgeLedger): Promise<DrillReport> {
  const followed = await followTopics(cluster, {
    ...{ usage: ledger.usage, decisions: ledger.decision },
  })
  const self: Self = { cluster, ledger, followed, subscriptions: [], sent: 0 }
  const store = await openRedisStateStore({ url: cluster.redisUrl })
  try {
    await prepare(self)
    return await play<Round>({
      ...{ victims: 'evaluators', rounds: ROUNDS, counts: ledger.counts },
      round: each => round(self, each),
      settled: () => settled(self, store),
    })
  } finally {
    await store.stop()
    await followed.stop()
  }
}

const ROUNDS: readonly Round[] = [
  { victims: [0] },
  { victims: [1], isLate: true },
  { victims: [0, 1] },
]

async function prepare({ cluster, subscriptions }: Self): Promise<void> {
  for (let n = 0; n < SUBSCRIPTIONS; n++) {
    const body = {
      ...{ name: `judged-${n}`, agent: 'reader', instruction: 'Read.' },
      on: { types: [`judged.${n}`] },
      condition: { criterion: 'the text says yes' },
      limits: { storm: null, budget: { tokensPerDay: 10_000_000, moneyPerMonth: '1000000' } },
    }
    subscriptions.push((await subscribe(cluster, body)).id)
  }
}

/** Sends events for a while. Only what is accepted is looked for. */
async function send(self: Self, batches = BATCHES): Promise<void> {
  const { cluster, ledger, subscriptions } = self
  const headers = { 'content-type': 'application/cloudevents-batch+json' }
  for (let n = 0; n < batches; n++) {
    const batch = subscriptions.map((_, at) => {
      self.sent += 1
      const id = `e${self.sent}`
      const text = `${id} says ${self.sent % 3 === 0 ? 'no' : 'yes'}`
      const named = { specversion: '1.0', id, source: '/drill', type: `judged.${at}` }
      return { ...named, data: { text } }
    })
    const { status } = await cluster.call('ingest', '/v1/events', { body: batch, headers })
    for (const [at, { id, source, data }] of batch.entries()) {
      if (status !== 202) continue
      const fate = data.text.endsWith('yes') ? 'delivered' : 'rejected'
      ledger.events.set(id, { id, source, fate, subscription: subscriptions[at] ?? '' })
    }
    await sleep(BATCH_EVERY_MS)
  }
}

interface Round {
  victims: number[]
  /** They return only when another has taken over, and gives some of it back at work. */
  isLate?: boolean
}

/** Kills the victims while the model is asked, and starts them again while events come in. */
async function round(self: Self, { victims, isLate = false }: Round): Promise<Finding[]> {
  const { cluster, ledger } = self
  const replicas = victims.map(index => cluster.replica('evaluator', index))
  const before = ledger.calls.length
  const sending = send(self)
  await eventually('a call', async () => (ledger.calls.length > before + 3 ? {} : undefined))
  await Promise.all(replicas.map(replica => replica.kill9()))
  ledger.breaks.push(Date.now())
  if (isLate) await untilFated(self)
  else await sleep(AWAY_MS)
  const more = isLate ? send(self, 2 * BATCHES) : undefined
  await Promise.all([sending, more, ...replicas.map(replica => replica.start())])
  return untilFated(self)
}

function untilFated({ ledger, followed }: Self): Promise<Finding[]> {
  return untilNothingLost({ barrier: followed.barrier, findings: ledger.findings }, RECOVER_MS)
}

interface Reservation {
  amounts: { counter: string; amount: number }[]
  isReleased: boolean
}

/** All is judged and written down; the budgets agree, and nothing was charged or decided again. */
async function settled(self: Self, store: StateStore): Promise<Finding[]> {
  const { ledger, followed } = self
  await eventually('the end of all calls', async () =>
    ledger.isSettled(Date.now()) ? {} : 'saw one that goes on',
  )
  const budgets = await budgetFindings(self, store)
  await followed.barrier()
  return [...ledger.findings(), ...budgets]
}

/**
 * Budgets hold what was charged and what the dead had reserved; the console shows the charges.
 * Both may come a little later; rejects when one of them cannot be looked at.
 */
async function budgetFindings(self: Self, store: StateStore): Promise<Finding[]> {
  const deadline = performance.now() + AGREE_MS
  for (;;) {
    const texts = [...(await counterTexts(self, store)), ...(await usageTexts(self))]
    const isOver = performance.now() > deadline
    if (texts.length === 0 || isOver) return texts.map(text => ({ kind: 'wrong', text }))
    await sleep(AGREE_EVERY_MS)
  }
}

async function counterTexts({ ledger }: Self, store: StateStore): Promise<string[]> {
  const must = ledger.charged()
  const documents = ledger.uncharged().map(id => `reservation/${id}`)
  const counters = [...must.keys()]
  const loaded = await store.load({ tenant: 'local', documents, counters })
  for (const { body } of loaded.documents.values()) {
    const { amounts, isReleased } = JSON.parse(body) as Reservation
    if (isReleased) continue
    for (const { counter, amount } of amounts) {
      must.set(counter, (must.get(counter) ?? 0) + amount)
    }
  }
  return counters.flatMap(counter => {
    const is = loaded.counters.get(counter) ?? 0
    return is === must.get(counter) ? [] : [`${counter} is ${is}, not ${must.get(counter)}`]
  })
}

async function usageTexts({ cluster, ledger }: Self): Promise<string[]> {
  const { status, body } = await cluster.call('control-plane', '/v1/usage?by=subscription')
  assert.equal(status, 200, `/v1/usage: ${JSON.stringify(body)}`)
  const { items } = body as {
    items: { subscription: string; inputTokens: number; outputTokens: number }[]
  }
  return [...ledger.tokens()].flatMap(([id, must]) => {
    const rows = items.filter(({ subscription }) => subscription === id)
    const is = rows.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0)
    return is === must ? [] : [`the console shows ${is} tokens of ${id}, not ${must}`]
  })
}
