import assert from 'node:assert/strict'
import { it } from 'node:test'
import { meetingIn } from '#test/support/meeting-sample.ts'
import { OVER_FOR_MAX_MS, overFor } from './over-for.ts'

const HOUR = 3_600_000
const MINUTE = 60_000
const ELEVEN = Date.parse('2026-06-01T11:00:00Z')

/** To the minute, as it is told. */
const near = (found: number | undefined, wanted: number) =>
  assert.ok(found !== undefined && found <= wanted && found > wanted - 2 * MINUTE, `${found}`)

it('a meeting is over since its last start and its last end, never for longer', () => {
  const meeting = meetingIn('work', 'm1', '2026-06-01T09:00:00')
  const { start, end } = overFor(meeting, ELEVEN)
  near(start, 2 * HOUR)
  near(end, HOUR)
})

it('one that is going on has begun and has not ended; one to come has neither', () => {
  const now = overFor(meetingIn('work', 'm1', '2026-06-01T10:30:00'), ELEVEN)
  near(now.start, HOUR / 2)
  assert.equal(now.end, undefined)
  assert.deepEqual(overFor(meetingIn('work', 'm1', '2026-06-01T12:00:00'), ELEVEN), {})
})

it('a series counts from its last instance, and one without an end is never over', () => {
  const single = meetingIn('work', 'm1', '2026-05-30T09:00:00')
  const series = (rrule: string) => overFor({ ...single, rrules: [rrule] }, ELEVEN)
  near(series('FREQ=DAILY;COUNT=3').end, HOUR)
  assert.deepEqual(series('FREQ=DAILY'), {})
})

it('what was over a year ago is told as a year', () => {
  const { end } = overFor(meetingIn('work', 'm1', '2020-01-01T09:00:00'), ELEVEN)
  assert.equal(end, OVER_FOR_MAX_MS)
})
