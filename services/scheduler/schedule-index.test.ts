import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { anchorBook, scheduled } from '#test/support/schedule-sample.ts'
import { createScheduleIndex, type ScheduleIndex } from './schedule-index.ts'

const NOON = Date.UTC(2026, 5, 1, 12)
const HOUR = 3_600_000
const ALL = new Set([0])

const none = () => () => []
const place = (id: string) => ({ key: `acme/subscription/${id}`, partition: 0 })
const hourly = { dtstart: '2026-01-01T00:00:00', tzid: 'UTC', rrule: 'FREQ=HOURLY' }

function indexOf(...subscriptions: ReturnType<typeof scheduled>[]): ScheduleIndex {
  const index = createScheduleIndex(none)
  for (const each of subscriptions) index.setSubscription(each, place(`${each.tenant}/${each.id}`))
  index.ready(ALL)
  return index
}

describe('schedule index', () => {
  test('keeps the next instant after the start, and gives what is due once', () => {
    const index = indexOf(scheduled({ since: NOON, schedule: hourly }))
    assert.equal(index.nextMs(), NOON + HOUR)
    assert.deepEqual(index.takeDue(NOON + HOUR - 1, 10), [])
    const [entry] = index.takeDue(NOON + HOUR, 10)
    assert.ok(entry)
    assert.deepEqual(index.takeDue(NOON + HOUR, 10), [])
    entry.decidedMs = NOON + HOUR
    index.putBack(entry)
    assert.equal(index.nextMs(), NOON + 2 * HOUR)
  })

  test('a mark moves the next instant, before or after its subscription; lower ones do not', () => {
    const subscription = scheduled({ since: NOON, schedule: hourly })
    const { revision = '' } = subscription.scheduled ?? {}
    const at = place('acme/s1')
    const mark = (hours: number) => ({ revision, decidedMs: NOON + hours * HOUR, gaps: [] })
    const index = createScheduleIndex(none)
    index.setMark(at.key, mark(3))
    index.setSubscription(subscription, at)
    index.ready(ALL)
    assert.equal(index.nextMs(), NOON + 4 * HOUR)
    assert.equal(index.setMark(at.key, mark(5)), false)
    assert.equal(index.nextMs(), NOON + 6 * HOUR)
    assert.equal(index.setMark(at.key, mark(2)), true, 'behind: to be written again')
    assert.equal(index.setMark(at.key, { ...mark(9), revision: 'other' }), false)
    assert.equal(index.nextMs(), NOON + 6 * HOUR)
  })
})

describe('schedule index after changes', () => {
  test('a pause takes it out, older versions do not bring it back, a resume starts anew', () => {
    const index = indexOf(scheduled({ since: NOON, schedule: hourly }))
    const change = (given: { since: number; version: number; operation?: 'paused' }) =>
      index.setSubscription(scheduled({ ...given, schedule: hourly }), place('acme/s1'))
    change({ since: NOON, version: 3, operation: 'paused' })
    assert.equal(index.nextMs(), Number.POSITIVE_INFINITY)
    change({ since: NOON, version: 2 })
    assert.equal(index.nextMs(), Number.POSITIVE_INFINITY)
    change({ since: NOON + 10 * HOUR, version: 4 })
    assert.equal(index.nextMs(), NOON + 11 * HOUR)
  })

  test('an edit of something else keeps the entry, one of the schedule replaces it', () => {
    const index = indexOf(scheduled({ since: NOON, schedule: hourly }))
    const [entry] = index.takeDue(NOON + HOUR, 1)
    assert.ok(entry)
    index.setSubscription(
      scheduled({ since: NOON, schedule: hourly, version: 2 }),
      place('acme/s1'),
    )
    assert.ok(index.holds(entry))
    const daily = { ...hourly, rrule: 'FREQ=DAILY' }
    const edited = scheduled({ since: NOON + HOUR, schedule: daily, version: 3 })
    index.setSubscription(edited, place('acme/s1'))
    assert.ok(!index.holds(entry))
    index.putBack(entry)
    assert.equal(index.nextMs(), NOON + 12 * HOUR)
  })

  test('tenants take turns', () => {
    const flood = Array.from({ length: 50 }, (_, n) =>
      scheduled({ id: `f${n}`, since: NOON, schedule: hourly }),
    )
    const other = scheduled({ tenant: 'bravo', since: NOON, schedule: hourly })
    const taken = indexOf(...flood, other).takeDue(NOON + HOUR, 4)
    assert.equal(taken.filter(({ tenant }) => tenant === 'bravo').length, 1)
    assert.equal(taken.length, 4)
  })

  test('what belongs to a partition that is gone is forgotten', () => {
    const index = indexOf(scheduled({ since: NOON, schedule: hourly }))
    index.keepOnly(new Set([1]))
    assert.equal(index.size, 0)
    assert.equal(index.nextMs(), Number.POSITIVE_INFINITY)
  })

  test('a moved meeting moves its reminder', () => {
    const { book, put } = anchorBook()
    const index = createScheduleIndex(book.find)
    put('m1', '2026-06-01T15:00:00', NOON)
    const anchor = { calendar: 'work', uid: 'm1', edge: 'start', offsetMs: -HOUR / 2 } as const
    const schedule = { anchor, missed: 'latest' } as const
    index.setSubscription(scheduled({ since: NOON, schedule }), place('acme/s1'))
    index.ready(ALL)
    assert.equal(index.nextMs(), NOON + 2.5 * HOUR)
    put('m1', '2026-06-01T17:00:00', NOON + 1)
    index.calendarChanged('acme', 'work')
    assert.equal(index.nextMs(), NOON + 4.5 * HOUR)
    put('m1', null, NOON + 2)
    index.calendarChanged('acme', 'work')
    assert.equal(index.nextMs(), Number.POSITIVE_INFINITY)
  })
})
