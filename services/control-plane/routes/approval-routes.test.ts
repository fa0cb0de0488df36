import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Registry } from 'prom-client'
import { systemClock, systemIds } from '#kernel/adapters/system/system-clock.ts'
import { ANSWERED_OUTCOME, type AskAnswer, type AskFacts, askFactsOf } from '#kernel/domain/ask.ts'
import { criterionHash } from '#kernel/domain/criterion-hash.ts'
import { candidateIdOf } from '#kernel/domain/ids.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { createHttpApp, type HttpApp } from '#kernel/host/http-app.ts'
import { type LiveTables, openLiveTables } from '#kernel/host/live-tables.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { Verdict } from '#schemas/generated/records.ts'
import {
  anEvent,
  candidateRecord,
  codec,
  decisionRecord,
  eventRecord,
  type HappenedWorld,
  noticeRecord,
  openHappenedWorld,
  SOURCE,
  subscriptionRecord,
  TENANT,
} from '#test/support/happened-world.ts'
import { findDecision } from '../read-model/decision-queries.ts'
import { traceEvent } from '../read-model/trace-query.ts'
import { approvalRoutes } from './approval-routes.ts'

const DAY_MS = 86_400_000
const CONDITION = { criterion: 'a refund', minConfidence: 0.9, scope: 'each' as const }
const PEOPLE: Record<string, Principal> = {
  ana: { tenant: TENANT, kind: 'person', id: 'ana', roles: ['viewer'] },
  bo: { tenant: TENANT, kind: 'person', id: 'bo', roles: ['approver'] },
  eve: { tenant: TENANT, kind: 'person', id: 'eve', roles: ['owner'] },
  other: { tenant: 'other', kind: 'person', id: 'ana', roles: ['admin'] },
  triage: { tenant: TENANT, kind: 'agent', id: 'triage', roles: ['approver'] },
}

let world: HappenedWorld
let tables: LiveTables
let app: HttpApp
/** What stands for the judge: the first answer counts, unless it is away. */
const judge = { isAway: false, first: undefined as AskAnswer | undefined, asked: 0 }

beforeEach(async () => {
  Object.assign(judge, { isAway: false, first: undefined, asked: 0 })
  world = await openHappenedWorld()
  const { log } = world
  const clock = systemClock
  tables = await openLiveTables({ log, codec, clock, topics: ['subscriptions', 'policies'] })
  app = await openApp()
  // The dispatcher's route for questions of runs is in the same process when all are in one.
  app.post('/v1/approvals/:id', async () => ({ by: 'the dispatcher' }))
})

/** The routes under test alone. */
async function openApp(): Promise<HttpApp> {
  const { model } = world
  const clock = systemClock
  const opened = await createHttpApp({
    ...{ logger: silentLogger, ids: systemIds, metrics: new Registry(), ratePerSecond: 0 },
    notReady: () => [],
  })
  approvalRoutes(opened, {
    ...{ model, tables, logger: silentLogger, directory: createDirectory(tables) },
    clock: { ...clock, sleep: (ms, signal) => clock.sleep(Math.min(ms, 300), signal) },
    authenticate: async request => {
      const found = PEOPLE[request.headers.authorization?.replace('Bearer ', '') ?? '']
      if (found) return found
      throw new AmbitError('unauthenticated', 'Send a key.')
    },
    async answerAsk(_ask, answer) {
      judge.asked += 1
      if (judge.isAway) return
      judge.first ??= answer
      await world.append(ended({ answer: judge.first }))
    },
    acknowledge: async () => {},
    recordErasure: async () => {},
    redrive: async () => {},
    system: async () => ({}),
  })
  return opened
}

afterEach(async () => {
  await app.close()
  await tables.stop()
  await world.stop()
})

const event = anEvent('e1')
const id = candidateIdOf(TENANT, 's1', event)
const verdict = (facts: AskFacts, outcome = 'ask', confidence = 0.6): Verdict => ({
  ...{ id: 'v1', outcome, confidence, model: 'm', cached: false },
  body: {
    ...{ criterionHash: criterionHash(CONDITION), reason: 'perhaps' },
    evidence: [{ quote: 'my money', pointer: '/text' }],
    askedAt: '2026-11-30T10:00:00.000Z',
    ...facts,
  },
})
const question = (more: object = {}) =>
  candidateRecord(event, 's1', { verdict: verdict({}), ...more }, 'evaluations')
const ended = (facts: AskFacts) => {
  const outcome = facts.answer ? ANSWERED_OUTCOME[facts.answer.decision] : 'ask'
  return candidateRecord(event, 's1', { verdict: verdict(facts, outcome) })
}

async function call(as: string, body?: object, of = id) {
  const headers = { authorization: `Bearer ${as}` }
  const answer = await app.inject(
    body
      ? { method: 'POST', url: `/v1/approvals/${of}`, headers, payload: body }
      : { url: '/v1/approvals', headers },
  )
  return { status: answer.statusCode, body: answer.json() }
}
const listed = async (as = 'ana') => (await call(as)).body.items
const asking = () => world.append(subscriptionRecord('s1', { condition: CONDITION }), question())

describe('the list of what waits', () => {
  it('shows an ask with its evidence as untrusted, whose it is and since when', async () => {
    await asking()
    const [item] = await listed()
    assert.deepEqual(item, {
      ...{ id, kind: 'ask', subscription: 's1', name: 's1', agent: 'triage', owner: 'user:ana' },
      event: { source: SOURCE, id: 'e1', type: event.type, time: null },
      ...{ confidence: 0.6, model: 'm', verdictId: 'v1', question: 'a refund' },
      evidence: [{ quote: 'my money', source: SOURCE, pointer: '/text', untrusted: true }],
      judgeReason: { text: 'perhaps', untrusted: true },
      askedAt: '2026-11-30T10:00:00.000Z',
    })
    assert.deepEqual(await listed('other'), [])
  })

  it('does not say that an ask is about words that were edited since', async () => {
    await asking()
    const condition = { ...CONDITION, criterion: 'a complaint' }
    await world.append(subscriptionRecord('s1', { version: 2, condition }))
    assert.equal((await listed())[0].question, null)
  })

  it('leaves out what was answered, lapsed or decided', async () => {
    await asking()
    const lapse = { fate: 'stale', stage: 'state', reason: 'too-old', details: {} }
    await world.append(ended({ lapse: { ...lapse, at: '2026-12-01T10:00:00.000Z' } }))
    assert.deepEqual(await listed(), [])
    await world.append(question())
    assert.deepEqual(await listed(), [], 'an old record opens nothing')
    const rebuilt = await world.another()
    await rebuilt.fresh()
    assert.equal(await rebuilt.hash(), await world.model.hash())
    const other = anEvent('e2')
    await world.append(
      candidateRecord(other, 's1', { verdict: verdict({}) }, 'evaluations'),
      decisionRecord(other, 's1'),
    )
    assert.deepEqual(await listed(), [])
  })
})

describe('the pages and the age of what waits', () => {
  it('pages asks and then questions under one cursor, without gap or repeat', async () => {
    await asking()
    const more = ['e2', 'e3'].map(each =>
      candidateRecord(anEvent(each), 's1', { verdict: verdict({}) }, 'evaluations'),
    )
    const asked = ['a_1', 'a_2'].map(approvalId =>
      noticeRecord(approvalId, { kind: 'approval', details: { approvalId, question: '?' } }),
    )
    await world.append(...more, ...asked)
    for (const limit of [1, 2, 3, 4, 5]) {
      const kinds: string[] = []
      const ids = new Set<string>()
      let cursor = ''
      do {
        const url = `/v1/approvals?limit=${limit}${cursor && `&cursor=${cursor}`}`
        const page = (await app.inject({ url, headers: { authorization: 'Bearer ana' } })).json()
        for (const item of page.items) {
          kinds.push(item.kind)
          ids.add(item.id)
        }
        cursor = page.next ?? ''
      } while (cursor)
      assert.deepEqual(kinds, ['ask', 'ask', 'ask', 'question', 'question'], `limit ${limit}`)
      assert.equal(ids.size, 5)
    }
  })

  it('keeps what waits beyond the days that are kept, and the rest of them not', async () => {
    const at = Date.now() - 9 * DAY_MS
    await asking()
    await world.append(question({ at }))
    // Old rows are removed a bite at a time, with what is written.
    for (let nth = 0; nth < 3; nth++) {
      await world.append(
        ...Array.from({ length: 300 }, (_, each) =>
          decisionRecord(anEvent(`old-${nth}-${each}`), 's1', { at: at + 3 * DAY_MS }),
        ),
      )
    }
    assert.equal((await listed()).length, 1)
    const { model } = world
    assert.equal(findDecision(model, id)?.reason, 'waits-for-answer')
  })
})

describe('an answer to an ask', () => {
  it('is the owner’s or an approver’s, never an agent’s', async () => {
    await asking()
    const accept = { decision: 'accept' }
    for (const stranger of ['eve', 'triage']) {
      assert.equal((await call(stranger, accept)).status, 403, stranger)
    }
    assert.equal((await call('other', accept)).status, 404)
    assert.equal((await call('nobody', accept)).status, 401)
    assert.equal(judge.asked, 0)
    const { status, body } = await call('ana', { ...accept, reason: 'surely' })
    assert.equal(status, 200)
    const { at, ...said } = body
    assert.deepEqual(said, {
      ...{ id, subscription: 's1', decision: 'accept', by: 'user:ana', reason: 'surely' },
    })
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
    assert.deepEqual(await listed(), [])
  })

  it('is stored: the same again gets it, another one is refused with it', async () => {
    await asking()
    const first = await call('bo', { decision: 'ignore' })
    const again = await call('ana', { decision: 'ignore' })
    assert.deepEqual([again.status, again.body], [200, first.body])
    const refused = await call('ana', { decision: 'accept' })
    assert.deepEqual([refused.status, refused.body.code], [409, 'conflict'])
    assert.match(refused.body.detail, /answered: ignore, by user:bo/)
    assert.equal(refused.body.answer.by, 'user:bo')
    assert.equal(judge.asked, 1)
  })
})

describe('an answer that cannot count', () => {
  it('is told so when another one came first at the same moment', async () => {
    await asking()
    judge.first = { decision: 'ignore', by: 'user:bo', at: '2026-11-30T11:00:00.000Z' }
    const { status, body } = await call('ana', { decision: 'accept' })
    assert.deepEqual([status, body.answer.by], [409, 'user:bo'])
  })

  it('is pending while the judge is away, and may be sent again', async () => {
    await asking()
    judge.isAway = true
    const { status, body } = await call('ana', { decision: 'accept' })
    assert.deepEqual([status, body], [202, { id, decision: 'accept', isPending: true }])
    judge.isAway = false
    assert.equal((await call('ana', { decision: 'accept' })).status, 200)
  })

  it('comes too late for what lapsed, and says why', async () => {
    await asking()
    const lapse = { fate: 'stale', stage: 'state', reason: 'too-old', details: {} }
    await world.append(ended({ lapse: { ...lapse, at: '2026-12-01T10:00:00.000Z' } }))
    const { status, body } = await call('ana', { decision: 'accept' })
    assert.deepEqual([status, body.lapse.reason], [409, 'too-old'])
  })

  it('is neither accept nor ignore; the error says what the others are for', async () => {
    await asking()
    for (const decision of ['edit', 'respond']) {
      const { status, body } = await call('ana', { decision, text: 'no' })
      assert.deepEqual([status, body.code, body.pointer], [422, 'invalid', '/decision'])
      assert.match(body.detail, /accept or ignore.*edit and respond answer what a run asked/)
    }
    assert.equal((await call('ana', { decision: 'perhaps' })).status, 422)
    assert.equal(judge.asked, 0)
  })

  it('needs an ask: a candidate that nobody is asked about has none', async () => {
    const plain = anEvent('plain')
    await world.append(candidateRecord(plain, 's1', {}, 'evaluations'))
    const candidate = candidateIdOf(TENANT, 's1', plain)
    assert.equal((await call('bo', { decision: 'accept' }, candidate)).status, 404)
    assert.equal((await call('bo', { decision: 'accept' }, 'c_0123')).status, 404)
  })

  it('leaves questions of runs to the dispatcher', async () => {
    assert.deepEqual((await call('ana', {}, 'a_0123')).body, { by: 'the dispatcher' })
  })

  it('stands in the trace and in the verdict of the decision', async () => {
    await asking()
    await world.append(eventRecord(event))
    await call('ana', { decision: 'accept' })
    await world.append(decisionRecord(event, 's1'))
    const { hops } = await traceEvent(world.model, TENANT, { source: SOURCE, id: 'e1' })
    const answered = hops.find(({ hop }) => hop === 'answered')
    assert.deepEqual([answered?.decision, answered?.by], ['accept', 'user:ana'])
    assert.equal(hops.find(({ hop }) => hop === 'verdict')?.at, '2026-11-30T10:00:00.000Z')
    const decision = findDecision(world.model, id)
    assert.equal(askFactsOf({ body: decision?.verdict }).answer?.by, 'user:ana')
  })
})

// The dispatcher documents its route under the same path; what is said there must hold for both.
it('documents both kinds of answers under one path', async () => {
  const alone = await openApp()
  const { paths } = (await alone.inject({ url: '/v1/openapi.json' })).json()
  await alone.close()
  const { content } = paths['/v1/approvals/{id}'].post.requestBody
  const { properties } = content['application/json'].schema
  assert.deepEqual(properties.decision.enum, ['accept', 'edit', 'respond', 'ignore'])
})
