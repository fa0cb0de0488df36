/** What happened, as people read it: decisions, traces, explanations, notices, the stream. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from '#services/client/api.ts'
import type {
  AuditEntry,
  Decision,
  Explanation,
  Notice,
  Trace,
} from '#services/client/api-history.ts'
import { type Api, eventually } from '#test/support/api-caller.ts'
import { assertProblem, createScene, type GetWorld, type Scene } from './scene.ts'

type MakeScene = (name: string) => Scene

export function historyCases(world: GetWorld): void {
  const scene: MakeScene = name => createScene(world().api, name)
  describe('decisions and traces', () => {
    decisionCases(scene)
    traceCases(scene)
  })
  describe('explanations', () => {
    explainCases(scene)
    unmatchedCases(scene)
  })
  describe('notices, audit and the stream', () => {
    noticeCases(scene)
    auditCases(scene)
    streamCases(scene)
  })
}

const named = (source: string, id: string, more: Record<string, string> = {}) =>
  new URLSearchParams({ source, id, ...more })

function decisionCases(scene: MakeScene): void {
  it('a row tells who, what, which fate, and why', async () => {
    const s = scene('row')
    const subscription = await s.subscribe()
    const time = new Date().toISOString()
    const row = await s.fate(subscription, { time })
    assert.match(row.candidateId, /^c_/)
    assert.deepEqual(
      [row.subscription, row.version, row.fate, row.repeats, row.policyVersion >= 0],
      [subscription.id, 1, 'delivered', 0, true],
    )
    const { source, type } = row.event
    assert.deepEqual([source, type], [s.source, 'e2e.happened'])
    assert.equal(Date.parse(String(row.event.time)), Date.parse(time))
    const [message] = await s.api.messages(s.agent)
    assert.equal(row.messageId, message?.id)
    assert.match(row.at, /Z$/)
  })

  it('rows are filtered and paged, newest first', async () => {
    const s = scene('filter')
    const subscription = await s.subscribe({ cooldownMs: 60_000 })
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) {
      ids.push(await s.send())
      await s.api.decision(subscription.id, ids[n] ?? '')
    }
    const fates = async (query: Record<string, string>) =>
      (await s.api.decisions({ subscription: subscription.id, ...query })).map(({ fate }) => fate)
    assert.equal((await fates({})).length, 5)
    assert.deepEqual(await fates({ fate: 'delivered' }), ['delivered'])
    assert.equal((await fates({ fate: 'cooldown' })).length, 4)
    assert.deepEqual(await fates({ event: ids[0] ?? '', source: '/elsewhere' }), [])
    assert.deepEqual(await fates({ until: '2020-01-01T00:00:00Z' }), [])
    assert.equal((await fates({ since: '2020-01-01T00:00:00Z' })).length, 5)
    const seen: string[] = []
    let cursor: string | null | undefined
    do {
      const query = new URLSearchParams({ subscription: subscription.id, limit: '2' })
      if (cursor) query.set('cursor', cursor)
      const page = await s.api.ok<Page<Decision>>('GET', `/v1/decisions?${query}`)
      seen.push(...page.items.map(({ event }) => event.id))
      cursor = page.next
    } while (cursor)
    assert.deepEqual(seen, ids.toReversed())
    assert.equal((await s.api.call('GET', '/v1/decisions?fate=lost')).status, 422)
  })
}

function traceCases(scene: MakeScene): void {
  it('a trace has every hop in order, and the runs', async () => {
    const s = scene('trace')
    const subscription = await s.subscribe()
    const id = await s.send({ data: { n: 1 } })
    const item = await s.take()
    await s.api.complete(item)
    const trace = await eventually('the run in the trace', async () => {
      const found = await s.api.ok<Trace>('GET', `/v1/traces?${named(s.source, id)}`)
      return found.hops.some(({ hop }) => hop === 'run') ? found : `${found.hops.length} hops`
    })
    assert.deepEqual(
      trace.hops.map(({ hop }) => hop),
      ['accepted', 'matched', 'decided', 'message', 'leased', 'run'],
    )
    const times = trace.hops.map(({ at }) => at)
    assert.deepEqual(times, times.toSorted())
    assert.deepEqual((trace.event as { data?: unknown }).data, { n: 1 })
    assert.equal(trace.hops[1]?.subscription, subscription.id)
  })

  it('an erased event keeps its fate and loses its body', async () => {
    const s = scene('erase')
    const subscription = await s.subscribe()
    const id = await s.send({ data: { name: 'Ana Personal' } })
    await s.api.decision(subscription.id, id, 'delivered')
    const query = named(s.source, id)
    assert.equal((await s.api.call('DELETE', `/v1/events?${query}`)).status, 204)
    assert.equal((await s.api.call('DELETE', `/v1/events?${query}`)).status, 204)
    for (const path of [
      `/v1/traces?${query}`,
      `/v1/explain?${named(s.source, id, { subscription: subscription.id })}`,
      `/v1/mailboxes/${s.agent}/messages`,
    ]) {
      const { status, text } = await s.api.call('GET', path)
      assert.equal(status, 200, text)
      assert.ok(!text.includes('Ana Personal'), path)
    }
    assert.equal((await s.api.decision(subscription.id, id)).fate, 'delivered')
  })

  it('an event nobody sent has no trace', async () => {
    const { api } = scene('no-trace')
    assertProblem(await api.call('GET', '/v1/traces?source=/no&id=none'), 404, 'not-found')
    const missing = await api.call('GET', '/v1/traces?source=/no')
    assert.equal(assertProblem(missing, 422, 'invalid').pointer, '/id')
  })
}

function explain(s: Scene, subscription: string, id: string): Promise<Explanation> {
  const query = named(s.source, id, { subscription })
  return s.api.ok<Explanation>('GET', `/v1/explain?${query}`)
}

function explainCases(scene: MakeScene): void {
  it('a delivered pair fired, a duplicate did not, and says which was first', async () => {
    const s = scene('explain')
    const subscription = await s.subscribe()
    const first = await s.send({ dedupkey: 'k' })
    await s.api.decision(subscription.id, first, 'delivered')
    const second = await s.send({ dedupkey: 'k' })
    await s.api.decision(subscription.id, second, 'duplicate')
    const delivered = await explain(s, subscription.id, first)
    assert.deepEqual([delivered.fired, delivered.fate], [true, 'delivered'])
    assert.ok(delivered.messageId)
    assert.ok(delivered.steps.every(({ outcome }) => outcome === 'passed'))
    const duplicate = await explain(s, subscription.id, second)
    assert.deepEqual([duplicate.fired, duplicate.fate], [false, 'duplicate'])
    const failed = duplicate.steps.filter(({ outcome }) => outcome === 'failed')
    assert.deepEqual(
      failed.map(({ step }) => step),
      ['dedup'],
    )
    assert.match(JSON.stringify(failed[0]?.actual), new RegExp(`${delivered.messageId}`))
  })

  it('a pair that never matched names the filter and the values it read', async () => {
    const s = scene('never')
    const filters = [{ exact: { 'data.language': 'es' } }, { cel: 'data.total > 100.0' }]
    const subscription = await s.subscribe(undefined, { filters })
    const witness = await s.subscribe(undefined, { name: 'witness' })
    const id = await s.send({ data: { language: 'es', total: 7.5 } })
    await s.api.decision(witness.id, id)
    const { fired, fate, steps } = await explain(s, subscription.id, id)
    assert.deepEqual([fired, fate], [false, null])
    const failed = steps.filter(({ outcome }) => outcome === 'failed')
    assert.equal(failed.length, 1)
    assert.deepEqual(failed[0]?.expected, { cel: 'data.total > 100.0' })
    assert.match(JSON.stringify(failed[0]?.actual), /7\.5/)
    const passed = steps.find(({ expected }) => JSON.stringify(expected)?.includes('language'))
    assert.equal(passed?.outcome, 'passed')
    assert.match(JSON.stringify(passed?.actual), /es/)
  })

  it('a filter that errs on an event does not match, and says why', async () => {
    const s = scene('err')
    const filters = [{ cel: 'data.total > 100.0' }]
    const subscription = await s.subscribe(undefined, { filters })
    const witness = await s.subscribe(undefined, { name: 'witness' })
    const id = await s.send({ data: { other: true } })
    await s.api.decision(witness.id, id)
    const { fate, steps } = await explain(s, subscription.id, id)
    assert.equal(fate, null)
    const failed = steps.find(({ outcome }) => outcome === 'failed')
    assert.ok(failed?.reason, 'the error')
  })
}

function unmatchedCases(scene: MakeScene): void {
  it('events from before, of other types, or never sent are explained', async () => {
    const s = scene('before')
    const witness = await s.subscribe(undefined, { name: 'witness' })
    const early = await s.send()
    await s.api.decision(witness.id, early)
    const subscription = await s.subscribe(undefined, { on: { types: ['other.*'] } })
    const failedSteps = async (id: string) =>
      (await explain(s, subscription.id, id)).steps
        .filter(({ outcome }) => outcome === 'failed')
        .map(({ step }) => step)
    assert.deepEqual(await failedSteps(early), ['startsAt', 'on.types'])
    assert.deepEqual(await failedSteps('never-sent'), ['event'])
    const unknown = await s.api.call(
      'GET',
      `/v1/explain?${named('/a', 'b', { subscription: 'no' })}`,
    )
    assertProblem(unknown, 404, 'not-found')
  })

  it('filters of every dialect pass and fail as they should', async () => {
    const s = scene('dialects')
    const matching = [
      { exact: { type: 'a.b' } },
      { prefix: { 'data.path': '/in' } },
      { suffix: { 'data.path': 'box' } },
      { all: [{ exact: { 'data.n': '1' } }, { not: { exact: { type: 'x' } } }] },
      { any: [{ exact: { type: 'x' } }, { cel: 'has(data.path)' }] },
    ]
    const all = await s.subscribe(undefined, { filters: matching })
    const none = await s.subscribe(undefined, { name: 'none', filters: [{ not: matching[0] }] })
    const id = await s.send({ type: 'a.b', data: { path: '/inbox', n: '1' } })
    await s.api.decision(all.id, id, 'delivered')
    assert.deepEqual(await s.api.decisions({ subscription: none.id }), [])
  })
}

function noticeCases(scene: MakeScene): void {
  it('a notice is told once and acknowledged once', async () => {
    const s = scene('notice')
    const subscription = await s.subscribe({ budget: { activationsPerDay: 0 } })
    assert.equal((await s.fate(subscription)).fate, 'over-budget')
    const notice = await eventually('the notice', async () => {
      const { items } = await s.api.ok<Page<Notice>>('GET', '/v1/notices?limit=200')
      return items.find(each => each.subscription === subscription.id)
    })
    for (const member of ['id', 'kind', 'severity', 'cause', 'text', 'at'] as const) {
      assert.equal(typeof notice[member], 'string', member)
    }
    const path = `/v1/notices/${notice.id}/ack`
    const first = await s.api.ok<Notice>('POST', path)
    const second = await s.api.ok<Notice>('POST', path)
    assert.ok(first.ackAt)
    assert.equal(second.ackAt, first.ackAt)
    assertProblem(await s.api.call('POST', '/v1/notices/none/ack'), 404, 'not-found')
  })
}

function auditCases(scene: MakeScene): void {
  it('a history holds every change with who, when and what', async () => {
    const s = scene('history')
    const { id } = await s.subscribe()
    const path = `/v1/subscriptions/${id}`
    await s.api.ok('PATCH', path, { instruction: 'Other.' })
    await s.api.ok('POST', `${path}/pause`, { reason: 'holiday' })
    await s.api.call('PATCH', path, { body: { name: 'x' }, headers: { 'if-match': '1' } })
    const history = await eventually('three changes', async () => {
      const { items } = await s.api.ok<Page<AuditEntry>>('GET', `${path}/history`)
      return items.length === 3 ? items : `${items.length}`
    })
    assert.deepEqual(
      history.map(({ action, version }) => [action, version]),
      [
        ['pause', 3],
        ['patch', 2],
        ['create', 1],
      ],
    )
    assert.equal(history[0]?.reason, 'holiday')
    assert.match(JSON.stringify(history[1]?.changes), /Other\./)
    const refused = await eventually('the refusal', async () => {
      const query = `kind=subscription&id=${id}&outcome=refused`
      const { items } = await s.api.ok<Page<AuditEntry>>('GET', `/v1/audit?${query}`)
      return items[0]
    })
    assert.equal(refused.action, 'patch')
  })

  it('the system shows planes and steps, and all of them catch up', async () => {
    const { api } = scene('system')
    const system = await eventually('everything caught up', async () => {
      const found = await api.ok<SystemView>('GET', '/v1/system')
      const behind = found.steps.filter(({ lag }) => lag > 100)
      return behind.length === 0 ? found : JSON.stringify(behind)
    })
    assert.equal(system.planes.control.alive, true)
    assert.equal(system.planes.execution.state, 'running')
    const steps = system.steps.map(({ step }) => step)
    for (const step of ['match', 'judge', 'guard', 'mailbox-dispatcher', 'registry']) {
      assert.ok(steps.includes(step), step)
    }
  })

  it('the system shows scheduler, poller and judge, each with what it has done', async () => {
    const s = scene('services')
    const soon = Temporal.Now.instant().add({ seconds: 10 }).toZonedDateTimeISO('UTC')
    const once = soon.toPlainDateTime().toString({ smallestUnit: 'second' })
    await s.subscribe(undefined, { on: undefined, schedule: { once, tzid: 'UTC' } })
    const services = await eventually('the mark of the schedule', async () => {
      const found = await s.api.ok<SystemView>('GET', '/v1/system')
      const [scheduler] = found.services
      return Date.parse(String(scheduler?.markedAt)) > 0 ? found.services : JSON.stringify(found)
    })
    const [scheduler, poller, judge] = services
    assert.equal(scheduler?.service, 'scheduler')
    assert.equal(scheduler?.zoneDatabase, process.versions.tz)
    assert.equal(poller?.service, 'mcp-poller')
    assert.equal(poller?.lagMs, 0)
    assert.equal(judge?.service, 'judge')
    assert.equal(typeof judge?.waiting, 'number')
  })
}

interface SystemView {
  planes: { control: { alive: boolean }; execution: { state: string } }
  steps: { step: string; lag: number }[]
  services: { service: string; [fact: string]: unknown }[]
}

function streamCases(scene: MakeScene): void {
  it('the stream tells of decisions, mailbox changes and notices as they come', async () => {
    const s = scene('stream')
    const subscription = await s.subscribe({ storm: { windowMs: 60_000, max: 1 } })
    const stream = await openStream(s.api)
    await s.send()
    await s.send()
    await stream.until(events => {
      const text = events.join('\n')
      const isOwn = text.includes(subscription.id)
      return (
        isOwn && ['decision', 'mailbox', 'notice'].every(kind => text.includes(`event: ${kind}`))
      )
    })
    stream.close()
  })
}

async function openStream(api: Api) {
  const ended = new AbortController()
  const answer = await fetch(`${api.url}/v1/stream`, {
    headers: { authorization: `Bearer ${api.key}` },
    signal: ended.signal,
  })
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/)
  const events: string[] = []
  const read = async () => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of answer.body ?? []) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = parts.pop() ?? ''
      events.push(...parts)
    }
  }
  read().catch(() => {})
  return {
    close: () => ended.abort(),
    until: (isEnough: (events: string[]) => boolean) =>
      eventually('the stream', async () => (isEnough(events) ? events : `${events.length} events`)),
  }
}
