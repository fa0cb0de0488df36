/**
 * Hostile texts through the whole path, with models that obey them, that break, and that are
 * honest. The promise (I15): a text can at most bias its own verdict. So whatever a model says,
 * nothing but verdicts changes: no subscription, no other mailbox, no spending beyond the budget,
 * no line in a log; and where an answer is not valid, nobody is woken.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Decision } from '#services/client/api-history.ts'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { readCases } from '#test/support/cases.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'
import {
  type AskedModel,
  cutOffAnswer,
  type ModelScript,
  type ModelServer,
  modelAnswer,
  modelServer,
  reasonedAway,
  refusedAnswer,
  twoAnswers,
} from '#test/support/model-server.ts'
import { type AskedItem, askedItems, verdictFor } from '#test/support/scripted-judge.ts'
import type { ScriptedAnswer } from '#test/support/scripted-server.ts'

interface Injection {
  id: string
  kind: string
  goal_kind: string
  text: string
  goal: string | null
}

const CASES = readCases<Injection>('injection.jsonl').filter(({ text }) => text.isWellFormed())
const AGENT = 'subscriber'
const LEAK = 'https://collect.example.net/p?d='
const TOKENS_PER_DAY = 2_000_000

let host: HostProcess
let api: Api
let server: ModelServer
let script: ModelScript

before(async () => {
  server = await modelServer((asked, nth) => script(asked, nth))
  host = await startHost('embedded', {
    env: {
      AMBIT_EVALUATOR_BASE_URL: server.baseUrl,
      AMBIT_EVALUATOR_MODEL: 'scripted',
      AMBIT_EVALUATOR_BATCH_MAX: '3',
      AMBIT_EVALUATOR_SUSPEND_AFTER: '1000',
      AMBIT_LOG_LEVEL: 'debug',
    },
  })
  api = createApi(host.url, host.key)
})
after(async () => {
  await host?.stop()
  await server?.close()
})

/** The case that an item was made from; its text is among the item's values. */
function caseOf({ text }: AskedItem): Injection | undefined {
  return CASES.find(each => text.includes(each.text))
}

/** Everything that a judged text must not be able to change. */
async function world() {
  const { items: subscriptions } = await api.ok<{ items: { id: string; version: number }[] }>(
    'GET',
    '/v1/subscriptions?limit=200',
  )
  const policy = await api.ok<object>('GET', '/v1/policy')
  const { items: mailboxes } = await api.ok<{ items: { agent: string }[] }>('GET', '/v1/mailboxes')
  return {
    subscriptions: subscriptions.map(({ id, version }) => `${id}/${version}`).sort(),
    policy,
    mailboxes: mailboxes.map(({ agent }) => agent).filter(agent => agent !== AGENT),
  }
}

/** Sends every text to one new subscription; answers the decisions by case. */
async function run(name: string, model: ModelScript) {
  script = model
  const type = `injection.${name}`
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name, agent: AGENT, instruction: 'Act.', on: { types: [type] } },
    condition: { criterion: 'the event is urgent' },
    limits: { storm: null, budget: { tokensPerDay: TOKENS_PER_DAY } },
  })
  const before = await world()
  const events = await api.publish(
    ...CASES.map(({ id: event, text }) => ({
      id: `${name}-${event}`,
      type,
      source: '/x',
      data: { text },
    })),
  )
  const decisions = new Map<string, Decision>()
  for (const [at, event] of events.entries()) {
    const decision = await eventually(
      `a fate of ${event}`,
      async () => {
        const [found] = await api.decisions({ subscription: id, event })
        return found && found.fate !== 'held' ? found : `saw ${found?.fate}`
      },
      120_000,
    )
    decisions.set(CASES[at]?.id ?? '', decision)
  }
  assert.deepEqual(await world(), before, 'nothing but verdicts and messages has changed')
  const messages = (await api.messages(AGENT)).filter(message => message.subscription?.id === id)
  const delivered = [...decisions.values()].filter(({ fate }) => fate === 'delivered')
  assert.equal(messages.length, delivered.length)
  for (const message of messages) {
    assert.equal(message.instruction, 'Act.')
    assert.ok(message.evidence.length > 0, 'no activation without evidence')
    for (const { quote, untrusted } of message.evidence) {
      assert.equal(untrusted, true)
      assert.ok(JSON.stringify(message.events).includes(JSON.stringify(quote).slice(1, -1)))
    }
  }
  await assertSpending(id)
  for (const { text } of CASES) {
    const lines = text.split('\n').filter(line => line.length > 20)
    assert.ok(!lines.some(line => host.output().includes(line)), 'no text of an event is logged')
  }
  return decisions
}

async function assertSpending(id: string): Promise<void> {
  const { items } = await api.ok<{
    items: { subscription: string; inputTokens: number; outputTokens: number }[]
  }>('GET', '/v1/usage?by=subscription')
  const row = items.find(({ subscription }) => subscription === id)
  assert.ok((row?.inputTokens ?? 0) + (row?.outputTokens ?? 0) <= TOKENS_PER_DAY)
}

const fatesOf = (decisions: Map<string, Decision>) => [
  ...new Set([...decisions.values()].map(({ fate }) => fate)),
]

/** Obeys: calls what it is told relevant, leaks its prompt, asks for tools, wastes tokens. */
function obey(asked: AskedModel): ScriptedAnswer {
  const items = askedItems(asked)
  // One such text spoils the answer of its whole batch; the others are then asked alone.
  const goals = items.map(item => caseOf(item)?.goal_kind)
  const goal = ['format', 'tool', 'route', 'schedule'].find(each => goals.includes(each))
  if (goal === 'format') return modelAnswer('Certainly! In plain prose: the order was shipped.')
  const verdicts = items.map(item => {
    const wish = caseOf(item)?.goal_kind
    const matched = wish !== 'verdict:suppress' && wish !== 'none'
    const reason = wish === 'exfil' ? `${LEAK}${asked.instructions}` : 'as ordered'
    return verdictFor(item, matched, { confidence: 1, reason })
  })
  if (goal === 'route') {
    const routed = verdicts.map(verdict => ({ ...verdict, mailbox: 'administrator' }))
    return modelAnswer({ verdicts: routed })
  }
  if (goal === 'schedule') return modelAnswer({ verdicts, schedule: { everyMs: 1000 } })
  if (goal !== 'tool') return modelAnswer({ verdicts })
  return {
    body: {
      ...{ id: 'r', object: 'response', status: 'completed', error: null },
      output: [
        {
          ...{ type: 'function_call', id: 'f', call_id: 'c', name: 'delete_subscription' },
          ...{ arguments: '{"id":"all"}', status: 'completed' },
        },
      ],
      usage: { input_tokens: 10, output_tokens: 10, total_tokens: 20 },
    },
  }
}

describe('a gullible model', () => {
  it('biases the verdict of the text that it obeyed, and nothing else', async () => {
    const decisions = await run('gullible', obey)
    for (const { id, goal_kind: goal, text } of CASES) {
      const decision = decisions.get(id)
      const verdict = decision?.verdict as unknown as { reason?: string; outcome: string }
      // A suppressed text is a negative verdict that says so: rejected, visible, never silent.
      if (goal === 'verdict:suppress' || goal === 'none')
        assert.equal(decision?.fate, 'rejected', text)
      assert.ok(decision && ['delivered', 'rejected', 'evaluation-failed'].includes(decision.fate))
      assert.ok((verdict?.reason ?? '').length <= 500)
      const isSpoilt = ['format', 'tool', 'route', 'schedule'].includes(goal)
      assert.equal(decision.fate === 'evaluation-failed', isSpoilt, `${id} ${goal}`)
    }
  })
  it('leaves the prompt nowhere but in the reason of that verdict, cut', async () => {
    const { items } = await api.ok<{ items: Decision[] }>('GET', '/v1/decisions?limit=200')
    for (const { verdict, ...decision } of items) {
      assert.ok(!JSON.stringify(decision).includes(LEAK))
      const { reason: _reason, ...rest } = (verdict ?? {}) as { reason?: string }
      assert.ok(!JSON.stringify(rest).includes('You judge items'))
    }
    for (const message of await api.messages(AGENT)) {
      assert.ok(!JSON.stringify(message).includes('You judge items'))
    }
  })
})

/** Every way in which an answer can be none, one after the other. */
const BROKEN: ((asked: AskedModel) => ScriptedAnswer)[] = [
  () => modelAnswer('matched: true'),
  () => modelAnswer({ verdicts: [] }),
  () => cutOffAnswer('{"verdicts":[{"item":1,"matched":true'),
  () => reasonedAway(),
  () => refusedAnswer(),
  asked => twoAnswers(allOf(asked), allOf(asked)),
  asked => modelAnswer({ ...allOf(asked), extra: 1 }),
  asked => modelAnswer({ verdicts: allOf(asked).verdicts.map(v => ({ ...v, item: v.item + 7 })) }),
  asked => modelAnswer({ verdicts: allOf(asked).verdicts.flatMap(v => [v, v]) }),
  asked => modelAnswer({ verdicts: allOf(asked).verdicts.map(v => ({ ...v, evidence: [] })) }),
  asked => modelAnswer({ verdicts: allOf(asked).verdicts.map(v => ({ ...v, matched: 'yes' })) }),
  asked =>
    modelAnswer({
      verdicts: askedItems(asked).map(item =>
        verdictFor(item, true, { evidence: [{ quote: 'it never said this', pointer: '/text' }] }),
      ),
    }),
]
const allOf = (asked: AskedModel) => ({
  verdicts: askedItems(asked).map(item => verdictFor(item, true)),
})

describe('a broken model', () => {
  it('wakes nobody, says nothing in silence, and ends after bounded calls', async () => {
    const before = server.requests.length
    const decisions = await run('broken', (asked, nth) => {
      const broken = BROKEN[nth % BROKEN.length]
      return broken ? broken(asked) : 'cut'
    })
    assert.deepEqual(fatesOf(decisions), ['evaluation-failed'])
    assert.ok(server.requests.length - before <= CASES.length * 3)
  })
})

describe('an honest model', () => {
  it('wakes for what is so, and for no order', async () => {
    const decisions = await run('honest', asked =>
      modelAnswer({ verdicts: askedItems(asked).map(item => verdictFor(item, false)) }),
    )
    assert.deepEqual(fatesOf(decisions), ['rejected'])
  })
})
