/** Semantic conditions from outside: events in, a model server beside it, decisions out. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { type BackboneKind, type HostProcess, startHost } from '#test/support/host-process.ts'
import {
  type AskedModel,
  type ModelScript,
  type ModelServer,
  modelAnswer,
  modelError,
  modelServer,
} from '#test/support/model-server.ts'
import { askedItems, verdictFor } from '#test/support/scripted-judge.ts'
import { askCases } from './ask-cases.ts'

let host: HostProcess
let api: Api
let server: ModelServer
/** What the model says; each test sets it. */
let script: ModelScript

/** Matches where an item says `yes`, with the confidence that it names. */
const honest = (asked: AskedModel) =>
  modelAnswer({
    verdicts: askedItems(asked).map(item => {
      const confidence = Number(/sure ([\d.]+)/.exec(item.text)?.[1] ?? 0.9)
      return verdictFor(item, /\byes\b/.test(item.text), { confidence })
    }),
  })

/** Starts the host and a model server beside it; to be called once per test file. */
export function judgeSuite(kind: BackboneKind, skip: string | false = false): void {
  describe(`judging, ${kind}`, { skip, concurrency: false }, () => {
    before(() => open(kind))
    after(close)
    verdictCases()
    askCases({ api: () => api, host: () => host, subscribe, say, fated })
    troubleCases()
    budgetCases()
    lossCases()
  })
}

async function open(kind: BackboneKind): Promise<void> {
  script = honest
  server = await modelServer((asked, nth) => script(asked, nth))
  host = await startHost(kind, {
    env: {
      AMBIT_EVALUATOR_BASE_URL: server.baseUrl,
      AMBIT_EVALUATOR_API_KEY: 'k',
      AMBIT_EVALUATOR_MODEL: 'scripted',
      AMBIT_EVALUATOR_TIMEOUT_MS: '2000',
      AMBIT_EVALUATOR_BREAKER_OPEN_MS: '500',
      AMBIT_EVALUATOR_PRICES: 'scripted=1000/2000',
      AMBIT_EVALUATOR_PRICES_DATE: '2026-11-30',
    },
  })
  api = createApi(host.url, host.key)
}

async function close(): Promise<void> {
  await host?.stop()
  await server?.close()
}

let made = 0
async function subscribe(
  more: Record<string, unknown> = {},
): Promise<{ id: string; type: string; agent: string }> {
  made += 1
  const type = `judge.case${made}`
  const agent = `agent-${made}`
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: type, agent, instruction: 'Act.', on: { types: [type] } },
    condition: { criterion: 'the text says yes' },
    ...more,
  })
  return { id, type, agent }
}
const say = (type: string, ...texts: string[]) =>
  api.publish(...texts.map(text => ({ type, source: '/judge', data: { text } })))

/** The decision of an event, once it waits no longer. */
const fated = (id: string, event: string) =>
  eventually(`a fate of ${event}`, async () => {
    const [found] = await api.decisions({ subscription: id, event })
    return found && found.fate !== 'held' ? found : `saw ${found?.fate}`
  })

function verdictCases(): void {
  describe('a verdict', () => {
    it('delivers with its evidence; the decision shows model, confidence and cost', async () => {
      script = honest
      const { id, type } = await subscribe()
      const [event = ''] = await say(type, 'I say yes to that')
      const decision = await api.decision(id, event, 'delivered')
      const verdict = decision.verdict as unknown as Record<string, unknown>
      assert.equal(verdict.outcome, 'matched')
      assert.equal(verdict.model, 'scripted')
      assert.equal(verdict.confidence, 0.9)
      assert.equal(verdict.cached, false)
      assert.deepEqual(verdict.evidence, [{ quote: 'I say yes to that', pointer: '/text' }])
      assert.deepEqual(verdict.usage, {
        inputTokens: 200,
        outputTokens: 40,
        calls: 1,
        cost: '0.28',
      })
      const [message] = await api.messages(`agent-${made}`)
      assert.deepEqual(message?.evidence, [
        { quote: 'I say yes to that', source: '/judge', pointer: '/text', untrusted: true },
      ])
    })

    it('that is negative, or not sure enough, rejects; the bound itself is enough', async () => {
      script = honest
      const condition = { criterion: 'the text says yes', minConfidence: 0.7 }
      const { id, type } = await subscribe({ condition })
      const events = await say(type, 'no', 'yes, sure 0.69', 'yes, sure 0.7')
      const fates = await Promise.all(events.map(event => fated(id, event)))
      assert.equal(fates[2]?.fate, 'delivered')
      assert.deepEqual(
        [fates[0]?.fate, fates[0]?.reason, fates[1]?.fate, fates[1]?.reason],
        ['rejected', 'not-matched', 'rejected', 'low-confidence'],
      )
    })

    it('between asking and deciding waits for a person, with a notice', async () => {
      script = honest
      const condition = { criterion: 'the text says yes', minConfidence: 0.8, askConfidence: 0.5 }
      const { id, type } = await subscribe({ condition })
      const [event = '', later = ''] = await say(type, 'yes, sure 0.6', 'yes, sure 0.9')
      await api.decision(id, later, 'delivered')
      assert.equal((await api.decision(id, event, 'held')).fate, 'held')
      const { items } = await api.ok<{ items: { kind: string; subscription: string }[] }>(
        'GET',
        '/v1/notices',
      )
      assert.ok(items.some(({ kind, subscription }) => kind === 'ask' && subscription === id))
    })

    it('about the same text is not paid for twice', async () => {
      script = honest
      const { id, type } = await subscribe()
      const [first = ''] = await say(type, 'yes, the same text')
      await api.decision(id, first, 'delivered')
      const before = server.requests.length
      const [second = ''] = await say(type, 'yes, the same text')
      const decision = await api.decision(id, second, 'delivered')
      assert.equal((decision.verdict as unknown as { cached: boolean }).cached, true)
      assert.equal(server.requests.length, before)
    })
  })
}

function troubleCases(): void {
  describe('a model in trouble', () => {
    it('fails the evaluation after bounded calls, then suspends and tells the owner', async () => {
      script = () => modelError(500, 'server_error', 'oops')
      const { id, type } = await subscribe()
      const before = server.requests.length
      const events = await say(type, ...Array.from({ length: 12 }, (_, at) => `yes ${at}`))
      const decision = await api.decision(id, events[0] ?? '', 'evaluation-failed')
      assert.equal(decision.reason, 'no-valid-verdict')
      for (let tries = 0; tries < 100; tries++) {
        if ((await api.subscription(id)).state.operation === 'suspended') break
        await new Promise(resolve => setTimeout(resolve, 100))
      }
      assert.equal((await api.subscription(id)).state.operation, 'suspended')
      assert.ok(server.requests.length - before <= 6, 'the breaker opened')
      // The table of subscriptions may be read before the notice, which is a record of its own.
      await eventually('the notice', async () => {
        type Notices = { items: { kind: string; subscription: string }[] }
        const { items } = await api.ok<Notices>('GET', '/v1/notices')
        return items.find(({ kind, subscription }) => kind === 'evaluation' && subscription === id)
      })
      script = honest
      await new Promise(resolve => setTimeout(resolve, 600))
    })

    it('that invents its quotes wakes nobody, and no other item suffers', async () => {
      script = asked =>
        modelAnswer({
          verdicts: askedItems(asked).map(item =>
            /bad/.test(item.text)
              ? verdictFor(item, true, { evidence: [{ quote: 'never said', pointer: '/text' }] })
              : verdictFor(item, true),
          ),
        })
      const { id, type } = await subscribe()
      const [good = '', bad = ''] = await say(type, 'yes good', 'yes bad')
      await api.decision(id, good, 'delivered')
      const failed = await api.decision(id, bad, 'evaluation-failed')
      assert.deepEqual((failed.details as { failure: string }).failure, 'invented-quote')
    })
  })
}

function budgetCases(): void {
  describe('budgets', () => {
    it('bound what is spent: reserved before, settled after, never above', async () => {
      script = honest
      const { id, type } = await subscribe({ limits: { budget: { tokensPerDay: 4000 } } })
      const events = await say(type, ...Array.from({ length: 40 }, (_, at) => `yes budget ${at}`))
      const last = await fated(id, events.at(-1) ?? '')
      assert.ok(['over-budget', 'inactive'].includes(last.fate), last.fate)
      const { items } = await api.ok<{
        items: { subscription: string; inputTokens: number; outputTokens: number; calls: number }[]
      }>('GET', '/v1/usage?by=subscription')
      const row = items.find(({ subscription }) => subscription === id)
      assert.ok(row, JSON.stringify(items[0]))
      assert.ok(row.inputTokens + row.outputTokens <= 4000)
      assert.ok(row.calls >= 1)
    })

    it('are not touched where the answer could lead to nothing', async () => {
      script = honest
      const { id, type } = await subscribe()
      await api.ok('POST', `/v1/subscriptions/${id}/pause`, { reason: 'quiet' })
      const before = server.requests.length
      const [event = ''] = await say(type, 'yes while paused')
      assert.equal((await api.decision(id, event, 'inactive')).reason, 'paused')
      assert.equal(server.requests.length, before)
    })
  })
}

function lossCases(): void {
  describe('a process that is killed while its model is asked', () => {
    it('loses no candidate, and asks again only about what was in flight', async () => {
      const asked = new Map<string, number>()
      let inFlight = 0
      script = async call => {
        const items = askedItems(call)
        inFlight += items.length
        for (const { text } of items) asked.set(text, (asked.get(text) ?? 0) + 1)
        await new Promise(resolve => setTimeout(resolve, 150))
        // Given, but not yet written down: a kill in between rightly asks again.
        setTimeout(() => {
          inFlight -= items.length
        }, 500)
        return honest(call)
      }
      const made = await Promise.all(Array.from({ length: 4 }, () => subscribe()))
      const sayHalf = (half: string) =>
        Promise.all(
          made.map(async ({ id, type }) => {
            const texts = Array.from({ length: 10 }, (_, at) => `yes ${type} ${half} ${at}`)
            return { id, events: await say(type, ...texts) }
          }),
        )
      const allDelivered = async (sent: Awaited<ReturnType<typeof sayHalf>>) => {
        for (const { id, events } of sent) {
          for (const event of events) assert.equal((await fated(id, event)).fate, 'delivered')
        }
      }
      const first = await sayHalf('first')
      await allDelivered(first)
      const judged = [...asked.keys()]
      const second = await sayHalf('second')
      const some = judged.length + 15
      await eventually('some calls', async () => (asked.size >= some ? asked : undefined))
      await host.kill9()
      const repeatable = inFlight
      await host.restart()
      await allDelivered([...first, ...second])
      assert.equal(judged.length, 40)
      const judgedAgain = judged.filter(text => (asked.get(text) ?? 0) > 1)
      assert.deepEqual(judgedAgain, [], 'what had its fate is not asked about again')
      const twice = [...asked.values()].filter(count => count > 1)
      assert.ok(twice.length <= repeatable, `${twice.length} of ${repeatable}`)
      assert.ok(twice.every(count => count === 2))
    })
  })
}
