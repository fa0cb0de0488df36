/**
 * The CloudEvents Avro format 1.0.2, read by hand. The schema is fixed and small, and general
 * decoders read past the end of what a stranger sent: a length of a billion in ten bytes keeps
 * them busy for minutes. Here every length is checked against the bytes that are left.
 */
import { payloadOf } from '#kernel/domain/event-payload.ts'
import { AmbitError } from '#kernel/errors.ts'

/** Deepest nesting of data, as for JSON. */
const DEPTH_MAX = 64

/** Most values of attributes and data together, as keys are bounded for JSON. */
const VALUES_MAX = 10_000

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

interface Reader {
  bytes: Uint8Array
  view: DataView
  at: number
  values: number
}

/**
 * The members, in JSON form, of an event in the CloudEvents Avro format; give them to
 * `cloudEventFrom`. Data as `bytes` is read by its `datacontenttype`; `null` is no data.
 *
 * @throws AmbitError `bad-event` when the bytes are not such an event, `bad-json` when its data
 * is not what its type claims.
 */
export function avroEventMembers(bytes: Uint8Array): Record<string, unknown> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const reader: Reader = { bytes, view, at: 0, values: 0 }
  const members = readMap(reader, readAttribute)
  for (const name of ['data', 'data_base64']) {
    if (Object.hasOwn(members, name)) throw badEvent(`no attribute ${name}`)
  }
  const payload = readData(reader, members.datacontenttype)
  if (reader.at !== bytes.length) throw badEvent('no bytes after the event')
  return { ...members, ...payload }
}

/** Union of an attribute: null, boolean, int, string, bytes (format section 2.4). */
function readAttribute(reader: Reader): unknown {
  const branch = readLong(reader)
  if (branch === 0) return null
  if (branch === 1) return readBoolean(reader)
  if (branch === 2) return readLong(reader)
  if (branch === 3) return readString(reader)
  if (branch === 4) return Buffer.from(readBytes(reader)).toString('base64')
  throw badEvent('an attribute type')
}

/** Union of the data: bytes, null, boolean, map, array of objects, double, string. */
function readData(reader: Reader, contentType: unknown): object {
  const branch = readLong(reader)
  if (branch === 0) {
    return payloadOf(readBytes(reader), typeof contentType === 'string' ? contentType : undefined)
  }
  if (branch === 1) return {}
  if (branch === 2) return { data: readBoolean(reader) }
  if (branch === 3) return { data: readMap(reader, each => readField(each, 1)) }
  if (branch === 4) return { data: readArray(reader, each => readObject(each, 1)) }
  if (branch === 5) return { data: readDouble(reader) }
  if (branch === 6) return { data: readString(reader) }
  throw badEvent('a type of data')
}

/** Union of a field in the top-level map: null, boolean, object, double, string. */
function readField(reader: Reader, depth: number): unknown {
  const branch = readLong(reader)
  if (branch === 0) return null
  if (branch === 1) return readBoolean(reader)
  if (branch === 2) return readObject(reader, depth + 1)
  if (branch === 3) return readDouble(reader)
  if (branch === 4) return readString(reader)
  throw badEvent('a type of a field')
}

/** A `CloudEventData` record: a map of unions, so an object. */
function readObject(reader: Reader, depth: number): unknown {
  if (depth > DEPTH_MAX) throw badEvent(`nesting of at most ${DEPTH_MAX}`)
  return readMap(reader, each => readValue(each, depth))
}

/** Union inside such a record: null, boolean, map and array of objects, double, string. */
function readValue(reader: Reader, depth: number): unknown {
  const branch = readLong(reader)
  if (branch === 0) return null
  if (branch === 1) return readBoolean(reader)
  if (branch === 2) return readMap(reader, each => readObject(each, depth + 2))
  if (branch === 3) return readArray(reader, each => readObject(each, depth + 2))
  if (branch === 4) return readDouble(reader)
  if (branch === 5) return readString(reader)
  throw badEvent('a type of a value')
}

function readMap(reader: Reader, read: (reader: Reader) => unknown): Record<string, unknown> {
  const entries: [string, unknown][] = []
  readBlocks(reader, () => entries.push([readString(reader), read(reader)]))
  // Not by assignment: a key `__proto__` is data.
  const map: Record<string, unknown> = Object.fromEntries(entries)
  if (Object.keys(map).length !== entries.length) throw badEvent('every key once')
  return map
}

function readArray(reader: Reader, read: (reader: Reader) => unknown): unknown[] {
  const items: unknown[] = []
  readBlocks(reader, () => items.push(read(reader)))
  return items
}

/** Blocks of a map or array: a count, negative with a size after it, up to a zero (Avro 1.9). */
function readBlocks(reader: Reader, readItem: () => void): void {
  for (let count = readLong(reader); count !== 0; count = readLong(reader)) {
    if (count < 0) readLong(reader)
    reader.values += Math.abs(count)
    if (reader.values > VALUES_MAX) throw badEvent(`at most ${VALUES_MAX} values`)
    for (let left = Math.abs(count); left > 0; left -= 1) readItem()
  }
}

/** A zigzag varint. Beyond 53 bits it is inexact, which only ever fails a bound. */
function readLong(reader: Reader): number {
  let value = 0
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = take(reader, 1)[0]!
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
  throw badEvent('a number of at most ten bytes')
}

function readBoolean(reader: Reader): boolean {
  const byte = take(reader, 1)[0]!
  if (byte > 1) throw badEvent('a boolean')
  return byte === 1
}

function readDouble(reader: Reader): number {
  const at = reader.at
  take(reader, 8)
  const value = reader.view.getFloat64(at, true)
  if (!Number.isFinite(value)) throw badEvent('finite numbers')
  return value
}

function readBytes(reader: Reader): Uint8Array {
  return take(reader, readLong(reader))
}

function readString(reader: Reader): string {
  try {
    return utf8.decode(readBytes(reader))
  } catch (cause) {
    throw cause instanceof AmbitError ? cause : badEvent('UTF-8 text', cause)
  }
}

function take(reader: Reader, length: number): Uint8Array {
  const end = reader.at + length
  if (length < 0 || end > reader.bytes.length) throw badEvent('as many bytes as announced')
  const bytes = reader.bytes.subarray(reader.at, end)
  reader.at = end
  return bytes
}

function badEvent(expected: string, cause?: unknown): AmbitError {
  return new AmbitError(
    'bad-event',
    `Expected ${expected}, got something else. See the CloudEvents Avro format.`,
    { pointer: '', expected, actual: 'something else', cause },
  )
}
