/** The routes over a log in memory; the evaluator is a function of the test. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { Registry } from 'prom-client'
import { systemClock, systemIds } from '#kernel/adapters/system/system-clock.ts'
import { createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { NO_USAGE, type OpenTrial } from '#kernel/domain/trial.ts'
import { createDirectory } from '#kernel/host/directory.ts'
import { createHttpApp, type HttpApp } from '#kernel/host/http-app.ts'
import { type LiveTables, openLiveTables } from '#kernel/host/live-tables.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import type { TrialResult, Verdict } from '#schemas/generated/records.ts'
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
import { labelRoutes } from './label-routes.ts'

let world: HappenedWorld
let tables: LiveTables
let labels: LiveTables
let app: HttpApp
let asked: OpenTrial[]
/** The evaluator answers, and lets everything match. */
let isAway: boolean

beforeEach(async () => {
  world = await openHappenedWorld()
  asked = []
  isAway = false
  const { log, model } = world
  const open = (topics: string[]) => openLiveTables({ log, codec, clock: systemClock, topics })
  tables = await open(['subscriptions', 'policies'])
  labels = await open(['labels'])
  app = await createHttpApp({
    ...{ logger: silentLogger, ids: systemIds, metrics: new Registry(), ratePerSecond: 0 },
    notReady: () => [],
  })
  const never = () => assert.fail('not part of this test')
  labelRoutes(app, {
    ...{ model, tables, labels, ids: systemIds, clock: systemClock },
    ...{ directory: createDirectory(tables), calendars: { book: createCalendarBook() } },
    ...{
      registry: { ask: never, answerOf: never, stop: never },
      signer: { sign: never, verify: never },
    },
    trials: {
      start: async trial => void asked.push(trial),
      wait: async id => answer(id),
      ...{ publish: never, resultOf: never, stop: never },
    },
    authenticate: async () => ({ tenant: TENANT, kind: 'person', id: 'ana', roles: ['admin'] }),
    lastOf: never,
  })
  const condition = { criterion: 'it is good', minConfidence: 0.7, scope: 'each' as const }
  await world.append(subscriptionRecord('s1', { condition }))
  await tables.barrier()
})
afterEach(async () => {
  await app.close()
  await labels.stop()
  await tables.stop()
  await world.stop()
})

function answer(id: string): TrialResult | undefined {
  const trial = asked.find(each => each.id === id)
  if (!trial || isAway) return undefined
  const { tenant, kind } = trial
  const verdict = { outcome: 'matched' } as Verdict
  const items = trial.items.map(item => ({ ...item, failed: null, verdict }))
  const usage = { ...NO_USAGE, calls: 1, totalTokens: 10 }
  return {
    ...{ id, tenant, kind, state: 'done', reason: null },
    items,
    usage,
    progress: null,
    at: 0,
  }
}

/** Labels a verdict `matched` as right. */
async function label(id: string, at: string, eventId = id): Promise<void> {
  const doc = {
    ...{ id, tenant: TENANT, version: 1, subscription: 's1', source: SOURCE, eventId },
    ...{ label: 'right', outcome: 'matched', verdictId: null, by: 'user:ana', at },
  }
  const document = { tenant: TENANT, kind: 'label', id, version: 1, deleted: false, doc }
  const key = tenantKey(TENANT, 'label', id)
  await world.append(logRecord('labels', key, { ...document, updatedAt: 0 }))
}

async function compare() {
  const url = '/v1/subscriptions/s1/labels/compare'
  const answered = await app.inject({ method: 'POST', url, payload: {} })
  return { status: answered.statusCode, body: answered.json() }
}

const instant = (minute: number) => new Date(Date.UTC(2026, 10, 30, 9, minute)).toISOString()

it('asks for one dry run after the other, each of at most 50 events', async () => {
  for (let n = 0; n < 51; n++) {
    await label(`e${n}`, instant(n))
    await world.append(eventRecord(anEvent(`e${n}`)))
  }
  const { status, body } = await compare()
  assert.deepEqual(
    [status, body.after.labelled, body.flips, body.usage.totalTokens],
    [200, 51, [], 20],
  )
  assert.deepEqual(
    asked.map(({ stage, kind, items }) => [stage, kind, items.length]),
    [
      ['judge', 'test', 50],
      ['judge', 'test', 1],
    ],
  )
})

it('asks nobody where retention took all labelled events', async () => {
  await label('e1', instant(1))
  isAway = true
  const { status, body } = await compare()
  assert.deepEqual([status, body.gone, body.after.labelled, body.usage], [200, 1, 0, NO_USAGE])
  assert.deepEqual(asked, [])
})

it('refuses where the evaluator does not answer', async () => {
  await label('e1', instant(1))
  await world.append(eventRecord(anEvent('e1')))
  isAway = true
  const { status, body } = await compare()
  assert.deepEqual([status, body.code], [409, 'conflict'])
  assert.match(body.detail, /labelled events could not be judged: no answer in time/)
})

// Ids are hashes, so they say nothing of when; several labels may be given within one millisecond.
it('lists each label once over all pages, oldest first', async () => {
  const given: [id: string, minute: number][] = [
    ['d', 1],
    ['a', 3],
    ['c', 2],
    ['e', 2],
    ['b', 2],
  ]
  for (const [id, minute] of given) await label(id, instant(minute))
  for (const limit of [1, 2, 3, 5]) {
    const listed: string[] = []
    let query = `limit=${limit}`
    while (query !== '') {
      const { items, next } = (await app.inject(`/v1/subscriptions/s1/labels?${query}`)).json()
      assert.ok(items.length > 0 && items.length <= limit)
      for (const { id } of items) listed.push(id)
      query = next === null ? '' : `limit=${limit}&cursor=${next}`
    }
    assert.equal(listed.join(''), 'dbcea', `${limit} per page`)
  }
})
