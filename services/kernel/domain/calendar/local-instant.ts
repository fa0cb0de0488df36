/** Between a time on the clock of a place and its instant. */
import { formatLocal, parseWrittenTime } from '../recurrence/local-time.ts'
import { localSecondsAt, zoneClock } from '../recurrence/zone-clock.ts'
import type { PlacedLocal, Span } from './calendar-object.ts'

const DAY_SECONDS = 86_400

function clockOf(zone: string) {
  const clock = zoneClock(zone)
  // Zones are checked when an object is read; this one has left the zone database since.
  if (!clock) throw new RangeError(`unknown zone ${zone}`)
  return clock
}

/** The instant of a local time; gaps and repeats by RFC 5545 3.3.5. Ms since the epoch. */
export function localInstant({ local, zone }: PlacedLocal): number {
  const written = parseWrittenTime(local)
  if (!written) throw new RangeError('not a local time')
  return clockOf(zone).place(written.seconds).atMs
}

/** The local time of an instant in a zone. */
export function localAt(atMs: number, zone: string): PlacedLocal {
  return { local: formatLocal(localSecondsAt(clockOf(zone), atMs)), zone }
}

/** The end of what starts at an instant: days on the clock of the zone first, then what passes. */
export function endOf(startMs: number, span: Span, zone: string): number {
  if (span.days === 0) return startMs + span.ms
  const clock = clockOf(zone)
  const seconds = localSecondsAt(clock, startMs) + span.days * DAY_SECONDS
  return clock.place(seconds).atMs + span.ms
}

/** A local time moved by seconds of the clock. */
export function shiftLocal(place: PlacedLocal, seconds: number): PlacedLocal {
  const written = parseWrittenTime(place.local)
  if (!written) throw new RangeError('not a local time')
  return { local: formatLocal(written.seconds + seconds), zone: place.zone }
}

/**
 * The day that a time names in a series of days: the date as it is written, in whatever zone, for
 * programs write midnight in the zone that they think in. An instant is a day where it is midnight
 * in the zone of the series.
 */
export function dayNamed(place: PlacedLocal, zone: string): string {
  const written = place.local.slice(0, 10)
  if (place.zone !== 'UTC') return written
  const here = localAt(localInstant(place), zone).local
  return here.endsWith('T00:00:00') ? here.slice(0, 10) : written
}
