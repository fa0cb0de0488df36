/**
 * What the zone names of one file mean. In this order: a name of the zone database, also behind a
 * vendor's prefix; a name of Windows; what its VTIMEZONE says it is (`X-LIC-LOCATION`); what its
 * VTIMEZONE does; the towns in a display name of Outlook.
 */
import { formatLocal } from '../recurrence/local-time.ts'
import { zoneClock } from '../recurrence/zone-clock.ts'
import type { PlacedLocal } from './calendar-object.ts'
import { type CustomZone, customZone, fixedZone } from './custom-zone.ts'
import type { IcsBlock } from './ics-blocks.ts'
import { parseProperty, parseUtcOffset, unescapeText, type WrittenValue } from './ics-property.ts'
import { windowsZone } from './windows-zones.ts'

export interface ZoneBook {
  /**
   * Where a written time lies, or `null` for a zone that nobody explains. Times without a zone and
   * days are in the book's own zone. `isSeries` asks for a named zone, since a rule needs one;
   * other times of a custom zone are read exactly.
   */
  place(value: WrittenValue, tzid: string | undefined, isSeries: boolean): PlacedLocal | null
}

type Meaning = { named: string } | { custom: CustomZone } | null

const DAY_MS = 86_400_000
const AREAS = ['Europe', 'America', 'Asia', 'Africa', 'Australia', 'Pacific', 'Atlantic', 'Indian']

/** Reads the VTIMEZONEs of a calendar; `ownZone` is an IANA name. */
export function createZoneBook(timezones: readonly IcsBlock[], ownZone: string): ZoneBook {
  const blocks = new Map<string, IcsBlock>()
  for (const block of timezones) {
    for (const id of propertyValues(block, 'TZID')) blocks.set(nameKey(id), block)
  }
  const meanings = new Map<string, Meaning>()
  const meaningOf = (tzid: string) => {
    const key = nameKey(tzid)
    const known = meanings.get(key)
    if (known !== undefined) return known
    const meaning = explain(key, blocks.get(key))
    meanings.set(key, meaning)
    return meaning
  }
  return {
    place(value, tzid, isSeries) {
      if (value.isUtc) return { local: value.local, zone: 'UTC' }
      if (value.isDate || !tzid?.trim()) return { local: value.local, zone: ownZone }
      const meaning = meaningOf(tzid)
      if (!meaning) return null
      if ('named' in meaning) return { local: value.local, zone: meaning.named }
      return placeCustom(value.local, meaning.custom, isSeries)
    },
  }
}

/** Quotes and blanks around a name are nobody's intention. */
const nameKey = (tzid: string) =>
  tzid
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim()

function propertyValues(block: IcsBlock, name: string): string[] {
  return block.lines.flatMap(line => {
    const found = line.toUpperCase().startsWith(name) ? parseProperty(line) : null
    return found?.name === name ? [unescapeText(found.raw)] : []
  })
}

function explain(name: string, block: IcsBlock | undefined): Meaning {
  const named = databaseName(name) ?? windowsZone(name)
  if (named !== undefined) return { named }
  const [location] = block ? propertyValues(block, 'X-LIC-LOCATION') : []
  const located = location === undefined ? undefined : databaseName(location.trim())
  if (located !== undefined) return { named: located }
  const custom = block ? customZone(block) : null
  if (custom) return { custom }
  const offset = writtenOffset(name)
  if (offset !== null) return { custom: fixedZone(offset * 1000) }
  const shown = byDisplayName(name)
  return shown === undefined ? null : { named: shown }
}

/** `UTC+01`, `(GMT +01:00)`, `+0530`: an offset and nothing else, seconds. */
function writtenOffset(name: string): number | null {
  const found = /^\(?(?:UTC|GMT)? ?([+-])(\d{1,2})(?::?(\d{2}))?\)?$/i.exec(name)
  if (!found) return null
  const [, sign = '', hours = '', minutes = '00'] = found
  return parseUtcOffset(`${sign}${hours.padStart(2, '0')}${minutes}`)
}

/** `Europe/Madrid`, or what stands behind a prefix such as `/mozilla.org/20050126_1/`. */
function databaseName(name: string): string | undefined {
  const whole = zoneClock(name)
  if (whole) return whole.id
  const parts = name.split('/').filter(part => part !== '')
  for (const size of [3, 2]) {
    if (parts.length <= size && !name.startsWith('/')) continue
    const clock = zoneClock(parts.slice(-size).join('/'))
    if (clock) return clock.id
  }
  return undefined
}

/** How Outlook shows the zones of North America. */
const NORTH_AMERICA: readonly (readonly [string, string])[] = [
  ['eastern time', 'America/New_York'],
  ['central time', 'America/Chicago'],
  ['mountain time', 'America/Denver'],
  ['pacific time', 'America/Los_Angeles'],
  ['atlantic time', 'America/Halifax'],
  ['newfoundland', 'America/St_Johns'],
  ['alaska', 'America/Anchorage'],
  ['hawaii', 'Pacific/Honolulu'],
  ['arizona', 'America/Phoenix'],
]

/** `(UTC+01:00) Brussels, Copenhagen, Madrid, Paris`: the first town that has a zone. */
function byDisplayName(name: string): string | undefined {
  const found = /^(?:\((?:UTC|GMT)[^)]{0,12}\) *)?([^()]+)/i.exec(name)
  const shown = (found?.[1] ?? '').trim().toLowerCase()
  if (shown === '' || (shown === name.toLowerCase() && !shown.includes(','))) {
    return NORTH_AMERICA.find(([text]) => shown === text)?.[1]
  }
  if (shown.startsWith('coordinated universal')) return 'UTC'
  const american = NORTH_AMERICA.find(([text]) => shown.startsWith(text))
  return american
    ? american[1]
    : shown
        .split(/[,/]/)
        .map(townZone)
        .find(zone => zone !== undefined)
}

function townZone(town: string): string | undefined {
  const word = town.trim().replaceAll(' ', '_')
  for (const area of AREAS) {
    const clock = zoneClock(`${area}/${word}`)
    if (clock) return clock.id
  }
  return undefined
}

function placeCustom(local: string, zone: CustomZone, isSeries: boolean): PlacedLocal {
  const atMs = instantIn(zone, Date.parse(`${local}Z`))
  const near = zone.nearest(atMs)
  if (near?.same || (isSeries && near)) return { local, zone: near.id }
  return { local: formatLocal(Math.floor(atMs / 1000)), zone: 'UTC' }
}

/**
 * The instant of a wall time: the first where it happens twice, by the offset before where it
 * does not happen (RFC 5545 3.3.5).
 */
function instantIn(zone: CustomZone, wall: number): number {
  const first = wall - zone.offsetAt(wall - DAY_MS)
  if (zone.offsetAt(first) === wall - first) return first
  const second = wall - zone.offsetAt(wall + DAY_MS)
  return zone.offsetAt(second) === wall - second ? second : first
}
