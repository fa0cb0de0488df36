import assert from 'node:assert/strict'
import { it } from 'node:test'
import { anchorBook, type Given, scheduled } from '#test/support/schedule-sample.ts'
import { createScheduleLagBook, OWED_AFTER_MS } from './schedule-lag.ts'

const NINE = Date.parse('2026-03-02T09:00:00Z')
const MINUTE = 60_000
const daily = { dtstart: '2026-03-02T09:00:00', tzid: 'UTC', rrule: 'FREQ=DAILY' }
const key = 'acme/subscription/s1'

function book(given: Partial<Given> = {}) {
  const calendars = anchorBook()
  const lag = createScheduleLagBook(calendars.book.find)
  const subscription = scheduled({ since: NINE - MINUTE, schedule: daily, ...given })
  lag.setSubscription(key, subscription)
  const revision = subscription.scheduled?.revision ?? ''
  const mark = (decidedMs: number, more: { revision?: string } = {}) =>
    lag.setMark(key, { revision, decidedMs, tz: '2026a', at: decidedMs, ...more })
  return { lag, mark, put: calendars.put }
}

it('an instant that nobody decided is overdue, and its age is the lag', () => {
  const { lag } = book()
  assert.equal(lag.state(NINE + OWED_AFTER_MS).overdue, 0)
  assert.deepEqual(lag.state(NINE + MINUTE), {
    ...{ schedules: 1, overdue: 1, oldestLateMs: MINUTE },
    ...{ markedAt: null, zoneDatabase: null },
  })
})

it('a mark takes the instant away and shows when and with which zones it was decided', () => {
  const { lag, mark } = book()
  assert.equal(lag.state(NINE + MINUTE).overdue, 1)
  mark(NINE)
  assert.deepEqual(lag.state(NINE + MINUTE), {
    ...{ schedules: 1, overdue: 0, oldestLateMs: 0 },
    ...{ markedAt: new Date(NINE).toISOString(), zoneDatabase: '2026a' },
  })
})

it('a mark of another revision decides nothing', () => {
  const { lag, mark } = book()
  mark(NINE, { revision: 'former' })
  assert.equal(lag.state(NINE + MINUTE).overdue, 1)
})

it('an older mark that comes late changes nothing', () => {
  const { lag, mark } = book()
  mark(NINE)
  mark(NINE - MINUTE)
  assert.equal(lag.state(NINE + MINUTE).overdue, 0)
})

it('a paused schedule owes nothing', () => {
  const { lag } = book({ operation: 'paused' })
  assert.deepEqual(lag.state(NINE + MINUTE).schedules, 0)
})

it('jitter puts the debt off', () => {
  const { lag } = book({ schedule: { ...daily, jitterMs: 3_600_000 } })
  const at = (ms: number) => lag.state(NINE + ms).overdue
  assert.equal(at(3_600_000 + 2 * OWED_AFTER_MS), 1)
  assert.equal(at(OWED_AFTER_MS + 1), 0)
})

it('a meeting that moves takes its instant along, and one put late is owed from then', () => {
  const anchor = { calendar: 'work', uid: 'm1', edge: 'start', offsetMs: 0 }
  const { lag, put } = book({ schedule: { anchor } })
  put('m1', '2026-03-02T09:00:00', NINE - MINUTE)
  assert.equal(lag.state(NINE + MINUTE).overdue, 1)
  put('m1', '2026-03-02T10:00:00', NINE + MINUTE)
  assert.equal(lag.state(NINE + MINUTE).overdue, 0)
  put('m1', '2026-03-02T09:00:30', NINE + 2 * MINUTE)
  assert.equal(lag.state(NINE + 2 * MINUTE).overdue, 0)
  assert.equal(lag.state(NINE + 3 * MINUTE).oldestLateMs, MINUTE)
})
