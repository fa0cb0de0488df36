import { DAY_SECONDS, modulo } from './civil-days.ts'

/** Where a local time lies: its instant, and by how much it was shifted when it does not exist. */
export interface PlacedTime {
  atMs: number
  /** Length of the gap that the local time fell into, in seconds; 0 for a time that exists. */
  shiftSeconds: number
}

/** The clock of one zone. */
export interface ZoneClock {
  /** The zone's name in the usual case; an alias stays what it is. */
  id: string
  /**
   * The instant of a local time. One that does not exist is read with the offset before the gap,
   * one that happens twice is the first (RFC 5545 3.3.5; Temporal's `compatible`).
   */
  place(localSeconds: number): PlacedTime
  /** Seconds that local time is ahead of UTC at an instant. */
  offsetAt(atMs: number): number
}

/** A stretch of time without a change of offset, less a margin at both ends. */
interface Stretch {
  fromMs: number
  toMs: number
  offsetSeconds: number
}

/** No change of offset in the zone database is larger than a day. */
const MARGIN_MS = 2 * DAY_SECONDS * 1000
const FAR_MS = 8.64e15

/** The clock of a named zone, or `null` when the zone database does not know the name. */
export function zoneClock(tzid: string): ZoneClock | null {
  const zone = known(tzid)
  if (zone === null) return null
  return {
    id: zone.id,
    place: localSeconds => place(zone, localSeconds),
    offsetAt: atMs => offsetAt(zone, atMs),
  }
}

interface Zone {
  id: string
  stretch: Stretch | null
}

/**
 * One entry per zone that was asked for, with the stretch asked for last: most questions are about
 * the coming days. The names are those of the zone database, so the map stays small.
 */
const zones = new Map<string, Zone>()

function known(tzid: string): Zone | null {
  const found = zones.get(tzid)
  if (found !== undefined) return found
  if (!/^[A-Za-z]/.test(tzid)) return null
  try {
    const id = new Temporal.ZonedDateTime(0n, tzid).timeZoneId
    const zone = zones.get(id) ?? { id, stretch: null }
    // Other spellings of a name are looked up again: an unbounded set of keys would be a leak.
    zones.set(id, zone)
    return zone
  } catch {
    return null
  }
}

function place(zone: Zone, localSeconds: number): PlacedTime {
  const guessMs = (localSeconds - (zone.stretch?.offsetSeconds ?? 0)) * 1000
  if (holds(zone.stretch, guessMs)) return { atMs: guessMs, shiftSeconds: 0 }
  const exact = temporalPlace(zone.id, localSeconds)
  remember(zone, exact.atMs)
  return exact
}

function offsetAt(zone: Zone, atMs: number): number {
  if (zone.stretch !== null && holds(zone.stretch, atMs)) return zone.stretch.offsetSeconds
  remember(zone, atMs)
  return zonedAt(zone.id, atMs).offsetNanoseconds / 1e9
}

function holds(stretch: Stretch | null, atMs: number): boolean {
  return stretch !== null && atMs > stretch.fromMs && atMs < stretch.toMs
}

function temporalPlace(id: string, localSeconds: number): PlacedTime {
  const wall = new Date(localSeconds * 1000)
  const plain = new Temporal.PlainDateTime(
    wall.getUTCFullYear(),
    wall.getUTCMonth() + 1,
    wall.getUTCDate(),
    wall.getUTCHours(),
    wall.getUTCMinutes(),
    wall.getUTCSeconds(),
  )
  const zoned = plain.toZonedDateTime(id, { disambiguation: 'compatible' })
  const atMs = zoned.epochMilliseconds
  const shownSeconds = atMs / 1000 + zoned.offsetNanoseconds / 1e9
  return { atMs, shiftSeconds: shownSeconds - localSeconds }
}

function remember(zone: Zone, atMs: number): void {
  const here = zonedAt(zone.id, atMs)
  // "Previous" is strictly before, and a change at this very instant has already happened.
  const before = zonedAt(zone.id, atMs + 1).getTimeZoneTransition('previous')
  const after = here.getTimeZoneTransition('next')
  zone.stretch = {
    fromMs: before === null ? -FAR_MS : before.epochMilliseconds + MARGIN_MS,
    toMs: after === null ? FAR_MS : after.epochMilliseconds - MARGIN_MS,
    offsetSeconds: here.offsetNanoseconds / 1e9,
  }
}

function zonedAt(id: string, atMs: number): Temporal.ZonedDateTime {
  return new Temporal.ZonedDateTime(BigInt(Math.floor(atMs)) * 1_000_000n, id)
}

/** Whole seconds of the local clock at an instant. */
export function localSecondsAt(clock: ZoneClock, atMs: number): number {
  return Math.floor((atMs - modulo(atMs, 1000)) / 1000) + clock.offsetAt(atMs)
}
