import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnchorPoint, DueInstant } from '#kernel/domain/schedule/coming-instants.ts'
import { decideDue, type ScheduleCase } from './decide-due.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 5, 1, 12)

/** Instants every so often, for ever, on the round ones. */
const every = (ms: number) => (afterMs: number, limit: number) =>
  Array.from({ length: limit }, (_, n) => instantAt((Math.floor(afterMs / ms) + 1 + n) * ms))

const instantAt = (atMs: number): DueInstant => ({ atMs, nominal: new Date(atMs).toISOString() })

const listed = (instants: DueInstant[]) => (afterMs: number, limit: number) =>
  instants.filter(({ atMs }) => atMs > afterMs).slice(0, limit)

function caseOf(given: Partial<ScheduleCase>): ScheduleCase {
  return {
    kind: 'recurrence',
    missed: 'latest',
    decidedMs: NOON,
    nowMs: NOON,
    watchedSinceMs: NOON - DAY,
    isBefore: false,
    coming: every(HOUR),
    jitter: () => 0,
    ...given,
  }
}

/** Fired instants and gaps as minutes after noon, easy to read in a table. */
function told(given: Partial<ScheduleCase>) {
  const { firings, gaps, decidedMs } = decideDue(caseOf(given))
  const minutes = (ms: number) => (ms - NOON) / MINUTE
  return {
    fired: firings.map(({ instant }) => minutes(instant.atMs)),
    missed: gaps.map(gap => [minutes(gap.fromMs), minutes(gap.toMs), gap.count, gap.reason]),
    decided: minutes(decidedMs),
  }
}

describe('recurrences', () => {
  test('an instant is fired when it comes, and not before', () => {
    assert.deepEqual(told({ nowMs: NOON + HOUR - 1 }), { fired: [], missed: [], decided: 0 })
    assert.deepEqual(told({ nowMs: NOON + HOUR }), { fired: [60], missed: [], decided: 60 })
  })

  test('what was decided is not decided again, also when the clock goes back', () => {
    const decidedMs = NOON + HOUR
    assert.deepEqual(told({ decidedMs, nowMs: NOON - 3 * HOUR }).fired, [])
    assert.deepEqual(told({ decidedMs, nowMs: NOON + HOUR }), {
      ...{ fired: [], missed: [], decided: 60 },
    })
  })

  test('jitter puts off the dispatch, is no lateness, and holds back later ones', () => {
    const jitter = () => 10 * MINUTE
    assert.deepEqual(told({ jitter, nowMs: NOON + 65 * MINUTE }).fired, [])
    const { firings } = decideDue(caseOf({ jitter, nowMs: NOON + 70 * MINUTE }))
    assert.equal(firings[0]?.lateMs, 0)
  })

  test('the last one of a schedule has an hour of grace', () => {
    const coming = listed([instantAt(NOON + MINUTE)])
    assert.deepEqual(told({ coming, nowMs: NOON + 50 * MINUTE }).fired, [1])
    assert.deepEqual(told({ coming, nowMs: NOON + 62 * MINUTE }).fired, [])
  })
})

describe('missed rules', () => {
  test('latest: after a break the newest one is fired, and the others are one gap', () => {
    assert.deepEqual(told({ nowMs: NOON + 3 * HOUR + 20 * MINUTE }), {
      fired: [180],
      missed: [[60, 120, 2, 'later-one-fired']],
      decided: 180,
    })
    const { firings } = decideDue(caseOf({ nowMs: NOON + 3 * HOUR + 20 * MINUTE }))
    assert.equal(firings[0]?.missedCount, 2)
    assert.equal(firings[0]?.lateMs, 20 * MINUTE)
  })

  test('latest: the grace is half the distance to the next, within a minute and an hour', () => {
    const rows: [everyMs: number, lateMs: number, isFired: boolean][] = [
      [HOUR, 30 * MINUTE, true],
      [HOUR, 30 * MINUTE + 1, false],
      [MINUTE, MINUTE - 1, true],
      [DAY, HOUR, true],
      [DAY, HOUR + 1, false],
    ]
    for (const [everyMs, lateMs, isFired] of rows) {
      const coming = every(everyMs)
      const [first] = coming(NOON, 1)
      const nowMs = (first?.atMs ?? 0) + lateMs
      const { firings, gaps } = decideDue(caseOf({ coming, nowMs }))
      assert.equal(firings.length, isFired ? 1 : 0, `${everyMs} ${lateMs}`)
      assert.equal(gaps.length, isFired ? 0 : 1)
    }
  })

  test('latest: past its grace nothing is fired, and every instant is in the gap', () => {
    assert.deepEqual(told({ nowMs: NOON + 3 * HOUR + 31 * MINUTE }), {
      fired: [],
      missed: [[60, 180, 3, 'too-late']],
      decided: 180,
    })
  })

  test('all: oldest first, at most a hundred, of the last day only', () => {
    const three = told({ missed: 'all', nowMs: NOON + 3 * HOUR + 40 * MINUTE })
    assert.deepEqual(three, { fired: [60, 120, 180], missed: [], decided: 180 })
    const minutely = decideDue(caseOf({ missed: 'all', coming: every(MINUTE), nowMs: NOON + DAY }))
    assert.equal(minutely.firings.length, 100)
    assert.equal(minutely.gaps[0]?.count, 1340)
    const days = told({ missed: 'all', coming: every(6 * HOUR), nowMs: NOON + 2 * DAY })
    assert.deepEqual(days.fired, [1440, 1800, 2160, 2520, 2880])
    assert.deepEqual(days.missed, [[360, 1080, 3, 'too-late']])
  })

  test('none: what nobody was there for is not wanted, but being slow misses nothing', () => {
    const nowMs = NOON + HOUR + 5000
    const late = { missed: 'none', nowMs } as const
    assert.deepEqual(told({ ...late, watchedSinceMs: nowMs }), {
      ...{ fired: [], missed: [[60, 60, 1, 'not-wanted-late']], decided: 60 },
    })
    assert.deepEqual(told(late).fired, [60])
    const inTime = { ...late, nowMs: NOON + HOUR + 500, watchedSinceMs: nowMs }
    assert.deepEqual(told(inTime).fired, [60])
  })

  test('a break of years is decided with bounded work, the newest instant included', () => {
    const coming = every(MINUTE)
    const nowMs = NOON + 400 * DAY + 30_000
    const { firings, gaps } = decideDue(caseOf({ coming, nowMs }))
    assert.equal(firings[0]?.instant.atMs, NOON + 400 * DAY)
    assert.ok((gaps[0]?.count ?? 0) >= 10_000)
  })
})

describe('one-shots', () => {
  const once = { kind: 'once', coming: listed([instantAt(NOON + HOUR)]) } as const

  test('are fired however late, up to a day, and then end as missed', () => {
    assert.deepEqual(told({ ...once, nowMs: NOON + HOUR }).fired, [60])
    assert.deepEqual(told({ ...once, nowMs: NOON + HOUR + DAY }).fired, [60])
    assert.deepEqual(told({ ...once, nowMs: NOON + HOUR + DAY + 1 }), {
      ...{ fired: [], missed: [[60, 60, 1, 'too-late']], decided: 60 },
    })
  })
})

describe('anchors', () => {
  const meeting = (edgeMs: number, offsetMs: number, toldMs = NOON - DAY): DueInstant => {
    const anchor = { calendar: 'work', uid: `at ${edgeMs}`, recurrenceId: null, summary: '' }
    const point: AnchorPoint = { ...anchor, edgeMs, toldMs }
    return { atMs: edgeMs + offsetMs, nominal: String(edgeMs), anchor: point }
  }
  const before = (edgeMs: number, toldMs?: number) => meeting(edgeMs, -30 * MINUTE, toldMs)

  test('a reminder is fired late until the meeting begins, then dropped', () => {
    const given = { kind: 'anchor', isBefore: true, coming: listed([before(NOON + HOUR)]) } as const
    assert.deepEqual(told({ ...given, nowMs: NOON + 30 * MINUTE }).fired, [30])
    assert.deepEqual(told({ ...given, nowMs: NOON + 59 * MINUTE }).fired, [30])
    assert.deepEqual(told({ ...given, nowMs: NOON + HOUR }), {
      ...{ fired: [], missed: [[30, 30, 1, 'meeting-begun']], decided: 30 },
    })
  })

  test('two meetings at one time are two reminders, also when both are late', () => {
    const other = { ...before(NOON + HOUR), nominal: 'another' }
    const coming = listed([before(NOON + HOUR), other])
    const given = { kind: 'anchor', isBefore: true, coming } as const
    assert.deepEqual(told({ ...given, nowMs: NOON + 30 * MINUTE }).fired, [30, 30])
    const after = { ...given, isBefore: false, nowMs: NOON + 35 * MINUTE }
    assert.deepEqual(told(after).fired, [30, 30])
  })

  test('a meeting moved into the past is recorded, one told of just before is fired', () => {
    const nowMs = NOON + 40 * MINUTE
    const coming = listed([before(NOON + HOUR, NOON + 35 * MINUTE)])
    const given = { kind: 'anchor', isBefore: true, coming, nowMs } as const
    assert.deepEqual(told(given), {
      ...{ fired: [], missed: [[30, 30, 1, 'set-in-the-past']], decided: 30 },
    })
    const known = listed([before(NOON + HOUR, NOON + 30 * MINUTE - 1)])
    assert.deepEqual(told({ ...given, coming: known }).fired, [30])
  })

  test('after an edge the missed rule applies to what is late', () => {
    const ends = [1, 2].map(hours => meeting(NOON + hours * HOUR, MINUTE))
    const given = { kind: 'anchor', coming: listed(ends), nowMs: NOON + 2.5 * HOUR } as const
    assert.deepEqual(told(given), {
      ...{ fired: [121], missed: [[61, 61, 1, 'later-one-fired']], decided: 121 },
    })
    assert.deepEqual(told({ ...given, missed: 'all' }).fired, [61, 121])
  })
})
