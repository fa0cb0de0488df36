/** The door for events: every line of the case files, as it goes in and as it comes out. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { type Api, eventually } from '#test/support/api-caller.ts'
import { type BodyCase, bodyOf, readCases } from '#test/support/cases.ts'
import { assertProblem, createScene, type GetWorld } from './scene.ts'

interface EventLine extends BodyCase {
  id: string
  why: string
  headers: Record<string, string | string[]>
  expect: { accept: boolean; events: (Record<string, unknown> | '<generated>')[] }
}

interface HostileLine extends BodyCase {
  id: string
  why: string
  headers: Record<string, string>
  expect: '4xx' | 'exact' | '4xx-or-exact'
  statuses?: number[]
}

const LANES = 4
const STRUCTURED = { 'content-type': 'application/cloudevents+json' }
const BATCH = { 'content-type': 'application/cloudevents-batch+json' }

export function eventCases(world: GetWorld): void {
  const lines = readCases<EventLine>('cloudevents.jsonl')
  for (let lane = 0; lane < LANES; lane += 1) {
    // Lines share ids and sources, so those of one lane run one after another.
    describe(`the CloudEvents case file through the door, ${lane}`, { concurrency: 1 }, () => {
      for (const line of lines.filter((_, at) => at % LANES === lane)) {
        it(`${line.id} ${line.why}`, () => tellEvent(world, `lane-${lane}`, line))
      }
    })
  }
  describe('hostile bodies through the door', { concurrency: 2 }, () => {
    for (const line of readCases<HostileLine>('hostile-json.jsonl')) {
      it(`${line.id} ${line.why}`, () => tellHostile(world().api, line))
    }
  })
  describe('bounds of the door', () => boundCases(world))
}

async function tellEvent(world: GetWorld, tenant: string, line: EventLine): Promise<void> {
  const api = await world().inTenant(tenant)
  const body = bodyOf(line)
  const { headers } = line
  if (!line.expect.accept) {
    const { status, json } = await api.call('POST', '/v1/events', { headers, body })
    assert.ok(status >= 400 && status < 500, `${status}`)
    assert.equal(json.status, status)
    return
  }
  const expected = line.expect.events.map(event =>
    event === '<generated>' ? (JSON.parse(body.toString()) as Record<string, unknown>) : event,
  )
  await api.ok('PUT', '/v1/agents/reader', { maxConcurrentLeases: 10 })
  const subscription = { name: 'all', agent: 'reader', instruction: 'Read.', on: {} }
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', subscription)
  const answer = await api.call('POST', '/v1/events', { headers, body })
  assert.equal(answer.status, 202, answer.text)
  const names = expected.map(({ source, id }) => ({ source, id }))
  assert.deepEqual(answer.json, { accepted: names })
  const seen: Record<string, unknown>[] = []
  while (seen.length < expected.length) {
    const items = await api.claim('reader', { max: 10 })
    assert.ok(items.length > 0, `${seen.length} of ${expected.length} events came out`)
    seen.push(...items.flatMap(({ message }) => message.events))
    for (const item of items) await api.complete(item)
  }
  await api.ok('DELETE', `/v1/subscriptions/${id}`)
  const byId = (a: Record<string, unknown>, b: Record<string, unknown>) =>
    String(a.id) < String(b.id) ? -1 : 1
  assert.deepEqual(seen.map(comparable).sort(byId), expected.map(comparable).sort(byId))
}

/** Attributes by canonical string, `time` by instant, data by value; see the cases' README. */
function comparable(event: Record<string, unknown>): Record<string, unknown> {
  const { data, time, ...rest } = event
  const told = Object.entries(rest).filter(([, value]) => value !== null)
  const attributes = Object.fromEntries(told.map(([name, value]) => [name, String(value)]))
  if (attributes.datacontenttype === 'application/json') delete attributes.datacontenttype
  return {
    ...attributes,
    ...('data' in event && { data }),
    ...(time !== undefined && time !== null && { time: Date.parse(String(time)) }),
  }
}

/** The same bytes as a binary event and as a webhook delivery. */
async function tellHostile(api: Api, line: HostileLine): Promise<void> {
  const s = createScene(api, line.id)
  const subscription = await s.subscribe(undefined, { on: { sources: [`*${s.agent}`] } })
  const secret = 'a-shared-secret-of-the-test'
  const verification = { scheme: 'bearer', secret }
  await api.ok('PUT', `/v1/sources/${s.agent}`, { kind: 'webhook', verification })
  const body = bodyOf(line)
  const ce = { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-type': 'a', 'ce-source': s.source }
  const events = { headers: { ...line.headers, ...ce }, body }
  const bearer = { authorization: `Bearer ${secret}` }
  const hook = { headers: { ...line.headers, ...bearer }, body }
  for (const [path, options] of [
    ['/v1/events', events],
    [`/v1/webhooks/${s.agent}`, hook],
  ] as const) {
    // An event in binary form may have no data; a delivery must have some.
    if (path === '/v1/events' && body.length === 0) continue
    const began = performance.now()
    const status = await statusOf(api, path, options)
    assert.ok(performance.now() - began < 10_000, 'answered soon')
    if (status !== 202) {
      assert.notEqual(line.expect, 'exact', `${path}: ${status}`)
      assert.ok(line.statuses?.includes(status) ?? (status >= 400 && status < 500), `${status}`)
      continue
    }
    assert.notEqual(line.expect, '4xx', path)
    const text = await rawMessage(api, s.agent)
    assert.deepEqual(reading(text), reading(`{"data":${body.toString()}}`))
  }
  assert.ok(subscription.id)
}

/** A refusal may come before the last byte of a large body was taken. */
async function statusOf(
  api: Api,
  path: string,
  options: Parameters<Api['call']>[2],
): Promise<number> {
  try {
    return (await api.call('POST', path, options)).status
  } catch (error) {
    const { code } = error as { code?: string }
    assert.ok(code === 'EPIPE' || code === 'ECONNRESET', String(error))
    return 413
  }
}

/** The data of the one message as its bytes lie in the answer, before any parser. */
async function rawMessage(api: Api, agent: string): Promise<string> {
  const body = { executor: 'e2e', leaseMs: 60_000, waitMs: 20_000, max: 1 }
  const { text, json } = await api.call('POST', `/v1/mailboxes/${agent}/claim`, { body })
  const [item] = json.items
  assert.ok(item, 'a message')
  await api.complete(item)
  const from = text.indexOf('"data":')
  assert.ok(from > 0, 'data')
  return `{${text.slice(from, endOfValue(text, from + '"data":'.length))}}`
}

/** The end of the JSON value that starts at `from`. */
function endOfValue(text: string, from: number): number {
  let depth = 0
  let isString = false
  for (let at = from; at < text.length; at += 1) {
    const char = text[at]
    if (isString) {
      if (char === '\\') at += 1
      else if (char === '"') isString = false
    } else if (char === '"') isString = true
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
    if (depth < 0 || (depth === 0 && !isString && (char === ',' || char === undefined))) return at
    if (depth === 0 && !isString && /[}\]"]/.test(char ?? '')) return at + 1
  }
  return text.length
}

/** The number literals of a text and its value without them: the two ways to lose. */
function reading(text: string): { numbers: string[]; shape: unknown } {
  const numbers: string[] = []
  const shape = JSON.parse(text, (_key, value, context?: { source?: string }) => {
    if (typeof value !== 'number') return value
    numbers.push(context?.source ?? '')
    return '#'
  })
  return { numbers, shape }
}

function boundCases(world: GetWorld): void {
  const event = (over = {}) => ({ specversion: '1.0', id: randomUUID(), ...over })
  const post = (headers: Record<string, string>, body: unknown) =>
    world().api.call('POST', '/v1/events', { headers, body })

  it('one bad event refuses the whole batch, and nothing of it is seen', async () => {
    const s = createScene(world().api, 'bad-batch')
    const subscription = await s.subscribe()
    const good = event({ source: s.source, type: 'a' })
    const refused = await post(BATCH, [good, event({ source: s.source, type: '' })])
    assert.equal(assertProblem(refused, 400, 'bad-event').pointer, '/1/type')
    const marker = await s.send()
    assert.equal((await s.api.decision(subscription.id, marker)).fate, 'delivered')
    assert.deepEqual(await s.api.decisions({ event: good.id }), [])
  })

  it('more than a hundred events of a batch are too many', async () => {
    const many = Array.from({ length: 101 }, () => event({ source: '/many', type: 'a' }))
    assertProblem(await post(BATCH, many), 413, 'too-large')
  })

  it('256 KiB of data are taken, and come out whole; one byte more is 413', async () => {
    const s = createScene(world().api, 'large')
    await s.subscribe()
    const text = 'x'.repeat(256 * 1024)
    await s.send({ data: text })
    const { message } = await s.take()
    assert.equal(message.events[0]?.data, text)
    const over = event({ source: s.source, type: 'a', data: `${text}x` })
    assertProblem(await post(STRUCTURED, over), 413, 'too-large')
  })

  it('a body above 1 MiB is 413', async () => {
    const text = 'x'.repeat(200_000)
    const many = Array.from({ length: 6 }, () => event({ source: '/b', type: 'a', data: text }))
    assertProblem(await post(BATCH, many), 413, 'too-large')
  })

  it('a body that is neither form is 415, and one in no known encoding too', async () => {
    assertProblem(await post({ 'content-type': 'text/csv' }, 'a,b'), 415, 'unsupported-media-type')
    const encoded = { ...STRUCTURED, 'content-encoding': 'zstd' }
    assertProblem(await post(encoded, 'x'), 415, 'unsupported-media-type')
  })

  it('a refused attribute is named', async () => {
    const bad = event({ source: '/x', type: 'a', time: 'yesterday' })
    const problem = assertProblem(await post(STRUCTURED, bad), 400, 'bad-event')
    assert.equal(problem.pointer, '/time')
    assert.ok(typeof problem.expected === 'string' && typeof problem.actual === 'string')
  })

  it('events of one key keep their order', async () => {
    const s = createScene(world().api, 'order')
    await s.subscribe()
    const ids = await s.api.publish(
      ...Array.from({ length: 40 }, (_, n) => ({ source: s.source, type: 'a', data: { n } })),
    )
    const messages = await eventually('forty messages', async () => {
      const found = await s.api.messages(s.agent)
      return found.length === ids.length ? found : `${found.length}`
    })
    assert.deepEqual(
      messages.map(({ events }) => events[0]?.id),
      ids,
    )
  })
}
