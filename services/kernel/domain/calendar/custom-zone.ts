/**
 * A VTIMEZONE that no name explains (RFC 5545 3.6.5): its offsets are computed from its own
 * observances, and compared with the zone database, since series need a named zone.
 */
import { nextOccurrences } from '../recurrence/next-occurrences.ts'
import { zoneClock } from '../recurrence/zone-clock.ts'
import type { IcsBlock } from './ics-blocks.ts'
import { parseProperty, parseRule, parseTimeValue, parseUtcOffset } from './ics-property.ts'
import { COMMON_ZONES } from './windows-zones.ts'

interface Observance {
  /** First onset, its wall clock read as UTC, `YYYY-MM-DDTHH:MM:SS`. */
  dtstart: string
  fromMs: number
  toMs: number
  rule: string | null
  /** Further onsets, wall clock read as UTC, ms. */
  extra: number[]
}

export interface CustomZone {
  /** Ms that local time is ahead of UTC at an instant. */
  offsetAt(ms: number): number
  /**
   * The named zone with the same offsets throughout the year of an instant and the next; else the
   * nearest one that has its offset at the instant, or `null` when none has.
   */
  nearest(atMs: number): NearZone | null
}

export interface NearZone {
  id: string
  same: boolean
}

const YEAR_MS = 366 * 86_400_000
const OBSERVANCES_MAX = 200

const wallMs = (local: string) => Date.parse(`${local}Z`)

/** The zone of a VTIMEZONE, or `null` when one of its observances cannot be read. */
export function customZone(block: IcsBlock): CustomZone | null {
  const parts = block.children.filter(({ name }) => name === 'STANDARD' || name === 'DAYLIGHT')
  const observances = parts.slice(0, OBSERVANCES_MAX).map(readObservance)
  if (observances.length === 0 || observances.includes(null)) return null
  const known = observances as Observance[]
  return zoneOf(year => changesAround(known, year))
}

/** A zone that never changes. */
export function fixedZone(offsetMs: number): CustomZone {
  return zoneOf(() => [{ at: 0, offsetMs }])
}

interface Change {
  at: number
  offsetMs: number
}

function zoneOf(changesIn: (year: number) => Change[]): CustomZone {
  const years = new Map<number, Change[]>()
  const near = new Map<string, NearZone | null>()
  const offsetAt = (ms: number) => {
    const year = new Date(ms).getUTCFullYear()
    const changes = years.get(year) ?? changesIn(year)
    years.set(year, changes)
    return (changes.findLast(({ at }) => at <= ms) ?? changes[0])?.offsetMs ?? 0
  }
  const nearest = (atMs: number) => {
    const key = `${new Date(atMs).getUTCFullYear()} ${offsetAt(atMs)}`
    const found = near.has(key) ? near.get(key) : nearestZone(offsetAt, atMs)
    near.set(key, found ?? null)
    return found ?? null
  }
  return { offsetAt, nearest }
}

function readObservance(block: IcsBlock): Observance | null {
  const one = (name: string) => {
    for (const line of block.lines) {
      if (!line.toUpperCase().startsWith(name)) continue
      const found = parseProperty(line)
      if (found?.name === name) return found.raw
    }
    return undefined
  }
  const start = parseTimeValue(one('DTSTART') ?? '')
  const from = parseUtcOffset(one('TZOFFSETFROM') ?? '')
  const to = parseUtcOffset(one('TZOFFSETTO') ?? '')
  if (!start || from === null || to === null) return null
  const rrule = one('RRULE')
  const rule = rrule === undefined ? null : parseRule(rrule)
  if (rrule !== undefined && rule === null) return null
  const extra = (one('RDATE') ?? '').split(',').flatMap(text => {
    const value = parseTimeValue(text)
    return value ? [wallMs(value.local)] : []
  })
  return { dtstart: start.local, fromMs: from * 1000, toMs: to * 1000, rule, extra }
}

/** Changes of offset from before a year until after it; the first holds since ever. */
function changesAround(observances: Observance[], year: number): Change[] {
  const from = Date.UTC(year - 1, 0, 1)
  const to = Date.UTC(year + 1, 11, 31)
  const changes = observances.flatMap(observance =>
    onsets(observance, from, to).map(wall => ({
      at: wall - observance.fromMs,
      offsetMs: observance.toMs,
    })),
  )
  changes.sort((a, b) => a.at - b.at)
  if (changes.length > 0) return changes
  // Before its first observance a zone is what that one came from.
  const first = observances.reduce((a, b) => (wallMs(b.dtstart) < wallMs(a.dtstart) ? b : a))
  return [{ at: 0, offsetMs: first.fromMs }]
}

/** Onsets of an observance in a span of wall time, and the last one before it. */
function onsets(observance: Observance, from: number, to: number): number[] {
  const { dtstart, rule, extra } = observance
  const listed = [wallMs(dtstart), ...extra]
  const ruled = rule === null ? [] : ruledOnsets(dtstart, rule, from, to)
  const all = [...listed, ...ruled].filter(at => at <= to)
  const before = all.filter(at => at < from)
  return [...(before.length > 0 ? [Math.max(...before)] : []), ...all.filter(at => at >= from)]
}

function ruledOnsets(dtstart: string, rule: string, from: number, to: number): number[] {
  const start = sinceCommonYears(dtstart)
  const until = /UNTIL=(\d{4})(\d{2})(\d{2})/.exec(rule)
  const last = until ? Date.UTC(Number(until[1]), Number(until[2]) - 1, Number(until[3])) : to
  const after = Math.min(from, last) - YEAR_MS - 1
  try {
    const found = nextOccurrences({ dtstart: start, tzid: 'UTC', rrule: rule }, after, 64)
    return found.map(({ atMs }) => atMs)
  } catch {
    return []
  }
}

/** Programs let rules begin in 1601 or in the year 1; the same date in 1970 is as good. */
function sinceCommonYears(dtstart: string): string {
  if (dtstart >= '1970') return dtstart
  return `1970${dtstart.slice(4).replace('-02-29', '-02-28')}`
}

/** The middle of every half of a month of a year and the next, as instants. */
function samples(year: number): number[] {
  return Array.from({ length: 48 }, (_, n) => Date.UTC(year, Math.floor(n / 2), 8 + (n % 2) * 15))
}

function nearestZone(offsetAt: (ms: number) => number, atMs: number): NearZone | null {
  const times = samples(new Date(atMs).getUTCFullYear())
  const wanted = times.map(at => offsetAt(at) / 1000)
  const offset = offsetAt(atMs) / 1000
  let best: { id: string; hits: number } | null = null
  for (const id of COMMON_ZONES) {
    const clock = zoneClock(id)
    if (!clock || clock.offsetAt(atMs) !== offset) continue
    const hits = times.filter((at, n) => clock.offsetAt(at) === wanted[n]).length
    if (hits === times.length) return { id: clock.id, same: true }
    if (hits > (best?.hits ?? -1)) best = { id: clock.id, hits }
  }
  return best && { id: best.id, same: false }
}
