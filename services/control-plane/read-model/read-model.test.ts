import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import {
  anEvent,
  candidateRecord,
  decisionRecord,
  eventRecord,
  type HappenedWorld,
  logRecord,
  messageRecord,
  noticeRecord,
  openHappenedWorld,
  SOURCE,
  TENANT,
  transitionRecord,
  usageRecord,
} from '#test/support/happened-world.ts'
import { type DecisionFilter, listDecisions } from './decision-queries.ts'
import { eventBody, findEvent } from './event-query.ts'
import { listNotices, listUsage } from './journal-queries.ts'
import { findMessage, listMailboxes, listMessages, listQuestions } from './mailbox-queries.ts'
import { traceEvent } from './trace-query.ts'

const PAGE = { limit: 50 }
const DAY_MS = 24 * 3_600_000

let world: HappenedWorld
beforeEach(async () => {
  world = await openHappenedWorld()
})
afterEach(() => world.stop())

const decisions = (filter: DecisionFilter = {}, model = world.model) =>
  listDecisions(model, TENANT, { filter, page: PAGE }).items
const fates = (filter?: DecisionFilter) => decisions(filter).map(({ fate }) => fate)

it('shows one row per candidate with its current fate, whatever comes late', async () => {
  const event = anEvent('e1')
  await world.append(candidateRecord(event, 's1', {}, 'evaluations'))
  assert.deepEqual(fates(), ['held'])
  await world.append(candidateRecord(event, 's1'))
  const grouped = decisionRecord(event, 's1', { fate: 'grouped', stage: 'group', seq: 0 })
  await world.append(grouped, decisionRecord(event, 's1', { seq: 1, repeats: 2 }), grouped)
  const [only] = decisions()
  assert.equal(only?.fate, 'delivered')
  assert.equal(only?.repeats, 2)
  assert.equal(decisions().length, 1)
})

it('a candidate that the guard has not yet decided is in no list', async () => {
  await world.append(candidateRecord(anEvent('e1'), 's1'))
  assert.deepEqual(decisions(), [])
})

it('filters decisions by every part, and pages them without gap or repeat', async () => {
  const events = ['a', 'b', 'c', 'd', 'e'].map(id => anEvent(id))
  for (const event of events) await world.append(decisionRecord(event, 's1'))
  await world.append(decisionRecord(anEvent('a'), 's2', { fate: 'cooldown', at: 1000 + DAY_MS }))
  assert.equal(decisions({ subscription: 's1' }).length, 5)
  assert.deepEqual(fates({ fate: 'cooldown' }), [])
  const later = { fate: 'stale', at: Date.now() + 60_000 }
  await world.append(decisionRecord(anEvent('a'), 's3', later))
  assert.deepEqual(fates({ event: 'a', source: SOURCE }), ['stale', 'delivered'])
  assert.deepEqual(fates({ sinceMs: Date.now() + 30_000 }), ['stale'])
  assert.equal(fates({ untilMs: Date.now() + 30_000 }).length, 5)

  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = listDecisions(world.model, TENANT, { filter: {}, page: { limit: 2, cursor } })
    seen.push(...page.items.map(({ candidateId }) => candidateId))
    cursor = page.next ?? undefined
  } while (cursor)
  assert.equal(new Set(seen).size, 6)
  assert.equal(seen.length, 6)
})

it('keeps tenants apart', async () => {
  await world.append(decisionRecord(anEvent('e1'), 's1', { tenant: 'other' }))
  await world.append(noticeRecord('n1', { tenant: 'other' }))
  assert.deepEqual(decisions(), [])
  assert.deepEqual(listNotices(world.model, TENANT, PAGE).items, [])
  assert.equal(listNotices(world.model, 'other', PAGE).items.length, 1)
})

it('gives each subscription its last fate', async () => {
  const at = Date.now()
  await world.append(decisionRecord(anEvent('e2'), 's1', { at: at + 5 }))
  await world.append(decisionRecord(anEvent('e1'), 's1', { fate: 'cooldown', at }))
  assert.deepEqual(world.model.lastOf(TENANT, 's1'), {
    fate: 'delivered',
    at: new Date(at + 5).toISOString(),
    eventId: 'e2',
    messageId: 'm-e2',
  })
  assert.equal(world.model.lastOf(TENANT, 's2'), undefined)
})

it('traces an event through every hop in order', async () => {
  const event = anEvent('e1')
  const at = Date.now()
  const verdict = {
    ...{ id: 'v1', outcome: 'matched', confidence: 0.9, model: 'mock', cached: false },
    body: { evidence: [{ quote: 'twelve' }], usage: { calls: 1 } },
  }
  await world.append(
    transitionRecord(event, { state: 'leased', version: 2, at: at + 40 }),
    transitionRecord(event, { state: 'leased', version: 3, at: at + 45 }),
    transitionRecord(event, {
      state: 'done',
      version: 4,
      at: at + 50,
      run: {
        ...{ ok: true, stopReason: 'end', usage: { inputTokens: 7, outputTokens: 2, calls: 1 } },
        ...{ iterations: 1, toolCalls: 1, calls: [{ tool: 'look', outcome: 'ok', ms: 3 }] },
      },
    }),
    messageRecord(event, { createdAt: at + 30 }),
    decisionRecord(event, 's1', { at: at + 30 }),
    candidateRecord(event, 's1', { at: at + 20, verdict }),
    eventRecord(event),
  )
  const trace = await traceEvent(world.model, TENANT, event)
  assert.deepEqual(
    trace.hops.map(({ hop }) => hop),
    ['accepted', 'matched', 'verdict', 'decided', 'message', 'leased', 'run'],
  )
  assert.deepEqual(trace.event, event)
  assert.partialDeepStrictEqual(trace.hops.at(-1), {
    ...{ messageId: 'm-e1', ok: true, stopReason: 'end', iterations: 1, toolCalls: 1 },
    usage: { inputTokens: 7, outputTokens: 2 },
    calls: [{ tool: 'look', outcome: 'ok' }],
  })
})

it('lists whole messages in the order they were accepted, with their newest state', async () => {
  const [first, second] = [anEvent('e1'), anEvent('e2')]
  await world.append(messageRecord(first), messageRecord(second))
  await world.append(
    transitionRecord(first, { state: 'leased', version: 2 }),
    transitionRecord(first, { state: 'queued', version: 1 }),
  )
  const scope = { tenant: TENANT, agent: 'triage' }
  const all = await listMessages(world.model, scope, { limit: 1 })
  assert.deepEqual(
    all.items.map(({ id, state, attempts }) => ({ id, state, attempts })),
    [{ id: 'm-e1', state: 'leased', attempts: 1 }],
  )
  const rest = await listMessages(world.model, scope, { limit: 1, cursor: all.next ?? '' })
  assert.deepEqual(rest.items[0]?.events, [second])
  assert.equal(rest.next, null)
  const queued = await listMessages(world.model, { ...scope, state: 'queued' }, PAGE)
  assert.deepEqual(
    queued.items.map(({ id }) => id),
    ['m-e2'],
  )
  assert.deepEqual(listMailboxes(world.model, TENANT, PAGE).items, [
    { agent: 'triage', messages: { leased: 1, queued: 1 } },
  ])
})

it('puts bodies that travel by reference back into messages', async () => {
  const event = anEvent('e1', { data: { text: 'long' } })
  await world.append(eventRecord(event))
  const row = findEvent(world.model, TENANT, event)
  assert.ok(row)
  const { topic, partition, offset } = row
  const { data: _data, ...attributes } = event
  const ref = { topic, partition, offset }
  const carried = { attributes: attributes as never, json: null, bytes: null, ref }
  await world.append(messageRecord(event, { events: [carried] }))
  const message = await findMessage(world.model, TENANT, 'm-e1')
  assert.deepEqual(message?.events, [event])
})

it('counts what something cost once, however often it was written', async () => {
  const cheap = usageRecord('m-1')
  await world.append(cheap, cheap, usageRecord('m-2', { cost: '0.200000001' }))
  const { items } = listUsage(world.model, TENANT, { by: 'owner', page: PAGE })
  assert.deepEqual(items, [
    {
      owner: 'user:ana',
      activations: 0,
      polls: 0,
      calls: 2,
      inputTokens: 200,
      outputTokens: 40,
      totalTokens: 240,
      cost: '0.300000001',
    },
  ])
})

it('keeps reads of MCP servers apart from calls of models', async () => {
  const polls = { stage: 'poll', inputTokens: 0, outputTokens: 0, cost: '0' }
  const twelve = usageRecord('ob_1', { ...polls, attempt: 12, calls: 12 })
  const more = usageRecord('ob_1', { ...polls, attempt: 15, calls: 3 })
  await world.append(usageRecord('m-1'), twelve, twelve, more)
  const [sum] = listUsage(world.model, TENANT, { by: 'subscription', page: PAGE }).items
  assert.deepEqual([sum?.polls, sum?.calls, sum?.totalTokens, sum?.cost], [15, 1, 120, '0.1'])
})

it('lists a question until a continuation answers it', async () => {
  const details = { approvalId: 'a1', question: 'Refund?', options: ['yes', 'no'] }
  await world.append(noticeRecord('n1', { kind: 'approval', agent: 'triage', details }))
  assert.equal(listQuestions(world.model, TENANT, PAGE).items[0]?.question, 'Refund?')
  const input = { kind: 'answer', approvalId: 'a1', decision: 'accept' }
  await world.append(messageRecord(anEvent('c1'), { kind: 'continuation', input }))
  assert.deepEqual(listQuestions(world.model, TENANT, PAGE).items, [])
})

it('skips and counts what it cannot read, and goes on (I18)', async () => {
  const bad = { ...decisionRecord(anEvent('bad'), 's1'), value: Buffer.from('nonsense') }
  await world.append(bad, decisionRecord(anEvent('good'), 's1'))
  assert.equal(decisions().length, 1)
  assert.equal(world.model.status().skipped, 1)
})

it('reads the events of outside producers under the tenant of their topic', async () => {
  const headers = { ce_specversion: '1.0', ce_id: 'x1', ce_source: '/ext', ce_type: 'ext.made' }
  const value = Buffer.from('{"a":12345678901234567890}')
  const record = { topic: 'ingress.ext.local', key: 'k', value, headers }
  const typed = { ...record, headers: { ...headers, 'content-type': 'application/json' } }
  await world.append(typed, { ...typed, headers: { 'content-type': 'text/plain' } })
  const row = findEvent(world.model, TENANT, { source: '/ext', id: 'x1' })
  assert.ok(row)
  const body = await eventBody(world.model, row)
  assert.equal(JSON.stringify(body.data), '{"a":12345678901234567890}')
  assert.equal(world.model.status().skipped, 1)
})

it('hides an erased event everywhere, also from a model that is built later', async () => {
  const event = anEvent('e1')
  const body = { evidence: [{ quote: 'twelve' }] }
  const verdict = { id: 'v', outcome: 'matched', confidence: 1, model: 'm', cached: false, body }
  await world.append(
    eventRecord(event),
    candidateRecord(event, 's1', { verdict }),
    decisionRecord(event, 's1'),
    messageRecord(event),
  )
  const document = {
    ...{ tenant: TENANT, kind: 'event-erasure', id: 'x', version: 1, deleted: false },
    updatedAt: Date.now(),
    doc: { by: 'user:ana', source: SOURCE, eventId: 'e1' },
  }
  await world.append(logRecord('policies', 'local/event-erasure/x', document))
  const rebuilt = await world.another()
  await rebuilt.fresh()
  for (const model of [world.model, rebuilt]) {
    const message = await findMessage(model, TENANT, 'm-e1')
    assert.deepEqual(message?.evidence, [])
    assert.equal(message?.events[0]?.data, undefined)
    const trace = await traceEvent(model, TENANT, event)
    assert.equal('data' in trace.event, false)
    assert.deepEqual(decisions({}, model)[0]?.verdict, { ...verdictOf(verdict), evidence: [] })
  }
  assert.equal(await rebuilt.hash(), await world.model.hash())
})

function verdictOf({ body: _body, ...verdict }: { body: unknown; id: string }) {
  return verdict
}

it('builds itself again from the topics and holds the same (I18)', async () => {
  const event = anEvent('e1')
  await world.append(eventRecord(event), candidateRecord(event, 's1'), decisionRecord(event, 's1'))
  await world.append(messageRecord(event), noticeRecord('storm'))
  const before = await world.model.hash()
  const heard: unknown[] = []
  const watching = world.model.watch(TENANT, change => heard.push(change))
  await world.model.rebuild()
  assert.equal(await world.model.hash(), before)
  assert.deepEqual(heard, [], 'what is read again is no news')
  watching()
})
