import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayOf, periodEnd } from './period.ts'

const at = (text: string) => Date.parse(text)

test('a day is the calendar day of the zone', () => {
  assert.equal(dayOf(at('2026-11-30T23:30:00Z'), 'UTC'), '2026-11-30')
  assert.equal(dayOf(at('2026-11-30T23:30:00Z'), 'Europe/Madrid'), '2026-12-01')
  assert.equal(dayOf(at('2026-11-30T22:59:59Z'), 'Europe/Madrid'), '2026-11-30')
})

test('a day of 23 or 25 hours ends at midnight of the zone', () => {
  assert.equal(
    periodEnd(at('2026-03-29T12:00:00Z'), 'Europe/Madrid', 'day'),
    at('2026-03-29T22:00:00Z'),
  )
  assert.equal(
    periodEnd(at('2026-10-25T12:00:00Z'), 'Europe/Madrid', 'day'),
    at('2026-10-25T23:00:00Z'),
  )
})

test('a month ends at the first midnight of the next one, also from its last day', () => {
  assert.equal(periodEnd(at('2026-12-31T12:00:00Z'), 'UTC', 'month'), at('2027-01-01T00:00:00Z'))
  assert.equal(periodEnd(at('2027-01-31T12:00:00Z'), 'UTC', 'month'), at('2027-02-01T00:00:00Z'))
})

test('going back over midnight gives the earlier day again', () => {
  assert.equal(dayOf(at('2026-12-01T00:00:01Z'), 'UTC'), '2026-12-01')
  assert.equal(dayOf(at('2026-11-30T23:59:59Z'), 'UTC'), '2026-11-30')
})
