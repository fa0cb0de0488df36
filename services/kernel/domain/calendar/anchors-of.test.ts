import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Anchor } from '../trigger.ts'
import { anchorsOf, lostAnchor } from './anchors-of.ts'
import type { CalendarObject, Meeting } from './calendar-object.ts'
import { changeOf, compareObjects } from './compare-objects.ts'
import { expandObject, nextInstances } from './expand-object.ts'
import { parseIcs } from './parse-ics.ts'

const ZONE = 'TZID=Europe/Madrid'
const MASTER = `DTSTART;${ZONE}:20261019T090000|DTEND;${ZONE}:20261019T093000`
const WEEKLY = `${MASTER}|RRULE:FREQ=WEEKLY|SUMMARY:Stand-up|ATTENDEE:mailto:ana@example.org`

/** Objects of a file with these events, each with the UID `a` unless it names another. */
function objectsOf(...events: string[]): CalendarObject[] {
  const blocks = events.map(lines => {
    const uid = lines.includes('UID:') ? '' : 'UID:a|'
    return `BEGIN:VEVENT|${uid}${lines}|END:VEVENT`
  })
  const text = ['BEGIN:VCALENDAR', ...blocks, 'END:VCALENDAR', ''].join('|').replaceAll('|', '\r\n')
  const bytes = new TextEncoder().encode(text)
  const { objects, skipped } = parseIcs(bytes, { calendar: 'team', zone: 'Europe/Madrid' })
  assert.deepEqual(skipped, [])
  return objects
}

const objectOf = (...events: string[]) => objectsOf(...events)[0] as CalendarObject
const minute = (ms: number) => new Date(ms).toISOString().slice(5, 16)
const FROM = Date.UTC(2026, 9, 1)

/** Starts of the first instances that are not cancelled, `MM-DDTHH:MM` in UTC. */
const starts = (object: CalendarObject, limit = 4) =>
  nextInstances(object, { edge: 'start', afterMs: FROM, limit }).map(({ startMs }) =>
    minute(startMs),
  )

const anchor = (more: Partial<Anchor['anchor']>): Anchor['anchor'] => ({
  ...{ calendar: 'team', edge: 'start', offsetMs: 0 },
  ...(more.query ? {} : { uid: 'a' }),
  ...more,
})

describe('instances of a series', () => {
  it('keep the time of day over a change of the clock', () => {
    assert.deepEqual(starts(objectOf(WEEKLY), 3), ['10-19T07:00', '10-26T08:00', '11-02T08:00'])
  })
  it('the first is DTSTART, also where the rule misses it', () => {
    const object = objectOf(`${MASTER}|RRULE:FREQ=WEEKLY;BYDAY=WE`)
    assert.deepEqual(starts(object, 3), ['10-19T07:00', '10-21T07:00', '10-28T08:00'])
  })
  it('EXDATE takes an instance in whatever zone it is named, or all of a day', () => {
    const named = [
      `EXDATE;${ZONE}:20261026T090000`,
      'EXDATE:20261026T080000Z',
      'EXDATE;TZID=America/New_York:20261026T040000',
      'EXDATE:20261026T090000',
      'EXDATE;VALUE=DATE:20261026',
    ]
    for (const exdate of named) {
      assert.deepEqual(
        starts(objectOf(`${WEEKLY}|${exdate}`), 2),
        ['10-19T07:00', '11-02T08:00'],
        exdate,
      )
    }
  })
  it('RDATE adds instances, days and periods with a length of their own', () => {
    const object = objectOf(
      `${MASTER}|RDATE;${ZONE}:20261020T090000|RDATE;VALUE=DATE:20261021` +
        '|RDATE;VALUE=PERIOD:20261022T100000Z/PT2H,20261023T100000Z/20261023T103000Z',
    )
    const found = expandObject(object, FROM, FROM + 40 * 86_400_000, 10)
    assert.deepEqual(
      found.map(({ startMs, endMs }) => `${minute(startMs)} ${(endMs - startMs) / 60_000}`),
      ['10-19T07:00 30', '10-20T07:00 30', '10-21T07:00 30', '10-22T10:00 120', '10-23T10:00 30'],
    )
  })
  it('EXRULE takes what another rule gives', () => {
    const object = objectOf(`${WEEKLY}|EXRULE:FREQ=WEEKLY;INTERVAL=2`)
    assert.deepEqual(starts(object, 2), ['10-26T08:00', '11-09T08:00'])
  })
  it('all-day series are taken by date, whatever zone an EXDATE was written in', () => {
    const object = objectOf(
      'DTSTART;VALUE=DATE:20261019|RRULE:FREQ=DAILY;UNTIL=20261022|EXDATE:20261020T000000Z' +
        '|EXDATE;VALUE=DATE:20261021',
    )
    assert.deepEqual(starts(object), ['10-18T22:00', '10-21T22:00'])
    const far = objectOf(
      'DTSTART;VALUE=DATE:20261019|RRULE:FREQ=DAILY;UNTIL=20261022' +
        '|EXDATE;TZID=Asia/Tokyo:20261020T000000|EXDATE:20261020T220000Z',
    )
    assert.deepEqual(starts(far), ['10-18T22:00', '10-21T22:00'])
  })
})

describe('exceptions of a series', () => {
  const moved =
    `RECURRENCE-ID;${ZONE}:20261026T090000` + `|DTSTART;${ZONE}:20261027T150000|SUMMARY:Moved`
  it('a moved instance is at its new time only, and keeps its name', () => {
    const object = objectOf(WEEKLY, moved)
    assert.deepEqual(starts(object, 3), ['10-19T07:00', '10-27T14:00', '11-02T08:00'])
    const [, second] = nextInstances(object, { edge: 'start', afterMs: FROM, limit: 2 })
    assert.equal(second?.recurrenceId, '2026-10-26T09:00:00')
    assert.equal(second?.meeting.summary, 'Moved')
  })
  it('is found before its series and after it, wherever it was moved to', () => {
    const far = (date: string) =>
      objectOf(
        WEEKLY.replace('FREQ=WEEKLY', 'FREQ=WEEKLY;COUNT=3'),
        `RECURRENCE-ID:20261026T080000Z|DTSTART:${date}`,
      )
    assert.deepEqual(starts(far('20261005T100000Z')), ['10-05T10:00', '10-19T07:00', '11-02T08:00'])
    assert.deepEqual(starts(far('20261205T100000Z')), ['10-19T07:00', '11-02T08:00', '12-05T10:00'])
  })
  it('a cancelled instance is none; the others stand', () => {
    const cancelled = `RECURRENCE-ID;${ZONE}:20261026T090000|STATUS:CANCELLED`
    assert.deepEqual(starts(objectOf(WEEKLY, cancelled), 2), ['10-19T07:00', '11-02T08:00'])
  })
  it('RANGE=THISANDFUTURE moves all later ones by the same wall time', () => {
    const future =
      `RECURRENCE-ID;RANGE=THISANDFUTURE;${ZONE}:20261026T090000` +
      `|DTSTART;${ZONE}:20261027T110000|DTEND;${ZONE}:20261027T120000|SUMMARY:Later`
    const one = `RECURRENCE-ID;${ZONE}:20261109T090000|DTSTART;${ZONE}:20261109T080000`
    const object = objectOf(WEEKLY, future, one)
    assert.deepEqual(starts(object, 5), [
      '10-19T07:00',
      '10-27T10:00',
      '11-03T10:00',
      '11-09T07:00',
      '11-17T10:00',
    ])
    const third = nextInstances(object, { edge: 'end', afterMs: FROM, limit: 3 })[2]
    assert.deepEqual([minute(third?.endMs ?? 0), third?.meeting.summary], ['11-03T11:00', 'Later'])
  })
  it('a future that is cancelled ends the series, at once', () => {
    const future = `RECURRENCE-ID;RANGE=THISANDFUTURE;${ZONE}:20261026T090000|STATUS:CANCELLED`
    assert.deepEqual(starts(objectOf(WEEKLY, future)), ['10-19T07:00'])
  })
  it('exceptions of an all-day series are named by date', () => {
    const object = objectOf(
      'DTSTART;VALUE=DATE:20261019|RRULE:FREQ=DAILY;COUNT=3',
      'RECURRENCE-ID;TZID=Asia/Tokyo:20261020T000000|DTSTART;VALUE=DATE:20261025',
    )
    assert.deepEqual(starts(object), ['10-18T22:00', '10-20T22:00', '10-24T22:00'])
  })
  it('exceptions without their series stand alone', () => {
    assert.deepEqual(starts(objectOf(moved)), ['10-27T14:00'])
  })
  it('who cancels the series cancels its exceptions', () => {
    assert.deepEqual(starts(objectOf(`${WEEKLY}|STATUS:CANCELLED`, moved)), [])
  })
})

describe('a series without an end', () => {
  const at = `${ZONE}:20261026T090000`
  const later = `RECURRENCE-ID;RANGE=THISANDFUTURE;${at}|DTSTART;${at}`
  /** Starts that are asked for in vain would be thousands. */
  const search = (object: CalendarObject, isWanted: (summary: string) => boolean) => {
    let looks = 0
    const accept = ({ status, summary }: Meeting) => {
      looks += 1
      return status !== 'cancelled' && isWanted(summary)
    }
    const query = { edge: 'start' as const, afterMs: FROM, limit: 9, accept }
    const found = nextInstances(object, query).map(({ startMs }) => minute(startMs))
    return { found, isShort: looks < 20 }
  }
  it('is not searched when it is cancelled', () => {
    const cancelled = objectOf(`${WEEKLY}|STATUS:CANCELLED`)
    assert.deepEqual(
      search(cancelled, () => true),
      { found: [], isShort: true },
    )
  })
  it('is not searched when only an exception of it is wanted', () => {
    const object = objectOf(WEEKLY, `RECURRENCE-ID;${at}|DTSTART;${at}|SUMMARY:Planning`)
    const isWanted = (summary: string) => summary === 'Planning'
    assert.deepEqual(search(object, isWanted), { found: ['10-26T08:00'], isShort: true })
  })
  it('is searched up to where an exception ends it, and from where one makes it wanted', () => {
    const object = objectOf(WEEKLY, `${later}|SUMMARY:Planning`)
    const first = search(object, summary => summary === 'Stand-up')
    assert.deepEqual(first, { found: ['10-19T07:00'], isShort: true })
    const [begin] = search(object, summary => summary === 'Planning').found
    assert.equal(begin, '10-26T08:00')
  })
})

describe('anchors', () => {
  it('an edge and a signed offset give the due instant', () => {
    const objects = objectsOf(WEEKLY)
    const [before] = anchorsOf(anchor({ offsetMs: -1_800_000 }), objects, FROM, 1)
    assert.deepEqual(before, {
      ...{ atMs: Date.UTC(2026, 9, 19, 6, 30), uid: 'a', recurrenceId: '2026-10-19T09:00:00' },
      ...{ edge: 'start', anchorMs: Date.UTC(2026, 9, 19, 7), summary: 'Stand-up' },
    })
    const [after] = anchorsOf(anchor({ edge: 'end', offsetMs: 600_000 }), objects, FROM, 1)
    assert.equal(after?.atMs, Date.UTC(2026, 9, 19, 7, 40))
  })
  it('only what is due after the given instant, also where the meeting began before', () => {
    const end = Date.UTC(2026, 9, 19, 7, 30)
    const objects = objectsOf(MASTER)
    const due = (afterMs: number) => anchorsOf(anchor({ edge: 'end' }), objects, afterMs, 5).length
    assert.deepEqual([due(end - 1), due(end)], [1, 0])
  })
  it('a query finds by attendee, category and title prefix, without case, in one calendar', () => {
    const objects = objectsOf(
      `UID:1|${MASTER}|SUMMARY:Review: sales|ATTENDEE:mailto:Ana@example.org|CATEGORIES:Board`,
      `UID:2|${MASTER}|SUMMARY:Review|ATTENDEE:mailto:bo@example.org`,
      `UID:3|${MASTER}|SUMMARY:Lunch|CATEGORIES:board,food`,
    )
    const uids = (query: object, calendar = 'team') =>
      anchorsOf(anchor({ query, calendar }), objects, FROM, 9).map(({ uid }) => uid)
    assert.deepEqual(uids({ attendee: 'ana@EXAMPLE.org' }), ['1'])
    assert.deepEqual(uids({ category: 'board' }), ['1', '3'])
    assert.deepEqual(uids({ summaryPrefix: 'review' }), ['1', '2'])
    assert.deepEqual(uids({ summaryPrefix: 'Review', category: 'Board' }), ['1'])
    assert.deepEqual(uids({ category: 'board' }, 'other'), [])
  })
  it('a query sees what an exception says of its own instance', () => {
    const at = `${ZONE}:20261026T090000`
    const renamed = `RECURRENCE-ID;${at}|DTSTART;${at}|SUMMARY:Planning`
    const objects = objectsOf(WEEKLY, renamed)
    const found = anchorsOf(anchor({ query: { summaryPrefix: 'Plan' } }), objects, FROM, 3)
    assert.deepEqual(
      found.map(({ atMs }) => minute(atMs)),
      ['10-26T08:00'],
    )
  })
  it('an anchor is lost with its object, or when that is cancelled as a whole', () => {
    assert.equal(lostAnchor(anchor({}), undefined), 'deleted')
    assert.equal(lostAnchor(anchor({}), objectOf(`${MASTER}|STATUS:CANCELLED`)), 'cancelled')
    assert.equal(lostAnchor(anchor({}), objectOf(WEEKLY)), null)
    assert.equal(lostAnchor(anchor({ query: { category: 'x' } }), undefined), null)
  })
})

describe('two imports compared', () => {
  const changes = (before: CalendarObject[], after: CalendarObject[], kept?: Set<string>) =>
    compareObjects(new Map(before.map(object => [object.uid, object])), after, kept)
  it('a new stamp, or another order, is no change', () => {
    const before = objectOf(
      `${WEEKLY}|DTSTAMP:20260101T000000Z|EXDATE:20261026T080000Z,20261102T080000Z`,
    )
    const after = objectOf(
      `DTSTAMP:20260601T000000Z|EXDATE:20261102T080000Z,20261026T080000Z|${WEEKLY}`,
    )
    assert.deepEqual(changes([before], [after]), { changed: [], removed: [], stale: [] })
  })
  it('moved, edited, added and removed are told apart', () => {
    const before = objectOf(WEEKLY)
    assert.equal(changeOf(before, objectOf(`${WEEKLY}|EXDATE:20261026T080000Z`)), 'moved')
    assert.equal(changeOf(before, objectOf(WEEKLY.replace('093000', '100000'))), 'moved')
    assert.equal(changeOf(before, objectOf(`${WEEKLY}|STATUS:CANCELLED`)), 'moved')
    assert.equal(changeOf(before, objectOf(WEEKLY.replace('Stand-up', 'Daily'))), 'edited')
    const [added] = changes([], [before]).changed
    assert.equal(added?.how, 'added')
    assert.deepEqual(changes([before], []).removed, ['a'])
  })
  it('what could not be read keeps what is stored', () => {
    assert.deepEqual(changes([objectOf(WEEKLY)], [], new Set(['a'])).removed, [])
  })
  it('an older revision, by number and by date, changes nothing', () => {
    const revision = (sequence: number, stamp: string) =>
      objectOf(`${WEEKLY}|SEQUENCE:${sequence}|DTSTAMP:${stamp}`)
    const before = revision(2, '20260201T000000Z')
    assert.deepEqual(changes([before], [revision(1, '20260101T000000Z')]).stale, ['a'])
    assert.equal(changes([before], [revision(1, '20260301T000000Z')]).changed.length, 1)
  })
})
