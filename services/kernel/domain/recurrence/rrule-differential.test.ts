import assert from 'node:assert/strict'
import { test } from 'node:test'
import rrulePackage from 'rrule'
import { nextOccurrences } from './next-occurrences.ts'

const { RRule } = rrulePackage

/**
 * Random UTC rules. Rules of days and more are compared with `rrule`, which is widely used and
 * right for most of them. What it gets wrong the generator leaves out: BYDAY entries with and
 * without ordinals in one rule, BYWEEKNO (without BYDAY it is the whole week), BYSETPOS in the week
 * of DTSTART, several positions that meet in one (it fires twice). Rules of hours and less, where
 * it loses days or never returns, are compared with a walk that tries every step.
 */
const RULES = 400
const SHOWN = 8
/** As far as the walk goes. */
const STEPS = 20_000
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const

type Draw = () => number

/** Mulberry32: a failure names its seed, and the seed makes the same rule again. */
function draws(seed: number): Draw {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Random {
  from(low: number, high: number): number
  pick<T>(items: readonly [T, ...T[]]): T
  /** `NAME=…` with one to three values in order, or nothing. */
  part(chance: number, name: string, make: () => number | string): string[]
  dtstart(): string
}

function randomFrom(draw: Draw): Random {
  const from = (low: number, high: number) => low + Math.floor(draw() * (high - low + 1))
  const two = (value: number) => String(value).padStart(2, '0')
  return {
    from,
    pick: items => items[from(0, items.length - 1)] ?? items[0],
    part(chance, name, make) {
      if (draw() >= chance) return []
      // In order, because `rrule` gives the times of a day in the order in which they are listed.
      const values = [...new Set(Array.from({ length: from(1, 3) }, make))]
      return [`${name}=${values.sort((one, other) => Number(one) - Number(other)).join(',')}`]
    },
    dtstart() {
      const date = `${from(1997, 2030)}-${two(from(1, 12))}-${two(from(1, 28))}`
      return `${date}T${two(from(0, 23))}:${two(from(0, 59))}:00`
    },
  }
}

function calendarRule({ from, pick, part }: Random): string {
  const frequency = pick(['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY'])
  const weekly = frequency === 'WEEKLY'
  const ordinals = (frequency === 'YEARLY' || frequency === 'MONTHLY') && from(0, 1) === 0
  const monthDay = () => pick([1, 31, -1, 29, from(1, 31), -from(1, 31)])
  const by = [
    ...part(0.3, 'BYMONTH', () => from(1, 12)),
    ...part(0.2, 'BYYEARDAY', () => pick([1, 366, -1, -366, from(1, 366)])).filter(
      () => frequency === 'YEARLY',
    ),
    ...part(0.3, 'BYMONTHDAY', monthDay).filter(() => !weekly),
    ...part(0.4, 'BYDAY', () => (ordinals ? pick([1, 2, 4, -1, -2]) : '') + pick(WEEKDAYS)),
    ...part(0.3, 'BYHOUR', () => from(0, 23)),
    ...part(0.2, 'BYMINUTE', () => from(0, 59)),
  ]
  const positions = part(0.2, 'BYSETPOS', () => pick([1, 2, -1, -2]))
  return [
    `FREQ=${frequency}`,
    `INTERVAL=${pick([1, 1, from(2, 6)])}`,
    ...by,
    ...positions.filter(each => by.length > 0 && !weekly && !each.includes(',')),
    `WKST=${pick(WEEKDAYS)}`,
    ...part(0.2, 'COUNT', () => from(1, 20)).filter(each => !each.includes(',')),
  ].join(';')
}

function theirs(dtstart: string, rrule: string): number[] {
  const start = new Date(`${dtstart}Z`)
  const rule = new RRule({ ...RRule.parseString(rrule), dtstart: start })
  return rule.all((_, index) => index < SHOWN).map(date => date.getTime())
}

/** Whether it can be asked: it must find as much as we did, within years that it walks quickly. */
function comparable(ours: readonly number[], { dtstart, rrule }: Record<string, string>): boolean {
  const far = Date.parse(`${dtstart}Z`) + 40 * 366 * 86_400_000
  const complete = ours.length === SHOWN || rrule?.endsWith(`COUNT=${ours.length}`) === true
  return complete && (ours.at(-1) ?? far) < far
}

test('random UTC rules of days and more give the instants that rrule gives', () => {
  let compared = 0
  for (let seed = 1; seed <= RULES; seed++) {
    const random = randomFrom(draws(seed))
    const [dtstart, rrule] = [random.dtstart(), calendarRule(random)]
    const found = nextOccurrences({ dtstart, tzid: 'UTC', rrule }, null, SHOWN)
    const ours = found.map(({ atMs }) => atMs)
    if (!comparable(ours, { dtstart, rrule })) continue
    compared += 1
    assert.deepEqual(ours, theirs(dtstart, rrule), `seed ${seed}: ${dtstart} ${rrule}`)
  }
  assert.ok(compared > RULES / 2, `expected to compare most rules, compared ${compared}`)
})

interface Steps {
  stepMs: number
  parts: Record<string, string[]>
}

/** Tries every step from DTSTART, and keeps those whose date and time all parts name. */
function walked(dtstart: string, { stepMs, parts }: Steps): number[] {
  const kept: number[] = []
  const named = (part: string, value: number | string) =>
    parts[part] === undefined || parts[part].includes(String(value))
  let atMs = Date.parse(`${dtstart}Z`)
  for (let step = 0; step < STEPS && kept.length < SHOWN; step++, atMs += stepMs) {
    const date = new Date(atMs)
    const fits =
      named('BYMONTH', date.getUTCMonth() + 1) &&
      named('BYMONTHDAY', date.getUTCDate()) &&
      named('BYDAY', WEEKDAYS[(date.getUTCDay() + 6) % 7] ?? '') &&
      named('BYHOUR', date.getUTCHours()) &&
      named('BYMINUTE', date.getUTCMinutes()) &&
      named('BYSECOND', date.getUTCSeconds())
    if (fits) kept.push(atMs)
  }
  return kept
}

test('random UTC rules of hours and less give the instants that a walk finds', () => {
  for (let seed = 1; seed <= RULES; seed++) {
    const random = randomFrom(draws(seed))
    const { from, pick, part } = random
    const dtstart = random.dtstart()
    const frequency = pick(['HOURLY', 'MINUTELY', 'SECONDLY'])
    const interval = from(1, pick([10, 200]))
    // A part below the frequency would add times within a step, which the walk does not know.
    const by = [
      ...part(0.3, 'BYMONTH', () => from(1, 12)),
      ...part(0.2, 'BYMONTHDAY', () => from(1, 31)),
      ...part(0.4, 'BYDAY', () => pick(WEEKDAYS)),
      ...part(0.4, 'BYHOUR', () => from(0, 23)),
      ...part(0.3, 'BYMINUTE', () => from(0, 59)).filter(() => frequency !== 'HOURLY'),
      ...part(0.3, 'BYSECOND', () => from(0, 59)).filter(() => frequency === 'SECONDLY'),
    ]
    const rrule = [`FREQ=${frequency}`, `INTERVAL=${interval}`, ...by].join(';')
    const unitMs = { HOURLY: 3_600_000, MINUTELY: 60_000, SECONDLY: 1000 }[frequency] ?? 0
    const stepMs = unitMs * interval
    const parts = Object.fromEntries(
      by.map(each => {
        const [name = '', values = ''] = each.split('=')
        return [name, values.split(',')]
      }),
    )
    const found = nextOccurrences({ dtstart, tzid: 'UTC', rrule }, null, SHOWN)
    const end = Date.parse(`${dtstart}Z`) + STEPS * stepMs
    const ours = found.map(({ atMs }) => atMs).filter(atMs => atMs < end)
    assert.deepEqual(ours, walked(dtstart, { stepMs, parts }), `seed ${seed}: ${dtstart} ${rrule}`)
  }
})
