/** One content line through ical.js, and the value types of RFC 5545 3.3 that meetings need. */
import ICAL from 'ical.js'
import { parseRrule } from '../recurrence/parse-rrule.ts'
import type { Span } from './calendar-object.ts'

export interface IcsProperty {
  /** In upper case. */
  name: string
  /** Parameters by lower-case name. */
  params: Record<string, string>
  /** The value as it stands in the line, escapes included. */
  raw: string
}

/** Lines that are longer are nobody's date, rule or title. */
const LINE_MAX = 128 * 1024

/** RFC 5545 sets no bound; rules of people are far below. */
const RULE_MAX = 1024

/** Knows no property, so that ical.js reads name and parameters and leaves every value as it is. */
const RAW_DESIGN = { property: {}, value: {}, param: {} } as typeof ICAL.design.icalendar

/** A line as a property, or `null` for what is none. */
export function parseProperty(line: string): IcsProperty | null {
  if (line.length > LINE_MAX) return null
  try {
    const [name, params, type, raw] = ICAL.parse.property(line, RAW_DESIGN) as unknown[]
    if (typeof name !== 'string' || typeof raw !== 'string') return null
    const given: Record<string, string> = Object.create(null)
    for (const [key, value] of Object.entries(params as Record<string, unknown>)) {
      given[key] = Array.isArray(value) ? value.join(',') : String(value)
    }
    if (type !== 'unknown') given.value = String(type).toUpperCase()
    return { name: name.toUpperCase(), params: given, raw }
  } catch {
    return null
  }
}

/** A DATE or DATE-TIME before its zone is known. */
export interface WrittenValue {
  /** `2026-12-01T09:00:00`; midnight for a date. */
  local: string
  isDate: boolean
  isUtc: boolean
}

const TIME = /^(\d{4})-?(\d{2})-?(\d{2})(?:T(\d{2}):?(\d{2}):?(\d{2})?(Z)?)?Z?$/i

/**
 * Reads RFC 5545 3.3.4 and 3.3.5, also with the dashes and colons that some programs write; `null`
 * for what is no time. A leap second is read as the second before it.
 */
export function parseTimeValue(raw: string): WrittenValue | null {
  const found = TIME.exec(raw.trim())
  if (!found) return null
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00'] = found
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second === '60' ? '59' : second}`
  try {
    Temporal.PlainDateTime.from(local, { overflow: 'reject' })
  } catch {
    return null
  }
  if (year === '0000') return null
  return { local, isDate: found[4] === undefined, isUtc: found[7] !== undefined }
}

const DURATION =
  /^([+-])?P(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,7})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$/i

/** Reads RFC 5545 3.3.6, days apart from time; a negative one is `null`: no meeting ends early. */
export function parseDuration(raw: string): Span | null {
  const found = DURATION.exec(raw.trim())
  if (!found || found[1] === '-') return null
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = found
    .slice(2)
    .map(part => Number(part ?? 0))
  return { days: weeks * 7 + days, ms: ((hours * 60 + minutes) * 60 + seconds) * 1000 }
}

/**
 * A rule in the form that the recurrence module reads, or `null` for what is no rule. Blanks, a
 * last semicolon and parts of programs (`X-…`) mean nothing; neither do the defaults of RFC 7529.
 */
export function parseRule(raw: string): string | null {
  const rule = raw
    .replace(/\s+/g, '')
    .toUpperCase()
    .split(';')
    .filter(part => part !== '' && !/^(?:X-|RSCALE=GREGORIAN$|SKIP=OMIT$)/.test(part))
    .join(';')
  return rule.length > RULE_MAX || 'problem' in parseRrule(rule) ? null : rule
}

/** Undoes the escapes of TEXT (RFC 5545 3.3.11). */
export function unescapeText(raw: string): string {
  return raw.replace(/\\([\\;,nN])/g, (_all, mark: string) => (/n/i.test(mark) ? '\n' : mark))
}

/** Splits a list at the commas that are not escaped. */
export function splitList(raw: string): string[] {
  return (raw.match(/(?:\\.|[^,\\])+/gs) ?? []).map(part => unescapeText(part).trim())
}

/** `+0530`, `-045602` in seconds, or `null`. */
export function parseUtcOffset(raw: string): number | null {
  const found = /^([+-]?)(\d{2}):?(\d{2}):?(\d{2})?$/.exec(raw.trim())
  if (!found) return null
  const [hours = 0, minutes = 0, seconds = 0] = found.slice(2).map(part => Number(part ?? 0))
  const size = hours * 3600 + minutes * 60 + seconds
  if (size > 24 * 3600 || minutes > 59) return null
  return found[1] === '-' ? -size : size
}
