import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Agent } from '#kernel/domain/agent.ts'
import { createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { meetingIn } from '#test/support/meeting-sample.ts'
import { applySubscription } from './apply-subscription.ts'
import { type ChangeRequest, isRefusal, type RegistryObject } from './change-request.ts'

const NOW = Date.UTC(2026, 5, 1, 12)
const HOUR = 3_600_000
const agent: Agent = {
  ...{ id: 'helper', tenant: 'acme', version: 1, name: 'Helper' },
  ...{ capabilities: { selfSubscribe: false }, maxConcurrentLeases: 1 },
  ...{ maxAttempts: 5, backoffMs: 1000 },
} as Agent

const book = createCalendarBook()
for (const [uid, local] of [
  ['coming', '2026-06-02T09:00:00'],
  ['past', '2026-05-02T09:00:00'],
] as const) {
  const doc = meetingIn('work', uid, local)
  const kind = 'calendar-object'
  book.apply({ tenant: 'acme', kind, id: uid, version: 1, deleted: false, updatedAt: 0, doc }, 0)
}

type Current = RegistryObject<Subscription> | undefined

function change(current: Current, action: string, body: unknown, now = NOW) {
  const request: ChangeRequest = {
    ...{ changeId: action, tenant: 'acme', kind: 'subscription', id: 's1', action, body },
    by: { tenant: 'acme', kind: 'person', id: 'user:ana', roles: ['admin'] },
    ...{ reason: action, ifVersion: null },
  }
  return applySubscription(current, request, {
    policy: defaultPolicy('acme'),
    ...{ agent: () => agent, connector: () => undefined, startsAt: {}, now },
    calendars: { find: book.find('acme'), lost: anchor => book.lost('acme', anchor) },
  })
}

const written = (schedule: unknown) => ({
  ...{ name: 'reminder', agent: 'helper', instruction: 'Do it.', schedule },
})
const daily = { dtstart: '2026-06-01T09:00:00', tzid: 'Europe/Madrid', rrule: 'FREQ=DAILY' }

function created(schedule: unknown = daily) {
  const made = change(undefined, 'create', written(schedule))
  if (isRefusal(made)) assert.fail(made.message)
  return made.next
}

function next(current: Current, action: string, body: unknown, now: number) {
  const made = change(current, action, body, now)
  if (isRefusal(made)) assert.fail(made.message)
  return made.next
}

describe('schedules in the registry', () => {
  test('say what was expected and what came', () => {
    const facts = (schedule: unknown) => {
      const made = change(undefined, 'create', written(schedule))
      assert.ok(isRefusal(made))
      const { expected, actual } = made.facts ?? {}
      return { expected, actual }
    }
    assert.deepEqual(facts({ ...daily, tzid: 'Europe/Nowhere' }), {
      expected: 'the name of an IANA time zone like "Europe/Madrid"',
      actual: '"Europe/Nowhere"',
    })
    assert.equal(facts({ ...daily, rrule: 'FREQ=WEEKLY;BYDAY=TU' }).actual, '2026-06-01T09:00:00')
    assert.equal(facts({ anchor: { calendar: 'work', uid: 'past' } }).actual, 'a past one')
  })
  const refusals: [what: string, schedule: unknown, pointer: string][] = [
    ['an unknown zone', { ...daily, tzid: 'Europe/Nowhere' }, '/schedule/tzid'],
    ['a rule that is none', { ...daily, rrule: 'FREQ=NEVER' }, '/schedule/rrule'],
    ['a rule that ended', { ...daily, rrule: 'FREQ=DAILY;COUNT=1' }, '/schedule/rrule'],
    [
      'a DTSTART outside its rule',
      { ...daily, rrule: 'FREQ=WEEKLY;BYDAY=TU' },
      '/schedule/dtstart',
    ],
    ['an interval below the policy', { ...daily, rrule: 'FREQ=SECONDLY' }, '/schedule/rrule'],
    ['a past one-shot', { once: '2026-06-01T13:00', tzid: 'Europe/Madrid' }, '/schedule/once'],
    ['an unknown meeting', { anchor: { calendar: 'work', uid: 'x' } }, '/schedule/anchor/uid'],
    ['a past meeting', { anchor: { calendar: 'work', uid: 'past' } }, '/schedule/anchor/uid'],
  ]
  for (const [what, schedule, pointer] of refusals) {
    test(`${what} is refused at ${pointer}`, () => {
      const made = change(undefined, 'create', written(schedule))
      assert.ok(isRefusal(made), what)
      assert.equal(made.refused, 'invalid')
      assert.equal(made.facts?.pointer, pointer)
    })
  }

  test('a coming meeting, and a query that finds nothing yet, are taken', () => {
    created({ anchor: { calendar: 'work', uid: 'coming', offsetMs: -1_800_000 } })
    created({ anchor: { calendar: 'other', query: { category: 'review' } } })
  })

  test('a schedule counts from its creation; an edit of other members keeps that', () => {
    const first = created()
    assert.equal(first.doc.scheduled?.since, '2026-06-01T12:00:00.000Z')
    const renamed = next(first, 'patch', { name: 'other' }, NOW + HOUR)
    assert.deepEqual(renamed.doc.scheduled, first.doc.scheduled)
    const same = next(renamed, 'patch', { schedule: { ...daily } }, NOW + HOUR)
    assert.deepEqual(same.doc.scheduled, first.doc.scheduled)
    const moved = next(same, 'patch', { schedule: { rrule: 'FREQ=DAILY;INTERVAL=2' } }, NOW + HOUR)
    assert.equal(moved.doc.scheduled?.since, '2026-06-01T13:00:00.000Z')
    assert.notEqual(moved.doc.scheduled?.revision, first.doc.scheduled?.revision)
  })

  test('a resume starts at now', () => {
    const paused = next(created(), 'pause', null, NOW + HOUR)
    const resumed = next(paused, 'resume', null, NOW + 2 * HOUR)
    assert.equal(resumed.doc.scheduled?.since, '2026-06-01T14:00:00.000Z')
  })

  test('a schedule that is over may still be renamed', () => {
    const once = created({ once: '2026-06-01T15:00', tzid: 'Europe/Madrid' })
    const later = next(once, 'patch', { name: 'other' }, NOW + 5 * HOUR)
    assert.equal(later.doc.name, 'other')
  })
})
