import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meetingIn } from '#test/support/meeting-sample.ts'
import { createCalendarBook } from './calendar-book.ts'
import { calendarObjectKey } from './calendar-object.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 5, 1, 12)
const anchor = { calendar: 'work', uid: 'm1', edge: 'start' as const, offsetMs: 0 }

/** A book, and a way to write one version of the meeting `m1`; `null` deletes it. */
function open() {
  const book = createCalendarBook()
  const facts = { tenant: 'acme', kind: 'calendar-object', id: 'work/m1', updatedAt: 0 }
  return {
    book,
    write(version: number, start: string | null, toldMs: number, summary = 'Plan') {
      const { main, ...rest } = meetingIn('work', 'm1', start ?? '2026-06-01T13:00:00')
      const doc = { ...rest, main: main && { ...main, summary } }
      return book.apply({ ...facts, version, deleted: start === null, doc }, toldMs)
    },
    found: () => book.find('acme')(anchor, NOON, 5),
    starts: () =>
      book
        .find('acme')(anchor, NOON, 5)
        .map(({ edgeMs }) => (edgeMs - NOON) / HOUR),
  }
}

test('of two versions with one number the first in the log has won; older ones are late', () => {
  const { write, starts } = open()
  assert.ok(write(1, '2026-06-01T13:00:00', NOON))
  assert.ok(write(2, '2026-06-01T14:00:00', NOON))
  assert.equal(write(2, '2026-06-01T15:00:00', NOON), undefined)
  assert.equal(write(1, '2026-06-01T16:00:00', NOON), undefined)
  assert.deepEqual(starts(), [2])
})

test('a late version does not bring back what was deleted, a forgotten key begins anew', () => {
  const { book, write, starts } = open()
  write(1, '2026-06-01T13:00:00', NOON)
  write(2, null, NOON)
  write(1, '2026-06-01T13:00:00', NOON)
  assert.deepEqual(starts(), [])
  assert.equal(book.lost('acme', anchor), 'deleted')
  book.forget(calendarObjectKey('acme', 'work', 'm1'))
  write(1, '2026-06-01T14:00:00', NOON)
  assert.deepEqual(starts(), [2])
})

test('an instance was told of when it came to where it stands', () => {
  const { write, found } = open()
  const told = () => (found()[0]?.toldMs ?? 0) - NOON
  write(1, '2026-06-01T13:00:00', NOON)
  write(2, '2026-06-01T13:00:00', NOON + 2 * HOUR, 'Review')
  assert.equal(told(), 0, 'another title')
  write(3, '2026-06-01T13:30:00', NOON + 3 * HOUR)
  assert.equal(told(), 3 * HOUR, 'moved')
  write(4, '2026-06-01T13:00:00', NOON + 4 * HOUR)
  assert.equal(told(), 4 * HOUR, 'moved back')
})

test('what followed long ago is not remembered', () => {
  const { write, found } = open()
  write(1, '2026-06-01T13:00:00', NOON)
  write(2, '2026-06-01T13:00:00', NOON + 2 * HOUR, 'Review')
  write(3, '2026-06-01T13:00:00', NOON + 30 * DAY, 'Plan')
  assert.equal(found()[0]?.toldMs, NOON + 2 * HOUR)
})
