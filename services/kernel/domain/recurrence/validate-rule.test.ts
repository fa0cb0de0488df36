import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RecurrenceRule } from './recurrence-rule.ts'
import { checkRule } from './validate-rule.ts'

const BOUNDS = { shortestIntervalMs: 60_000 }
const DAILY: RecurrenceRule = {
  dtstart: '2024-01-01T09:00:00',
  tzid: 'Europe/Madrid',
  rrule: 'FREQ=DAILY',
}

function answer(changes: Partial<RecurrenceRule>, bounds = BOUNDS): string {
  const check = checkRule({ ...DAILY, ...changes }, bounds)
  return check.ok ? `${check.next.length} from ${check.next[0]?.nominal}` : check.pointer
}

test('an accepted rule shows its first ten instants', () => {
  assert.equal(answer({}), '10 from 2024-01-01T09:00:00[Europe/Madrid]')
  assert.equal(answer({ rrule: null }), '1 from 2024-01-01T09:00:00[Europe/Madrid]')
})

test('only what comes after the given instant is shown, and has to exist', () => {
  const after = { ...BOUNDS, afterMs: Date.parse('2024-06-01T00:00:00Z') }
  assert.equal(answer({}, after), '10 from 2024-06-01T09:00:00[Europe/Madrid]')
  assert.equal(answer({ rrule: 'FREQ=DAILY;COUNT=3' }, after), '/rrule')
  assert.equal(answer({ rrule: null }, after), '/dtstart')
})

const REFUSED: [reason: string, changes: Partial<RecurrenceRule>, pointer: string][] = [
  ['an unknown zone', { tzid: 'Europe/Madriz' }, '/tzid'],
  ['an offset in place of a zone', { tzid: '+02:00' }, '/tzid'],
  ['a day that the calendar does not have', { dtstart: '2023-02-29T09:00:00' }, '/dtstart'],
  ['a DTSTART in UTC', { dtstart: '2024-01-01T09:00:00Z' }, '/dtstart'],
  ['a DTSTART outside its rule', { rrule: 'FREQ=WEEKLY;BYDAY=TU' }, '/dtstart'],
  ['an empty rule', { rrule: '' }, '/rrule'],
  ['a rule without FREQ', { rrule: 'INTERVAL=2' }, '/rrule'],
  ['an unknown part', { rrule: 'FREQ=DAILY;BYEASTER=1' }, '/rrule'],
  ['the name of a method of objects as a part', { rrule: 'FREQ=DAILY;CONSTRUCTOR=1' }, '/rrule'],
  ['a part given twice', { rrule: 'FREQ=DAILY;COUNT=1;COUNT=2' }, '/rrule'],
  ['COUNT beside UNTIL', { rrule: 'FREQ=DAILY;COUNT=1;UNTIL=20250101T000000Z' }, '/rrule'],
  ['a COUNT over 100 000', { rrule: 'FREQ=DAILY;COUNT=100001' }, '/rrule'],
  ['an INTERVAL of 0', { rrule: 'FREQ=DAILY;INTERVAL=0' }, '/rrule'],
  ['an UNTIL that is no date', { rrule: 'FREQ=DAILY;UNTIL=20240230' }, '/rrule'],
  ['month 13', { rrule: 'FREQ=YEARLY;BYMONTH=13' }, '/rrule'],
  ['day 0', { rrule: 'FREQ=MONTHLY;BYMONTHDAY=0' }, '/rrule'],
  ['an ordinal in a WEEKLY rule', { rrule: 'FREQ=WEEKLY;BYDAY=1MO' }, '/rrule'],
  ['BYMONTHDAY in a WEEKLY rule', { rrule: 'FREQ=WEEKLY;BYMONTHDAY=1' }, '/rrule'],
  ['BYYEARDAY in a MONTHLY rule', { rrule: 'FREQ=MONTHLY;BYYEARDAY=1' }, '/rrule'],
  ['BYWEEKNO in a MONTHLY rule', { rrule: 'FREQ=MONTHLY;BYWEEKNO=1' }, '/rrule'],
  ['BYSETPOS alone', { rrule: 'FREQ=DAILY;BYSETPOS=1' }, '/rrule'],
  ['30 February', { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' }, '/rrule'],
  ['a rule over 1 kB', { rrule: `FREQ=DAILY;BYHOUR=${'9,'.repeat(600)}9` }, '/rrule'],
  ['501 EXDATEs', { exdates: Array<string>(501).fill('2024-01-02T09:00:00') }, '/exdates'],
  ['an RDATE that is no date', { rdates: ['2024-01-02T09:00:00', 'soon'] }, '/rdates/1'],
  [
    'a set whose every occurrence is excluded',
    { rrule: 'FREQ=DAILY;COUNT=1', exdates: ['2024-01-01T08:00:00Z'] },
    '/exdates',
  ],
]

describe('checkRule refuses', () => {
  for (const [reason, changes, pointer] of REFUSED) {
    test(reason, () => assert.equal(answer(changes), pointer))
  }
})

describe('the shortest interval', () => {
  const refused: Partial<RecurrenceRule>[] = [
    { rrule: 'FREQ=SECONDLY' },
    { rrule: 'FREQ=MINUTELY;BYSECOND=0,30' },
    { rrule: 'FREQ=DAILY;BYSECOND=0,59' },
    { dtstart: '2024-01-01T00:00:00', rrule: 'FREQ=DAILY;BYHOUR=0,23;BYMINUTE=0,59;BYSECOND=0,30' },
  ]
  for (const changes of refused) {
    test(`${changes.rrule} is too fast for a minute`, () => assert.equal(answer(changes), '/rrule'))
  }

  const accepted: Partial<RecurrenceRule>[] = [
    { rrule: 'FREQ=MINUTELY' },
    { rrule: 'FREQ=SECONDLY;INTERVAL=60' },
    { rrule: 'FREQ=SECONDLY;BYSECOND=0' },
    { rrule: 'FREQ=DAILY;BYHOUR=9;BYMINUTE=0,1' },
  ]
  for (const changes of accepted) {
    test(`${changes.rrule} is slow enough`, () => assert.match(answer(changes), /^10 from/))
  }

  test('an RDATE must keep its distance too, from the rule and from other RDATEs', () => {
    assert.equal(answer({ rdates: ['2024-01-05T09:00:30'] }), '/rdates/0')
    const pair = ['2024-01-05T12:00:00', '2024-01-05T11:00:59Z']
    assert.equal(answer({ rdates: pair }), '/rdates/0')
    assert.match(answer({ rdates: ['2024-01-05T09:00:00', '2024-01-05T12:00:00Z'] }), /^10 from/)
  })

  test('two local times that a change of the clocks brings together are no offence', () => {
    const quarter = { dtstart: '2025-03-29T02:45:00', rrule: 'FREQ=DAILY;BYHOUR=2,3;BYMINUTE=45' }
    assert.match(answer(quarter), /^10 from/)
  })
})
