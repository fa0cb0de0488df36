import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AmbitError } from '../../errors.ts'
import { parseWith } from '../parse-with.ts'
import type { CalendarObject } from './calendar-object.ts'
import { changeOf } from './compare-objects.ts'
import { nextInstances } from './expand-object.ts'
import { objectFrom, objectSchema, objectView } from './object-input.ts'

const place = { calendar: 'team', uid: 'a', zone: 'Europe/Madrid' }
const read = (body: object) => objectFrom(parseWith(objectSchema, body), place)
const spans = (object: CalendarObject, limit = 3) =>
  nextInstances(object, { edge: 'start', afterMs: 0, limit }).map(({ startMs, endMs }) =>
    [startMs, endMs].map(at => new Date(at).toISOString().slice(0, 16)).join(' '),
  )

describe('a meeting in JSON', () => {
  it('times are local in its zone, else in the calendar’s, or instants', () => {
    const start = (text: string, tzid?: string) =>
      spans(read({ start: text, tzid }))[0]?.slice(0, 16)
    assert.equal(start('2026-07-15T09:00:00'), '2026-07-15T07:00')
    assert.equal(start('2026-07-15T09:00', 'Asia/Tokyo'), '2026-07-15T00:00')
    assert.equal(start('2026-07-15T09:00:00Z'), '2026-07-15T09:00')
    assert.equal(start('2026-07-15T09:00:00.000+02:00', 'Asia/Tokyo'), '2026-07-15T07:00')
    assert.equal(start('2026-07-15'), '2026-07-14T22:00')
  })
  it('an instant with a zone repeats on the clock of that zone', () => {
    const object = read({
      ...{ start: '2026-10-24T07:00:00Z', end: '2026-10-24T07:30:00Z' },
      ...{ tzid: 'Europe/Madrid', rrule: 'RRULE:FREQ=DAILY;COUNT=2' },
    })
    assert.deepEqual(spans(object), [
      ...['2026-10-24T07:00 2026-10-24T07:30', '2026-10-25T08:00 2026-10-25T08:30'],
    ])
  })
  it('exceptions move, rename and cancel instances', () => {
    const object = read({
      ...{ start: '2026-07-15T09:00', durationMs: 600_000, rrule: 'FREQ=DAILY;COUNT=4' },
      exdates: ['2026-07-18'],
      exceptions: [
        { recurrenceId: '2026-07-16T09:00', start: '2026-07-16T11:00', summary: 'later' },
        { recurrenceId: '2026-07-17', status: 'cancelled' },
      ],
    })
    assert.deepEqual(spans(object, 9), [
      ...['2026-07-15T07:00 2026-07-15T07:10', '2026-07-16T09:00 2026-07-16T09:10'],
    ])
  })
  it('what is shown can be written back and changes nothing', () => {
    const object = read({
      ...{
        start: '2026-07-15',
        end: '2026-07-17',
        summary: 'Offsite',
        attendees: ['mailto:A@b.c'],
      },
      ...{ categories: ['x'], rrule: 'FREQ=YEARLY', exdates: ['2027-07-15'], sequence: 2 },
      exceptions: [{ recurrenceId: '2028-07-15', start: '2028-07-20' }],
    })
    const again = read(objectView(object))
    assert.equal(changeOf(object, again), null)
    assert.deepEqual(object.main?.attendees, ['a@b.c'])
  })
  it('what does not fit is refused with the place', () => {
    const wrong: [object, string][] = [
      [{}, '/start'],
      [{ start: 'tomorrow' }, '/start'],
      [{ start: '2026-02-30T09:00' }, '/start'],
      [{ start: '2026-07-15T09:00', end: '2026-07-15T08:00' }, '/end'],
      [{ start: '2026-07-15T09:00', end: '2026-07-15T10:00', durationMs: 1 }, '/durationMs'],
      [{ start: '2026-07-15T09:00', tzid: 'Mars/Olympus' }, '/tzid'],
      [{ start: '2026-07-15T09:00', rrule: 'FREQ=SOMETIMES' }, '/rrule'],
      [{ start: '2026-07-15T09:00', exdates: ['2026-02-30'] }, '/exdates/0'],
      [{ start: '2026-07-15T09:00', title: 'x' }, '/title'],
    ]
    for (const [body, pointer] of wrong) {
      assert.throws(
        () => read(body),
        error => error instanceof AmbitError && error.facts.pointer === pointer,
        pointer,
      )
    }
  })
})
