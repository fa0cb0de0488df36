/**
 * The watch over a log in memory and a read model; the evaluator is a function of the test, which
 * says who judges, what that would cost, and what it finds.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { systemIds } from '#kernel/adapters/system/system-clock.ts'
import { type Connector, connectorSchema } from '#kernel/domain/connector.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { judgeIdentity } from '#kernel/domain/judge-identity.ts'
import { DEFAULT_LIMITS } from '#kernel/domain/limits.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { NO_USAGE, type OpenTrial } from '#kernel/domain/trial.ts'
import { observeSchema } from '#kernel/domain/trigger.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { type LiveTables, openLiveTables } from '#kernel/host/live-tables.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { Notice, TrialResult, Verdict } from '#schemas/generated/records.ts'
import {
  anEvent,
  codec,
  eventRecord,
  type HappenedWorld,
  logRecord,
  openHappenedWorld,
  SOURCE,
  subscriptionRecord,
  TENANT,
} from '#test/support/happened-world.ts'
import type { Comparison } from './compare-labels.ts'
import { type LabelWatch, startLabelWatch } from './label-watch.ts'

let world: HappenedWorld
let tables: LiveTables
let labels: LiveTables
let watches: LabelWatch[]
/** The evaluator, as it is now. */
let judge: { models: string[]; tokens: number; matches: string[]; isAway: boolean }
let asked: OpenTrial[]
let versions: number

beforeEach(async () => {
  world = await openHappenedWorld()
  const clock = tickingClock()
  const open = (topics: string[]) => openLiveTables({ log: world.log, codec, clock, topics })
  tables = await open(['subscriptions', 'policies', 'sources'])
  labels = await open(['labels'])
  watches = []
  asked = []
  versions = 0
  judge = { models: ['small'], tokens: 0, matches: ['a', 'b'], isAway: false }
})
afterEach(async () => {
  for (const each of watches) await each.stop()
  await labels.stop()
  await tables.stop()
  await world.stop()
})

/** A clock whose only sleeper is woken by the test. */
function tickingClock() {
  let wake: (() => void) | undefined
  let asleep = Promise.withResolvers<void>()
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep(_ms: number, signal?: AbortSignal) {
      const { promise, resolve } = Promise.withResolvers<void>()
      signal?.addEventListener('abort', () => resolve(), { once: true })
      wake = resolve
      asleep.resolve()
      return promise
    },
    /** One look, and its end. */
    async tick() {
      await asleep.promise
      asleep = Promise.withResolvers()
      wake?.()
      await asleep.promise
    },
  }
}

async function watch() {
  const clock = tickingClock()
  const { log, model } = world
  watches.push(
    await startLabelWatch({
      ...{ log, model, tables, labels, clock, logger: silentLogger, ids: systemIds },
      writer: createRecordWriter(codec, 'test'),
      store: createMemoryStateStore({ now: () => Date.now() }).open('test'),
      directory: createDirectory(tables),
      trials: { start: async trial => void asked.push(trial), wait: async id => answer(id) },
    }),
  )
  const shared = () =>
    watches
      .flatMap(each => each.status().partitions)
      .sort()
      .join()
  while (shared() !== '0,1') await new Promise(resolve => setImmediate(resolve))
  return { look: clock.tick }
}

/** What the evaluator would say. */
function answer(id: string): TrialResult | undefined {
  const trial = asked.find(each => each.id === id)
  if (!trial || judge.isAway) return undefined
  const { tenant, kind, items, stage } = trial
  const common = { id, tenant, kind, state: 'done', reason: null, at: 0, progress: null }
  if (stage === 'estimate') {
    const tokens = items.length * judge.tokens
    const usage = { ...NO_USAGE, calls: tokens > 0 ? 1 : 0, totalTokens: tokens }
    return {
      ...common,
      items: [],
      usage,
      progress: { judge: judgeIdentity(judge.models, [], 'p1') },
    }
  }
  const judged = items.map(item => {
    const outcome = judge.matches.includes(item.event.id) ? 'matched' : 'not-matched'
    return { ...item, failed: null, verdict: { outcome } as Verdict }
  })
  return { ...common, items: judged, usage: NO_USAGE }
}

async function subscribe(more: Partial<Subscription> = {}): Promise<void> {
  const condition = { criterion: 'it is good', minConfidence: 0.7, scope: 'each' as const }
  versions += 1
  await world.append(subscriptionRecord('s1', { condition, version: versions, ...more }))
}

/** Labels the verdict `matched` on an event. */
async function label(eventId: string, value: 'right' | 'wrong'): Promise<void> {
  const doc = {
    ...{ id: eventId, tenant: TENANT, version: 1, subscription: 's1', source: SOURCE, eventId },
    ...{ label: value, outcome: 'matched', verdictId: null, by: 'user:ana', at: eventId },
  }
  const document = { tenant: TENANT, kind: 'label', id: eventId, version: 1, deleted: false, doc }
  const key = tenantKey(TENANT, 'label', eventId)
  const record = logRecord('labels', key, { ...document, updatedAt: 0 })
  await world.append(eventRecord(anEvent(eventId)), record)
}

async function connect(more: { url?: string; pins?: Connector['pins'] } = {}): Promise<void> {
  const url = 'https://tickets.test/'
  const input = connectorSchema.parse({ transport: 'http', url, allow: [{ operation: 'list' }] })
  versions += 1
  const own = { id: 'tickets', tenant: TENANT, version: versions, owner: 'user:ops', changed: {} }
  const doc = { ...input, pins: {}, ...own, ...more }
  const facts = { tenant: TENANT, kind: 'connector', id: 'tickets', version: versions }
  const record = { ...facts, deleted: false, updatedAt: 0, doc }
  await world.append(logRecord('sources', tenantKey(TENANT, 'connector', 'tickets'), record))
}

async function notices(): Promise<Notice[]> {
  const found = new Map<string, Notice>()
  const following = await world.log.follow({
    topics: ['notices'],
    from: 'beginning',
    onRecords: records => {
      for (const { value } of records) {
        const notice = value && codec.decode('notice', value)
        if (notice) found.set(notice.id, notice)
      }
    },
  })
  await following.barrier()
  await following.stop()
  return [...found.values()]
}

const judged = () => asked.filter(({ stage }) => stage === 'judge').length

it('another judge is compared once on the labelled set, and its flips are told', async () => {
  await subscribe()
  await label('a', 'right')
  await label('b', 'wrong')
  const { look } = await watch()
  await look()
  await look()
  assert.deepEqual([judged(), (await notices()).length], [0, 0], 'nothing has changed yet')
  Object.assign(judge, { models: ['large'], matches: ['a'] })
  await look()
  assert.equal(judged(), 0, 'believed at the second look')
  for (const _ of [1, 2, 3]) await look()
  assert.equal(judged(), 1)
  const [notice, ...others] = await notices()
  assert.deepEqual(others, [])
  assert.equal(
    notice?.text,
    's1: the judge changed from small to large. On 2 labelled events: ' +
      'precision 100 % (was 50 %), recall 100 % (was 100 %), 1 flipped.',
  )
  assert.deepEqual([notice?.kind, notice?.severity], ['labels-compared', 'warning'])
  const details = notice?.details as Pick<Comparison, 'flips'> | undefined
  assert.deepEqual(
    details?.flips.map(({ id, was, now }) => [id, was, now]),
    [['b', true, false]],
  )
})

it('a judge that changes and changes back is told each time, by one of two replicas', async () => {
  await subscribe()
  await label('a', 'right')
  const replicas = [await watch(), await watch()]
  const look = async () => {
    for (const each of replicas) for (const _ of [1, 2]) await each.look()
  }
  await look()
  for (const models of [['large'], ['small'], ['large']]) {
    judge.models = models
    await look()
  }
  assert.deepEqual([judged(), (await notices()).length], [3, 3])
})

it('a change of the connector or of its schema counts, its first reading does not', async () => {
  const observe = observeSchema.parse({ connector: 'tickets', operation: 'list', everyMs: 1000 })
  await subscribe({ on: null, observe })
  await label('a', 'right')
  await connect()
  const { look } = await watch()
  for (const _ of [1, 2]) await look()
  await connect({ pins: { list: 'h1' } })
  for (const _ of [1, 2]) await look()
  assert.equal(judged(), 0)
  await connect({ pins: { list: 'h2' } })
  await look()
  await connect({ pins: { list: 'h2' }, url: 'https://other.test/' })
  await look()
  assert.equal(judged(), 2)
  assert.match((await notices())[0]?.text ?? '', /its connector, or the schema there, changed/)
})

it('a judge that costs waits for a person where no budget says what may be spent', async () => {
  await subscribe()
  await label('a', 'right')
  judge.tokens = 1000
  const { look } = await watch()
  for (const _ of [1, 2]) await look()
  judge.models = ['large']
  for (const _ of [1, 2, 3]) await look()
  assert.equal(judged(), 0)
  const [notice, ...others] = await notices()
  assert.deepEqual([notice?.kind, others.length], ['labels-wait', 0])
  assert.match(notice?.text ?? '', /up to 1000 tokens .* no budget of tokens or money/)
  assert.match(notice?.text ?? '', /POST \/v1\/subscriptions\/s1\/labels\/compare/)
})

it('a judge that costs is asked where the estimate fits, and not where it does not', async () => {
  const limits = (tokensPerDay: number) => ({ ...DEFAULT_LIMITS, budget: { tokensPerDay } })
  await subscribe({ limits: limits(1500) })
  await label('a', 'right')
  judge.tokens = 1000
  const { look } = await watch()
  for (const _ of [1, 2]) await look()
  judge.models = ['large']
  for (const _ of [1, 2]) await look()
  assert.equal(judged(), 1)
  await label('b', 'right')
  judge.models = ['small']
  for (const _ of [1, 2]) await look()
  assert.equal(judged(), 1)
  const texts = (await notices()).map(({ text }) => text).join('\n')
  assert.match(texts, /2000 tokens .*, more than is left of the tokens per day of the subscription/)
})

it('a paused subscription or an evaluator that is away is caught up with later', async () => {
  await subscribe()
  await label('a', 'right')
  const { look } = await watch()
  for (const _ of [1, 2]) await look()
  judge = { ...judge, models: ['large'], isAway: true }
  for (const _ of [1, 2]) await look()
  assert.deepEqual(await notices(), [])
  judge.isAway = false
  const at = new Date().toISOString()
  const paused = { approval: 'not-required', operation: 'paused', by: '', reason: '' } as const
  await subscribe({ state: { ...paused, at, version: 9 } })
  asked = []
  for (const _ of [1, 2]) await look()
  assert.deepEqual(asked, [])
  await subscribe()
  for (const _ of [1, 2]) await look()
  assert.equal((await notices()).length, 1)
})
