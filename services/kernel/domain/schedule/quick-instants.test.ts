import assert from 'node:assert/strict'
import { test } from 'node:test'
import { occurrencesOf, readRule } from '../recurrence/next-occurrences.ts'
import { quickInstants } from './quick-instants.ts'

const HOUR = 3_600_000
const ZONES = [
  'UTC',
  'Europe/Madrid',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
]
const RULES = [
  ['FREQ=DAILY', '2025-03-01T02:30:00'],
  ['FREQ=DAILY;INTERVAL=3', '2025-01-31T23:59:59'],
  ['FREQ=WEEKLY', '2025-02-05T02:15:00'],
  ['FREQ=WEEKLY;BYDAY=WE;INTERVAL=2', '2025-02-05T02:15:00'],
  ['FREQ=HOURLY', '2025-03-29T00:30:00'],
  ['FREQ=HOURLY;INTERVAL=5', '2025-01-01T01:01:01'],
  ['FREQ=MINUTELY;INTERVAL=7', '2025-03-29T22:00:00'],
  ['FREQ=DAILY;UNTIL=20250331T070000Z', '2025-03-01T08:00:00'],
  ['FREQ=DAILY;COUNT=40', '2025-03-01T08:00:00'],
  [null, '2025-03-30T02:30:00'],
  [null, '2025-04-05T12:00:00'],
  ['FREQ=MONTHLY', '2025-01-31T08:00:00'],
  ['FREQ=WEEKLY;BYDAY=MO,WE', '2025-02-05T02:15:00'],
] as const

test('the short way gives what the general search gives, wherever it leads', () => {
  let taken = 0
  for (const tzid of ZONES) {
    for (const [rrule, dtstart] of RULES) {
      const read = readRule({ dtstart, tzid, rrule })
      if ('problem' in read) assert.fail(read.problem)
      for (let step = -5; step < 400; step++) {
        const after = Date.UTC(2025, 2, 25) + step * 5.3 * HOUR
        for (const limit of [1, 2, 5]) {
          const quick = quickInstants(read, after, limit)
          if (quick === undefined) continue
          taken += 1
          assert.deepEqual(quick, occurrencesOf(read, after, limit), `${tzid} ${rrule} ${after}`)
        }
      }
    }
  }
  assert.ok(taken > 20_000, `only ${taken}`)
})
