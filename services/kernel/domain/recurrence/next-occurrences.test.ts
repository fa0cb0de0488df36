import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readCases } from '#test/support/cases.ts'
import { nextOccurrences } from './next-occurrences.ts'
import type { RecurrenceRule } from './recurrence-rule.ts'

interface CaseLine extends RecurrenceRule {
  id: string
  after: string | null
  limit: number
  expect: string[]
  why: string
}

function instants(rule: RecurrenceRule, after: string | null, limit: number): string[] {
  const found = nextOccurrences(rule, after === null ? null : Date.parse(after), limit)
  return found.map(({ atMs }) => new Date(atMs).toISOString().replace('.000Z', 'Z'))
}

describe('nextOccurrences answers the shared cases', () => {
  for (const { id, after, limit, expect, why, ...rule } of readCases<CaseLine>(
    'recurrence.jsonl',
  )) {
    test(`${id}: ${why}`, () => assert.deepEqual(instants(rule, after, limit), expect))
  }
})

/** Checked by hand against the clocks of the place; the name of each gives the reason. */
const ODD: Record<string, [Omit<RecurrenceRule, 'tzid'> & { tzid?: string }, string[]]> = {
  'Sao Paulo had no midnight on 2018-11-04, so the day began at 01:00 -02': [
    { dtstart: '2018-11-03T00:00:00', tzid: 'America/Sao_Paulo', rrule: 'FREQ=DAILY;COUNT=3' },
    ['2018-11-03T03:00:00Z', '2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z'],
  ],
  'Beirut had no midnight on 2022-03-27, so 00:15 was read as 01:15 +03': [
    { dtstart: '2022-03-26T00:15:00', tzid: 'Asia/Beirut', rrule: 'FREQ=DAILY;COUNT=3' },
    ['2022-03-25T22:15:00Z', '2022-03-26T22:15:00Z', '2022-03-27T21:15:00Z'],
  ],
  'Cairo had no midnight on 2024-04-26, a Friday': [
    { dtstart: '2024-04-19T00:00:00', tzid: 'Africa/Cairo', rrule: 'FREQ=WEEKLY;BYDAY=FR;COUNT=3' },
    ['2024-04-18T22:00:00Z', '2024-04-25T22:00:00Z', '2024-05-02T21:00:00Z'],
  ],
  'Lord Howe shows 01:45 twice on 2024-04-07, half an hour apart; the first is at +11': [
    { dtstart: '2024-04-06T01:45:00', tzid: 'Australia/Lord_Howe', rrule: 'FREQ=DAILY;COUNT=3' },
    ['2024-04-05T14:45:00Z', '2024-04-06T14:45:00Z', '2024-04-07T15:15:00Z'],
  ],
  'Apia counted its skipped day 2011-12-30 though it fell on the instant of the 31st': [
    { dtstart: '2011-12-29T09:00:00', tzid: 'Pacific/Apia', rrule: 'FREQ=DAILY;COUNT=4' },
    ['2011-12-29T19:00:00Z', '2011-12-30T19:00:00Z', '2011-12-31T19:00:00Z'],
  ],
  'COUNT counts local times in a gap, also those that share an instant': [
    {
      dtstart: '2025-03-30T01:30:00',
      tzid: 'Europe/Madrid',
      rrule: 'FREQ=MINUTELY;INTERVAL=30;COUNT=5',
    },
    ['2025-03-30T00:30:00Z', '2025-03-30T01:00:00Z', '2025-03-30T01:30:00Z'],
  ],
  'times out of a gap are sorted by instant: 02:45 comes after 03:15': [
    {
      dtstart: '2025-03-30T02:45:00',
      tzid: 'Europe/Madrid',
      rrule: 'FREQ=DAILY;BYHOUR=2,3;BYMINUTE=15,45;COUNT=3',
    },
    ['2025-03-30T01:15:00Z', '2025-03-30T01:45:00Z'],
  ],
  'UNTIL as a date holds the whole local day': [
    {
      dtstart: '2024-01-01T21:00:00',
      tzid: 'America/New_York',
      rrule: 'FREQ=DAILY;UNTIL=20240102',
    },
    ['2024-01-02T02:00:00Z', '2024-01-03T02:00:00Z'],
  ],
  'UNTIL as a local time is read in the zone of the rule, inclusive': [
    {
      dtstart: '2024-01-01T21:00:00',
      tzid: 'America/New_York',
      rrule: 'FREQ=DAILY;UNTIL=20240102T210000',
    },
    ['2024-01-02T02:00:00Z', '2024-01-03T02:00:00Z'],
  ],
  'UNTIL in UTC one second before an occurrence leaves it out': [
    {
      dtstart: '2024-01-01T21:00:00',
      tzid: 'America/New_York',
      rrule: 'FREQ=DAILY;UNTIL=20240103T015959Z',
    },
    ['2024-01-02T02:00:00Z'],
  ],
  'UNTIL before DTSTART leaves nothing': [
    { dtstart: '2024-01-01T21:00:00', rrule: 'FREQ=DAILY;UNTIL=20231231T000000Z' },
    [],
  ],
  'UNTIL between the two readings of a repeated time keeps the first': [
    {
      dtstart: '2024-11-02T01:30:00',
      tzid: 'America/New_York',
      rrule: 'FREQ=DAILY;UNTIL=20241103T061500Z',
    },
    ['2024-11-02T05:30:00Z', '2024-11-03T05:30:00Z'],
  ],
  '30 February is skipped and not counted': [
    { dtstart: '2024-01-30T09:00:00', rrule: 'FREQ=MONTHLY;COUNT=3' },
    ['2024-01-30T09:00:00Z', '2024-03-30T09:00:00Z', '2024-04-30T09:00:00Z'],
  ],
  'day -366 exists in leap years only, and is 1 January': [
    { dtstart: '2024-01-01T09:00:00', rrule: 'FREQ=YEARLY;BYYEARDAY=-366;COUNT=3' },
    ['2024-01-01T09:00:00Z', '2028-01-01T09:00:00Z', '2032-01-01T09:00:00Z'],
  ],
  'a day of the year and a weekday must both fit': [
    { dtstart: '2025-04-10T09:00:00', rrule: 'FREQ=YEARLY;BYYEARDAY=100;BYDAY=TH,SA;COUNT=3' },
    ['2025-04-10T09:00:00Z', '2027-04-10T09:00:00Z', '2031-04-10T09:00:00Z'],
  ],
  'the 53rd Tuesday of a year exists only when it begins or (leap) nearly begins with one': [
    { dtstart: '2030-12-31T09:00:00', rrule: 'FREQ=YEARLY;BYDAY=53TU;COUNT=3' },
    ['2030-12-31T09:00:00Z', '2036-12-30T09:00:00Z', '2041-12-31T09:00:00Z'],
  ],
  'week -1 is the 52nd or the 53rd': [
    { dtstart: '2025-12-22T09:00:00', rrule: 'FREQ=YEARLY;BYWEEKNO=-1;BYDAY=MO;COUNT=2' },
    ['2025-12-22T09:00:00Z', '2026-12-28T09:00:00Z'],
  ],
  'a week without BYDAY takes the weekday of DTSTART': [
    { dtstart: '2026-12-30T09:00:00', rrule: 'FREQ=YEARLY;BYWEEKNO=53;COUNT=2' },
    ['2026-12-30T09:00:00Z', '2032-12-29T09:00:00Z'],
  ],
  'BYSETPOS counts from the beginning of the first week, not from DTSTART': [
    {
      dtstart: '2024-02-11T09:00:00',
      rrule: 'FREQ=WEEKLY;INTERVAL=4;BYDAY=FR,SA,SU;BYSETPOS=3;COUNT=2',
    },
    ['2024-02-11T09:00:00Z', '2024-03-10T09:00:00Z'],
  ],
  'second 60 is read as second 59': [
    { dtstart: '2024-01-01T09:00:59', rrule: 'FREQ=DAILY;BYSECOND=60;COUNT=1' },
    ['2024-01-01T09:00:59Z'],
  ],
  'a DTSTART outside its rule is no occurrence': [
    { dtstart: '2024-01-01T09:00:00', rrule: 'FREQ=WEEKLY;BYDAY=TU;COUNT=1' },
    ['2024-01-02T09:00:00Z'],
  ],
  'duplicate RDATEs are one, in either form': [
    {
      dtstart: '2024-01-01T09:00:00',
      tzid: 'Europe/Madrid',
      rdates: ['2024-01-02T09:00:00', '2024-01-02T08:00:00Z', '2024-01-02T09:00:00'],
    },
    ['2024-01-01T08:00:00Z', '2024-01-02T08:00:00Z'],
  ],
  'an RDATE after UNTIL and beyond COUNT stays': [
    {
      dtstart: '2024-01-01T09:00:00',
      rrule: 'FREQ=DAILY;COUNT=1',
      rdates: ['2025-01-01T09:00:00Z'],
    },
    ['2024-01-01T09:00:00Z', '2025-01-01T09:00:00Z'],
  ],
  'an RDATE before DTSTART is an occurrence too': [
    {
      dtstart: '2024-01-02T09:00:00',
      rrule: 'FREQ=DAILY;COUNT=1',
      rdates: ['2024-01-01T09:00:00'],
    },
    ['2024-01-01T09:00:00Z', '2024-01-02T09:00:00Z'],
  ],
  'every two hours of the local clock is one or three elapsed hours when the clocks change': [
    {
      dtstart: '2024-10-27T00:00:00',
      tzid: 'Europe/Madrid',
      rrule: 'FREQ=HOURLY;INTERVAL=2;COUNT=3',
    },
    ['2024-10-26T22:00:00Z', '2024-10-27T00:00:00Z', '2024-10-27T03:00:00Z'],
  ],
}

describe('nextOccurrences in odd places', () => {
  for (const [reason, [rule, expect]] of Object.entries(ODD)) {
    test(reason, () => assert.deepEqual(instants({ tzid: 'UTC', ...rule }, null, 10), expect))
  }
})

describe('names of occurrences', () => {
  const names = (rule: RecurrenceRule) => nextOccurrences(rule, null, 9).map(each => each.nominal)

  test('a shifted time keeps the name it was given', () => {
    const rule = {
      dtstart: '2024-03-10T02:30:00',
      tzid: 'America/New_York',
      rrule: 'FREQ=DAILY;COUNT=1',
    }
    assert.deepEqual(names(rule), ['2024-03-10T02:30:00[America/New_York]'])
  })

  test('of two names for one instant the one that the clocks show stays', () => {
    const rule = {
      dtstart: '2011-12-30T09:00:00',
      tzid: 'Pacific/Apia',
      rrule: 'FREQ=DAILY;COUNT=2',
    }
    assert.deepEqual(names(rule), ['2011-12-31T09:00:00[Pacific/Apia]'])
  })

  test('an RDATE in UTC is named by its instant, unless a local time names it already', () => {
    const rule = {
      dtstart: '2024-01-01T09:00:00',
      tzid: 'europe/madrid',
      rdates: ['2024-01-01T08:00:00Z', '2024-01-02T08:00:00Z'],
    }
    assert.deepEqual(names(rule), ['2024-01-01T09:00:00[Europe/Madrid]', '2024-01-02T08:00:00Z'])
  })

  test('an alias of a zone stays the alias', () => {
    const rule = { dtstart: '2024-01-01T09:00:00', tzid: 'Asia/Calcutta' }
    assert.deepEqual(names(rule), ['2024-01-01T09:00:00[Asia/Calcutta]'])
  })
})

/**
 * The search begins near `after`, so a wrong beginning would show as a first answer that is not the
 * one of the whole list. The rules cross changes of the clocks in both directions.
 */
test('the answer after any instant is the rest of the whole list', () => {
  const rules: RecurrenceRule[] = [
    { dtstart: '2011-12-28T09:00:00', tzid: 'Pacific/Apia', rrule: 'FREQ=HOURLY;INTERVAL=5' },
    {
      dtstart: '2024-10-05T00:10:00',
      tzid: 'Australia/Lord_Howe',
      rrule: 'FREQ=MINUTELY;INTERVAL=20',
    },
    { dtstart: '2025-03-29T01:30:00', tzid: 'Europe/Madrid', rrule: 'FREQ=MINUTELY;INTERVAL=30' },
    {
      dtstart: '2024-11-02T12:00:00',
      tzid: 'America/New_York',
      rrule: 'FREQ=MINUTELY;INTERVAL=15',
    },
    {
      dtstart: '2018-11-03T00:00:00',
      tzid: 'America/Sao_Paulo',
      rrule: 'FREQ=HOURLY;BYMINUTE=0,30',
    },
    {
      dtstart: '2024-01-31T09:00:00',
      tzid: 'UTC',
      rrule: 'FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=-1,15,31',
    },
    {
      dtstart: '2025-03-29T02:30:00',
      tzid: 'Europe/Madrid',
      rrule: 'FREQ=DAILY;COUNT=90;BYHOUR=2,3',
    },
  ]
  for (const rule of rules) {
    const whole = nextOccurrences(rule, null, 160)
    for (const [index, { atMs }] of whole.slice(0, -4).entries()) {
      const rest = whole.slice(index + 1, index + 4)
      assert.deepEqual(nextOccurrences(rule, atMs, 3), rest, `${rule.rrule} after ${atMs}`)
      assert.deepEqual(nextOccurrences(rule, atMs - 1, 1), [whole[index]])
    }
  }
})

test('a rule that matches nothing is answered, whatever keeps it from matching', () => {
  const never = [
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=MINUTELY;INTERVAL=60;BYMINUTE=30',
    'FREQ=SECONDLY;INTERVAL=60;BYSECOND=30',
    'FREQ=HOURLY;INTERVAL=168;BYDAY=TU',
    'FREQ=DAILY;INTERVAL=7;BYDAY=TU',
    'FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=366',
    'FREQ=YEARLY;INTERVAL=4;BYYEARDAY=366;BYMONTH=3',
    'FREQ=MONTHLY;BYDAY=5FR;BYSETPOS=2',
  ]
  for (const rrule of never) {
    const rule = { dtstart: '2024-01-01T09:00:00', tzid: 'Europe/Madrid', rrule }
    assert.deepEqual(nextOccurrences(rule, null, 1), [], rrule)
  }
})

test('nothing comes after year 9999, and nothing is asked for with a limit of 0', () => {
  const rule = { dtstart: '9999-12-30T09:00:00', tzid: 'UTC', rrule: 'FREQ=DAILY' }
  assert.deepEqual(instants(rule, null, 5), ['9999-12-30T09:00:00Z', '9999-12-31T09:00:00Z'])
  assert.deepEqual(instants({ ...rule, dtstart: '2024-01-01T09:00:00' }, null, 0), [])
  assert.deepEqual(nextOccurrences(rule, 8.64e15, 1), [])
})

test('a rule that cannot be read is a mistake of the caller', () => {
  const rule = { dtstart: '2024-01-01T09:00:00', tzid: 'Mars/Olympus' }
  assert.throws(() => nextOccurrences(rule, null, 1), /tzid: expected the name of an IANA/)
})
