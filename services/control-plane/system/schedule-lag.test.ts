import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Operation } from '#kernel/domain/subscription.ts'
import { anchorBook, type Given, scheduled } from '#test/support/schedule-sample.ts'
import { createScheduleLagBook, OWED_AFTER_MS } from './schedule-lag.ts'

const NINE = Date.parse('2026-03-02T09:00:00Z')
const MINUTE = 60_000
const daily = { dtstart: '2026-03-02T09:00:00', tzid: 'UTC', rrule: 'FREQ=DAILY' }
const key = 'acme/subscription/s1'

function book(given: Partial<Given> = {}) {
  const calendars = anchorBook()
  let isDeleted = false
  const lag = createScheduleLagBook({
    findAnchors: calendars.book.find,
    isDeleted: () => isDeleted,
  })
  const subscription = scheduled({ since: NINE - MINUTE, schedule: daily, ...given })
  const become = (operation: Operation) => {
    isDeleted = operation === 'deleted'
    lag.setSubscription(key, { ...subscription, state: { ...subscription.state, operation } })
  }
  lag.setSubscription(key, subscription)
  const revision = subscription.scheduled?.revision ?? ''
  const mark = (decidedMs: number, more: { revision?: string } = {}) =>
    lag.setMark(key, { revision, decidedMs, tz: '2026a', at: decidedMs, ...more })
  return { lag, mark, become, put: calendars.put }
}

it('an instant that nobody decided is overdue, and its age is the lag', async () => {
  const { lag } = book()
  assert.equal((await lag.state(NINE + OWED_AFTER_MS)).overdue, 0)
  assert.deepEqual(await lag.state(NINE + MINUTE), {
    ...{ schedules: 1, overdue: 1, oldestLateMs: MINUTE },
    ...{ markedAt: null, zoneDatabase: null },
  })
})

it('a mark takes the instant away and shows when and with which zones it was decided', async () => {
  const { lag, mark } = book()
  assert.equal((await lag.state(NINE + MINUTE)).overdue, 1)
  mark(NINE)
  assert.deepEqual(await lag.state(NINE + MINUTE), {
    ...{ schedules: 1, overdue: 0, oldestLateMs: 0 },
    ...{ markedAt: new Date(NINE).toISOString(), zoneDatabase: '2026a' },
  })
})

it('a mark of another revision decides nothing', async () => {
  const { lag, mark } = book()
  mark(NINE, { revision: 'former' })
  assert.equal((await lag.state(NINE + MINUTE)).overdue, 1)
})

it('an older mark that comes late changes nothing', async () => {
  const { lag, mark } = book()
  mark(NINE)
  mark(NINE - MINUTE)
  assert.equal((await lag.state(NINE + MINUTE)).overdue, 0)
})

it('a paused schedule owes nothing', async () => {
  const { lag } = book({ operation: 'paused' })
  assert.deepEqual((await lag.state(NINE + MINUTE)).schedules, 0)
})

it('jitter puts the debt off', async () => {
  const { lag } = book({ schedule: { ...daily, jitterMs: 3_600_000 } })
  const at = async (ms: number) => (await lag.state(NINE + ms)).overdue
  assert.equal(await at(3_600_000 + 2 * OWED_AFTER_MS), 1)
  assert.equal(await at(OWED_AFTER_MS + 1), 0)
})

it('a meeting that moves takes its instant along, and one put late is owed from then', async () => {
  const anchor = { calendar: 'work', uid: 'm1', edge: 'start', offsetMs: 0 }
  const { lag, put } = book({ schedule: { anchor } })
  put('m1', '2026-03-02T09:00:00', NINE - MINUTE)
  assert.equal((await lag.state(NINE + MINUTE)).overdue, 1)
  put('m1', '2026-03-02T10:00:00', NINE + MINUTE)
  assert.equal((await lag.state(NINE + MINUTE)).overdue, 0)
  put('m1', '2026-03-02T09:00:30', NINE + 2 * MINUTE)
  assert.equal((await lag.state(NINE + 2 * MINUTE)).overdue, 0)
  assert.equal((await lag.state(NINE + 3 * MINUTE)).oldestLateMs, MINUTE)
})

it('the mark of a paused schedule is kept, that of a deleted one forgotten', async () => {
  for (const [operation, overdue] of [['paused', 0] as const, ['deleted', 1] as const]) {
    for (const isMarkLate of [false, true]) {
      const { lag, mark, become } = book()
      if (!isMarkLate) mark(NINE)
      become(operation)
      if (isMarkLate) mark(NINE)
      assert.equal((await lag.state(NINE + MINUTE)).markedAt, new Date(NINE).toISOString())
      // Nobody takes up a deleted one again; here that shows what is still known of it.
      become('active')
      assert.equal((await lag.state(NINE + MINUTE)).overdue, overdue, operation)
    }
  }
})

// Planning a hundred thousand schedules at once would let nobody else in for a second.
it('a question about many schedules lets others have their turn', async () => {
  const count = 5000
  let looked = 0
  const lag = createScheduleLagBook({
    findAnchors: () => () => {
      looked += 1
      return []
    },
    isDeleted: () => false,
  })
  const anchor = { calendar: 'work', uid: 'm1', edge: 'start', offsetMs: 0 }
  const subscription = scheduled({ since: NINE, schedule: { anchor } })
  for (let n = 0; n < count; n++) lag.setSubscription(`${key}-${n}`, subscription)
  let isDone = false
  const told = lag.state(NINE + MINUTE).finally(() => {
    isDone = true
  })
  const lookedPerTurn: number[] = []
  while (!isDone) {
    lookedPerTurn.push(looked)
    looked = 0
    await nextTurn()
  }
  lookedPerTurn.push(looked)
  assert.equal((await told).schedules, count)
  assert.deepEqual(
    lookedPerTurn.filter(each => each > 0),
    [2000, 2000, 1000],
  )
})
