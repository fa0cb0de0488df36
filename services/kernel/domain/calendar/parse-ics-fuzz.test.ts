/** Hostile calendars: cut, shuffled and mutated. The parser answers a value or a clear error. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { AmbitError } from '../../errors.ts'
import { expandObject } from './expand-object.ts'
import { parseIcs } from './parse-ics.ts'

const SAMPLE = [
  'BEGIN:VCALENDAR|VERSION:2.0|X-WR-TIMEZONE:Europe/Madrid|BEGIN:VTIMEZONE|TZID:Here',
  'BEGIN:STANDARD|DTSTART:16010101T030000|RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10',
  'TZOFFSETFROM:+0200|TZOFFSETTO:+0100|END:STANDARD|BEGIN:DAYLIGHT|DTSTART:16010101T020000',
  'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3|TZOFFSETFROM:+0100|TZOFFSETTO:+0200|END:DAYLIGHT',
  'END:VTIMEZONE|BEGIN:VEVENT|UID:a|DTSTART;TZID=Here:20260105T090000|DURATION:P1DT2H|SEQUENCE:3',
  'RRULE:FREQ=MONTHLY;BYDAY=2TU,-1FR;COUNT=40;WKST=SU|EXDATE;TZID="Here":20260113T090000',
  'RDATE;VALUE=PERIOD:20260107T090000Z/PT1H,20260108T090000Z/20260108T100000Z',
  'ATTENDEE;CN="A: b;c":mailto:a@example.org|CATEGORIES:x\\,y,z|SUMMARY:Überlange\\nZeile',
  'END:VEVENT|BEGIN:VEVENT|UID:a|RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Here:20260310T090000',
  'DTSTART;TZID=Here:20260311T100000|STATUS:TENTATIVE|END:VEVENT|END:VCALENDAR|',
].join('|')

/** A small generator with a seed (mulberry32), so that a failure can be run again. */
function random(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

const WORDS = [
  ...['BEGIN:VEVENT\r\n', 'END:VEVENT\r\n', 'END:VCALENDAR\r\n', '\r\n ', '"', ';', ':', ',', '='],
  ...['\\', '\0', '\uFEFF', 'VALUE=DATE', 'TZID=', 'UNTIL=00000101', 'COUNT=999999999', 'FREQ='],
  ...['INTERVAL=0', 'BYSETPOS=-366', 'P999999D', '99991231T235959', '00010101', '-9999', '٣'],
  ...['__proto__=1', 'constructor', 'RANGE=THISANDPRIOR', 'Z', 'T', '1e9', 'RDATE:\r\n'],
]

function mutate(text: string, roll: (below: number) => number): string {
  let mutated = text
  for (let round = 0; round <= roll(4); round++) {
    const at = roll(mutated.length + 1)
    const length = roll(30)
    const word = WORDS[roll(WORDS.length)] ?? ''
    const kinds = [
      () => mutated.slice(0, at),
      () => mutated.slice(0, at) + word + mutated.slice(at),
      () => mutated.slice(0, at) + mutated.slice(at + length),
      () => mutated.slice(0, at) + word + mutated.slice(at + length),
      () => mutated.slice(0, at) + mutated.slice(roll(mutated.length + 1)),
    ]
    mutated = kinds[roll(kinds.length)]?.() ?? mutated
  }
  return mutated
}

/** What became of some bytes: imported, or the code of the refusal. */
function outcome(bytes: Uint8Array): string {
  try {
    const { objects } = parseIcs(bytes, { calendar: 'c', zone: 'UTC' })
    for (const object of objects) expandObject(object, 0, Date.UTC(2100, 0, 1), 5)
    return 'read'
  } catch (error) {
    if (!(error instanceof AmbitError)) throw error
    assert.ok(error.status === 400 || error.status === 413, error.message)
    assert.doesNotMatch(error.message, /Überlange|example\.org/)
    return error.code
  }
}

it('3000 mutated calendars are imported or refused, and never crash', () => {
  const text = SAMPLE.replaceAll('|', '\r\n')
  const seen = new Map<string, number>()
  for (let seed = 1; seed <= 3000; seed++) {
    const roll = random(seed)
    const bytes = new TextEncoder().encode(mutate(text, roll))
    if (roll(3) === 0 && bytes.length > 0) bytes[roll(bytes.length)] = roll(256)
    const result = outcome(bytes)
    seen.set(result, (seen.get(result) ?? 0) + 1)
  }
  assert.ok((seen.get('read') ?? 0) > 300 && (seen.get('bad-request') ?? 0) > 300)
})

it('a calendar cut at any byte is refused as a whole', () => {
  const bytes = new TextEncoder().encode(SAMPLE.replaceAll('|', '\r\n'))
  const whole = bytes.length - '\r\n'.length
  for (let size = 0; size < whole; size += 7) {
    assert.equal(outcome(bytes.subarray(0, size)), 'bad-request', String(size))
  }
  assert.equal(outcome(bytes), 'read')
})

it('a mebibyte of the worst is read in bounded time', () => {
  const lines = {
    folds: 'X\r\n '.repeat(250_000),
    begins: 'BEGIN:VEVENT\r\n'.repeat(70_000),
    dates:
      'BEGIN:VEVENT\r\nDTSTART:20260101T000000Z\r\n' +
      `EXDATE:${'20260101T000000Z,'.repeat(7000)}1\r\nEND:VEVENT\r\n`,
    calendars: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n'.repeat(30_000),
    zones: 'BEGIN:VTIMEZONE\r\nTZID:x\r\nEND:VTIMEZONE\r\n'.repeat(24_000),
  }
  for (const [name, body] of Object.entries(lines)) {
    const bytes = new TextEncoder().encode(`BEGIN:VCALENDAR\r\n${body}END:VCALENDAR\r\n`)
    const began = performance.now()
    outcome(bytes)
    // Far above what it takes, far below what a quadratic reader would.
    assert.ok(performance.now() - began < 5000, name)
  }
})
