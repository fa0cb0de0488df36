import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AmbitError } from '../../errors.ts'
import type { CalendarObject } from './calendar-object.ts'
import { expandObject } from './expand-object.ts'
import { type ParseIcsOptions, parseIcs } from './parse-ics.ts'

const options = { calendar: 'team', zone: 'Europe/Madrid' }

function parse(text: string, more: Partial<ParseIcsOptions> = {}) {
  return parseIcs(new TextEncoder().encode(text), { ...options, ...more })
}

/** A calendar around the lines of one event; `|` separates lines. */
function event(lines: string, around = ''): string {
  const all = ['BEGIN:VCALENDAR', 'VERSION:2.0', around, 'BEGIN:VEVENT', lines, 'END:VEVENT']
  return [...all, 'END:VCALENDAR', '']
    .filter(line => line !== '')
    .join('|')
    .replaceAll('|', '\r\n')
}

function only(text: string): CalendarObject {
  const { objects } = parse(text)
  assert.equal(objects.length, 1)
  return objects[0] as CalendarObject
}

/** `start/end` of the instances, as instants. */
function instants(object: CalendarObject, limit = 20): string[] {
  const iso = (ms: number) => new Date(ms).toISOString().replace('.000', '')
  const from = Date.UTC(1900, 0, 1)
  return expandObject(object, from, Date.UTC(2100, 0, 1), limit).map(
    ({ startMs, endMs }) => `${iso(startMs)}/${iso(endMs)}`,
  )
}

const zoned =
  'UID:a|DTSTART;TZID=Europe/Madrid:20260715T090000|DTEND;TZID=Europe/Madrid:20260715T100000'
const CUSTOM = [
  'BEGIN:VTIMEZONE|TZID:Our Office\\, 1st floor|BEGIN:STANDARD|DTSTART:16010101T030000',
  'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10|TZOFFSETFROM:+0200|TZOFFSETTO:+0100|END:STANDARD',
  'BEGIN:DAYLIGHT|DTSTART:16010101T020000|RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3',
  'TZOFFSETFROM:+0100|TZOFFSETTO:+0200|END:DAYLIGHT|END:VTIMEZONE',
].join('|')

/** The first instance of an event with these lines. */
const start = (value: string, around = '') =>
  instants(only(event(`UID:a|${value}`, around)))[0] ?? ''

describe('the form of a file', () => {
  it('folded lines, also inside a character, with CRLF, LF or CR, behind a byte order mark', () => {
    const text = event(`${zoned}|SUMMARY:Übergabe an\r\n  alle`)
    assert.equal(only(text).main?.summary, 'Übergabe an alle')
    assert.equal(only(text.replaceAll('\r\n', '\n')).main?.summary, 'Übergabe an alle')
    assert.equal(only(text.replaceAll('\r\n', '\r')).main?.summary, 'Übergabe an alle')
    const bytes = [...new TextEncoder().encode(`\uFEFF${text}`)]
    const at = bytes.indexOf(0xc3) + 1
    bytes.splice(at, 0, 13, 10, 32)
    const { objects } = parseIcs(new Uint8Array(bytes), options)
    assert.equal(objects[0]?.main?.summary, 'Übergabe an alle')
  })
  it('escapes, quoted parameters and names in any case are read', () => {
    const object = only(
      event(
        'uid:a|dtstart;tzid="Europe/Madrid":20260715T090000' +
          '|summary;language=es:uno\\, dos\\;\\ntres' +
          '|ATTENDEE;CN="Ana: la jefa; sí";RSVP=TRUE:MAILTO:Ana@Example.org' +
          '|CATEGORIES:a\\,b,c|CATEGORIES:c,d',
      ),
    )
    assert.equal(object.main?.summary, 'uno, dos;\ntres')
    assert.deepEqual(object.main?.attendees, ['ana@example.org'])
    assert.deepEqual(object.main?.categories, ['a,b', 'c', 'd'])
    assert.deepEqual(instants(object), ['2026-07-15T07:00:00Z/2026-07-15T07:00:00Z'])
  })
  it('nested alarms and unknown components give the event nothing', () => {
    const alarm = 'BEGIN:VALARM|TRIGGER:-PT5M|DTSTART:19990101T000000Z|SUMMARY:ring|END:VALARM'
    const object = only(event(`${alarm}|${zoned}|X-ODD;A=1:2|SUMMARY:real`))
    assert.equal(object.main?.summary, 'real')
  })
})

describe('what is broken', () => {
  it('a file that is cut off, empty or something else is a clear 400', () => {
    const whole = event(zoned)
    const wrong = ['', 'hello', '{"a":1}', 'BEGIN:VCARD\r\nEND:VCARD', whole.slice(0, -20)]
    for (const text of wrong) {
      assert.throws(
        () => parse(text),
        error => error instanceof AmbitError && error.status === 400 && /Send/.test(error.message),
      )
    }
  })
  it('a file beyond the bounds is refused before it is read', () => {
    const isTooLarge = (error: unknown) => error instanceof AmbitError && error.code === 'too-large'
    assert.throws(() => parse(event(zoned), { bytesMax: 50 }), isTooLarge)
    const two = event(`${zoned}|END:VEVENT|BEGIN:VEVENT|${zoned.replace('UID:a', 'UID:b')}`)
    assert.throws(() => parse(two, { objectsMax: 1 }), isTooLarge)
  })
  it('what cannot be read is left out and named; the rest is imported', () => {
    const broken = (uid: string, lines: string) => `|END:VEVENT|BEGIN:VEVENT|UID:${uid}|${lines}`
    const text = event(
      zoned +
        broken('time', 'DTSTART:20261301T090000Z') +
        broken('quote', 'DTSTART;TZID="Europe/Madrid:20260715T090000') +
        broken('rule', 'DTSTART:20260101T090000Z|RRULE:FREQ=SOMETIMES') +
        broken('zone', 'DTSTART;TZID=Mars/Olympus:20260101T090000') +
        broken('exdate', 'DTSTART:20260101T090000Z|RRULE:FREQ=DAILY|EXDATE:soon') +
        broken('start', 'SUMMARY:nothing'),
    )
    const { objects, skipped } = parse(text)
    assert.deepEqual(
      objects.map(({ uid }) => uid),
      ['a'],
    )
    assert.deepEqual(
      skipped.map(({ uid, reason }) => `${uid} ${reason}`),
      [
        ...['time bad-time', 'quote bad-time', 'rule bad-rule', 'zone unknown-zone'],
        ...['exdate bad-time', 'start no-start'],
      ],
    )
  })
  it('an event that never ends takes itself out and nothing else', () => {
    const text = event(zoned).replace(
      'BEGIN:VEVENT',
      'BEGIN:VEVENT\r\nUID:open\r\nDTSTART:20260101T000000Z\r\nBEGIN:VEVENT',
    )
    const { objects, skipped } = parse(text)
    assert.deepEqual(
      objects.map(({ uid }) => uid),
      ['a'],
    )
    assert.deepEqual(skipped, [{ uid: 'open', reason: 'not-closed' }])
  })
})

describe('times and zones', () => {
  it('a named zone, UTC, a floating time, a day', () => {
    assert.equal(
      start('DTSTART;TZID=America/New_York:20260715T090000').slice(0, 20),
      '2026-07-15T13:00:00Z',
    )
    assert.equal(start('DTSTART:20260715T090000Z').slice(0, 20), '2026-07-15T09:00:00Z')
    assert.equal(start('DTSTART:20260715T090000').slice(0, 20), '2026-07-15T07:00:00Z')
    assert.equal(start('DTSTART;VALUE=DATE:20260715'), '2026-07-14T22:00:00Z/2026-07-15T22:00:00Z')
  })
  it('the zone of the file is that of its floating times and days', () => {
    const around = 'X-WR-TIMEZONE:Asia/Tokyo'
    assert.equal(start('DTSTART:20260715T090000', around).slice(0, 20), '2026-07-15T00:00:00Z')
    assert.equal(start('DTSTART;VALUE=DATE:20260715', around).slice(0, 20), '2026-07-14T15:00:00Z')
  })
  it('names of Windows, of vendors, and what Outlook shows', () => {
    const names = {
      'W. Europe Standard Time': '07:00',
      'Pacific Daylight Time': '16:00',
      '/mozilla.org/20050126_1/Europe/Berlin': '07:00',
      '/freeassociation.sourceforge.net/Tzfile/America/Argentina/Buenos_Aires': '12:00',
      '"(UTC+01:00) Brussels, Copenhagen, Madrid, Paris"': '07:00',
      '"(UTC-05:00) Eastern Time (US & Canada)"': '13:00',
      '"Amsterdam, Belgrade, Berlin"': '07:00',
      'UTC+02': '07:00',
      '"(GMT -03:30)"': '12:30',
    }
    for (const [name, time] of Object.entries(names)) {
      assert.equal(start(`DTSTART;TZID=${name}:20260715T090000`).slice(11, 16), time, name)
    }
  })
  it('a zone that only its VTIMEZONE explains', () => {
    const tzid = 'TZID="Our Office, 1st floor"'
    assert.equal(
      start(`DTSTART;${tzid}:20260715T090000`, CUSTOM).slice(0, 20),
      '2026-07-15T07:00:00Z',
    )
    assert.equal(
      start(`DTSTART;${tzid}:20261215T090000`, CUSTOM).slice(0, 20),
      '2026-12-15T08:00:00Z',
    )
    const series = only(
      event(`UID:a|DTSTART;${tzid}:20261024T090000|RRULE:FREQ=DAILY;COUNT=3`, CUSTOM),
    )
    assert.deepEqual(
      instants(series).map(text => text.slice(0, 20)),
      ['2026-10-24T07:00:00Z', '2026-10-25T08:00:00Z', '2026-10-26T08:00:00Z'],
    )
  })
  it('a VTIMEZONE like no zone on earth is read exactly', () => {
    const odd = CUSTOM.replaceAll('+0200', '+0347').replaceAll('+0100', '+0247')
    const tzid = 'TZID="Our Office, 1st floor"'
    assert.equal(start(`DTSTART;${tzid}:20260715T090000`, odd).slice(0, 20), '2026-07-15T05:13:00Z')
    assert.equal(start(`DTSTART;${tzid}:20261215T090000`, odd).slice(0, 20), '2026-12-15T06:13:00Z')
  })
})

describe('ends and lengths', () => {
  it('an end in another zone, days over a change of the clock, a reversed end', () => {
    assert.equal(
      start(
        'DTSTART;TZID=Europe/Madrid:20260715T090000|DTEND;TZID=America/New_York:20260715T120000',
      ),
      '2026-07-15T07:00:00Z/2026-07-15T16:00:00Z',
    )
    const duration = (text: string) =>
      start(`DTSTART;TZID=Europe/Madrid:20261024T120000|DURATION:${text}`).slice(21)
    assert.equal(duration('P1D'), '2026-10-25T11:00:00Z')
    assert.equal(duration('PT24H'), '2026-10-25T10:00:00Z')
    assert.equal(duration('-PT1H'), '2026-10-24T10:00:00Z')
    assert.equal(
      start('DTSTART:20260715T090000Z|DTEND:20260715T080000Z'),
      '2026-07-15T09:00:00Z/2026-07-15T09:00:00Z',
    )
  })
  it('a day that ends on itself lasts a day; several days end on the last midnight', () => {
    assert.equal(
      start('DTSTART;VALUE=DATE:20261024|DTEND;VALUE=DATE:20261024'),
      '2026-10-23T22:00:00Z/2026-10-24T22:00:00Z',
    )
    assert.equal(
      start('DTSTART;VALUE=DATE:20261024|DTEND;VALUE=DATE:20261027'),
      '2026-10-23T22:00:00Z/2026-10-26T23:00:00Z',
    )
  })
})

describe('what belongs to one UID', () => {
  const series = `${zoned}|RRULE:FREQ=WEEKLY;COUNT=4`
  const exception = (lines: string) => `|END:VEVENT|BEGIN:VEVENT|UID:a|${lines}`
  it('the newest revision wins, by sequence and then by date, wherever it stands', () => {
    const one = (sequence: number, stamp: string, summary: string) =>
      `${zoned}|SEQUENCE:${sequence}|DTSTAMP:${stamp}|SUMMARY:${summary}`
    const text = (parts: string[]) => event(parts.join('|END:VEVENT|BEGIN:VEVENT|'))
    const old = one(0, '20260301T000000Z', 'old')
    const late = one(1, '20260102T000000Z', 'new')
    assert.equal(only(text([late, old])).main?.summary, 'new')
    assert.equal(only(text([old, late])).main?.summary, 'new')
    const same = [one(1, '20260102T000000Z', 'b'), one(1, '20260101T000000Z', 'a')]
    assert.equal(only(text(same)).main?.summary, 'b')
  })
  it('a calendar that cancels makes its events cancelled', () => {
    assert.equal(only(event(zoned, 'METHOD:CANCEL')).main?.status, 'cancelled')
    assert.equal(only(event(`${zoned}|STATUS:CANCELLED`)).main?.status, 'cancelled')
  })
  it('one unreadable exception leaves the whole object out', () => {
    const text = event(series + exception('RECURRENCE-ID:20260722T070000Z|DTSTART:never'))
    assert.throws(() => parse(text), /bad-time/)
  })
  it('an event without a UID keeps the same made one', () => {
    const text = event('DTSTART:20260715T090000Z|SUMMARY:x')
    assert.equal(only(text).uid, only(text).uid)
    assert.match(only(text).uid, /^uid_/)
  })
})
