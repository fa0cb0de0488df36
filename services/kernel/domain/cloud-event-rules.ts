/**
 * What CloudEvents 1.0.2 and the JSON format allow in one event, and what Ambit keeps to itself.
 * Nothing is added, repaired or guessed: an event is taken as sent or refused with a pointer.
 */
import { AmbitError } from '../errors.ts'
import {
  type CloudEvent,
  EVENT_DATA_BYTES_MAX,
  PLATFORM_PRODUCER_TYPES,
  RESERVED_ATTRIBUTES,
  RESERVED_TYPE_PREFIXES,
} from './event.ts'
import { pointerToken } from './json-pointer.ts'
import { stringifyLossless } from './lossless-json.ts'
import { parseMediaType } from './media-type.ts'
import { parseRfc3339 } from './rfc3339.ts'
import { isUriReference } from './uri-reference.ts'

/** Most bytes of all attribute names and values of one event together, `data` not counted. */
const EVENT_ATTRIBUTE_BYTES_MAX = 64 * 1024

const REQUIRED = ['specversion', 'id', 'source', 'type'] as const
const STRING_ATTRIBUTES = new Set<string>([
  ...REQUIRED,
  'subject',
  'time',
  'datacontenttype',
  'dataschema',
])

const NAME = /^[a-z0-9]+$/
/** Code points that the String type excludes (CloudEvents 1.0.2, Type System). */
const FORBIDDEN_TEXT = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Checks the members of one event in JSON form and returns the event; `null` attributes are
 * absent (JSON format 2.2), `data: null` is a value (3.1.1). `at` is the pointer of the event
 * in its body, so `/1` for the second of a batch.
 *
 * @throws AmbitError `bad-event` with pointer, expected and actual; `too-large` when attributes
 * or data pass their bounds.
 */
export function cloudEventFrom(members: unknown, at = ''): CloudEvent {
  if (typeof members !== 'object' || members === null || Array.isArray(members)) {
    throw badEvent(at, 'an event object', kindOf(members))
  }
  const event: Record<string, unknown> = {}
  let bytes = 0
  for (const [name, value] of Object.entries(members)) {
    if (name === 'data' && value !== undefined) event.data = value
    if (name === 'data' || value === null || value === undefined) continue
    event[name] = name === 'data_base64' ? base64(value, at) : attribute(name, value, at)
    if (name !== 'data_base64') bytes += name.length + String(value).length
  }
  for (const name of REQUIRED) {
    if (!Object.hasOwn(event, name)) throw badEvent(`${at}/${name}`, `${name} to be set`, 'none')
  }
  if (Object.hasOwn(event, 'data') && Object.hasOwn(event, 'data_base64')) {
    throw badEvent(`${at}/data_base64`, 'either data or data_base64', 'both')
  }
  if (bytes > EVENT_ATTRIBUTE_BYTES_MAX) throw tooLarge('attributes', EVENT_ATTRIBUTE_BYTES_MAX, at)
  return event as CloudEvent
}

/**
 * Refuses what only credentials, topic names and lease handles may say. `platform` is true for a
 * key of the role `platform`, which may also send the platform's producer types.
 *
 * @throws AmbitError `reserved-attribute`.
 */
export function refuseReserved(event: CloudEvent, sender: { platform: boolean }, at = ''): void {
  for (const name of RESERVED_ATTRIBUTES) {
    if (Object.hasOwn(event, name)) throw reserved(`${at}/${name}`, `no attribute ${name}`, name)
  }
  const prefix = RESERVED_TYPE_PREFIXES.find(each => event.type.startsWith(each))
  if (prefix === undefined) return
  const allowed: readonly string[] = sender.platform ? PLATFORM_PRODUCER_TYPES : []
  if (allowed.includes(event.type)) return
  throw reserved(`${at}/type`, 'a type of your own', `the reserved prefix ${prefix}`)
}

/**
 * Refuses data above `EVENT_DATA_BYTES_MAX`. `sentBytes` is the size of what the event arrived
 * in: at or under the bound nothing needs to be measured, which is the ordinary case.
 *
 * @throws AmbitError `too-large`.
 */
export function refuseOversized(event: CloudEvent, sentBytes: number, at = ''): void {
  if (sentBytes <= EVENT_DATA_BYTES_MAX) return
  if (dataBytes(event) > EVENT_DATA_BYTES_MAX) throw tooLarge('data', EVENT_DATA_BYTES_MAX, at)
}

function dataBytes(event: CloudEvent): number {
  if (event.data_base64 !== undefined) return Math.floor((event.data_base64.length * 3) / 4)
  if (event.data === undefined) return 0
  const text = typeof event.data === 'string' ? event.data : stringifyLossless(event.data)
  return Buffer.byteLength(text)
}

function attribute(name: string, value: unknown, at: string): unknown {
  const pointer = `${at}/${pointerToken(name)}`
  if (!NAME.test(name)) throw badEvent(pointer, 'a name of a-z and 0-9', 'other characters')
  if (typeof value === 'string') {
    // First, so that no expression below runs over a megabyte.
    if (value.length > EVENT_ATTRIBUTE_BYTES_MAX)
      throw tooLarge(name, EVENT_ATTRIBUTE_BYTES_MAX, at)
    if (FORBIDDEN_TEXT.test(value)) {
      throw badEvent(pointer, 'text without control characters', 'a control character')
    }
    const expected = STRING_RULES.get(name)?.(value)
    if (expected === undefined) return value
    throw badEvent(pointer, expected, value === '' ? 'an empty string' : 'other text')
  }
  if (STRING_ATTRIBUTES.has(name)) throw badEvent(pointer, 'a string', kindOf(value))
  if (typeof value === 'boolean' || isInt32(value)) return value
  throw badEvent(pointer, 'a string, a 32-bit integer or a boolean', kindOf(value))
}

/** What each context attribute expects, in words, when the value does not fit. */
const STRING_RULES = new Map<string, (value: string) => string | undefined>([
  ['specversion', value => unless(value === '1.0', "'1.0'")],
  ['id', notEmpty],
  ['type', notEmpty],
  ['subject', notEmpty],
  ['source', value => unless(isUriReference(value), 'a URI-reference (RFC 3986 section 4.1)')],
  ['dataschema', value => unless(isUriReference(value, true), 'an absolute URI')],
  ['datacontenttype', value => unless(parseMediaType(value), 'a media type (RFC 2046)')],
  ['time', value => unless(parseRfc3339(value) !== undefined, 'an RFC 3339 timestamp')],
])

function unless(fits: unknown, expected: string): string | undefined {
  return fits ? undefined : expected
}

function notEmpty(value: string): string | undefined {
  return unless(value !== '', 'a string that is not empty')
}

function base64(value: unknown, at: string): string {
  if (typeof value === 'string' && value.length % 4 === 0 && BASE64.test(value)) return value
  throw badEvent(`${at}/data_base64`, 'Base64 (RFC 4648 section 4)', 'something else')
}

function isInt32(value: unknown): boolean {
  return typeof value === 'number' && (value | 0) === value
}

/** The kind of a JSON value, never the value: errors hold no payload. */
function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') {
    return Number.isInteger(value) ? 'an integer beyond 32 bits' : 'a fraction'
  }
  if (typeof value === 'object') return JSON.isRawJSON(value) ? 'a long number' : 'an object'
  return `a ${typeof value}`
}

function badEvent(pointer: string, expected: string, actual: string): AmbitError {
  const where = pointer === '' ? 'the event' : pointer
  return new AmbitError(
    'bad-event',
    `Expected ${expected} at ${where}, got ${actual}. Send an event as CloudEvents 1.0.2 says.`,
    { pointer, expected, actual },
  )
}

function reserved(pointer: string, expected: string, actual: string): AmbitError {
  return new AmbitError(
    'reserved-attribute',
    `Expected ${expected} at ${pointer}, got ${actual}. Leave it to the credential.`,
    { pointer, expected, actual },
  )
}

function tooLarge(what: string, max: number, at: string): AmbitError {
  return new AmbitError(
    'too-large',
    `Expected ${what} of at most ${max} bytes in one event, got more. Send a dataref instead.`,
    { pointer: `${at}/${what}`, expected: `${what} <= ${max} bytes`, actual: 'more' },
  )
}
