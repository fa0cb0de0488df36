import avsc from 'avsc'
import { payloadOf } from '#kernel/domain/event-payload.ts'
import { AmbitError } from '#kernel/errors.ts'

/** Deepest nesting of data, as for JSON. */
const DEPTH_MAX = 64

const DATA = 'AvroCloudEventData'

/** A JSON value below the top level: an object is a record around a map. */
const dataRecord = {
  type: 'record',
  name: DATA,
  fields: [
    {
      name: 'value',
      type: {
        type: 'map',
        values: [
          'null',
          'boolean',
          { type: 'map', values: DATA },
          { type: 'array', items: DATA },
          'double',
          'string',
        ],
      },
    },
  ],
}

/**
 * CloudEvents Avro format 1.0.2, section 2.4. Record names differ between drafts and are not part
 * of the bytes. Unions are always wrapped (`{ string: 'x' }`), because `bytes`, `map` and `array`
 * could not be told apart otherwise.
 */
const eventType = avsc.Type.forSchema(
  {
    namespace: 'io.cloudevents',
    type: 'record',
    name: 'AvroCloudEvent',
    fields: [
      {
        name: 'attribute',
        type: { type: 'map', values: ['null', 'boolean', 'int', 'string', 'bytes'] },
      },
      {
        name: 'data',
        type: [
          'bytes',
          'null',
          'boolean',
          { type: 'map', values: ['null', 'boolean', dataRecord, 'double', 'string'] },
          { type: 'array', items: DATA },
          'double',
          'string',
        ],
      },
    ],
  } as avsc.Schema,
  { wrapUnions: 'always' },
)

interface DecodedEvent {
  attribute: object
  data: unknown
}

interface DecodedData {
  value: object
}

/**
 * The members, in JSON form, of an event in the CloudEvents Avro format; give them to
 * `cloudEventFrom`. Data as `bytes` is read by its `datacontenttype`; `null` is no data.
 *
 * @throws AmbitError `bad-event` when the bytes are not such an event, `bad-json` when its data
 * is not what its type claims.
 */
export function avroEventMembers(bytes: Uint8Array): Record<string, unknown> {
  const { attribute, data } = decode(bytes)
  const members = Object.fromEntries(
    plainEntries(attribute).map(([name, value]) => [name, attributeOf(unwrap(value)[1])]),
  )
  for (const name of ['data', 'data_base64']) {
    if (Object.hasOwn(members, name)) throw badEvent(`no attribute ${name}`)
  }
  const [branch, value] = unwrap(data)
  if (branch === 'null') return members
  if (branch !== 'bytes') return { ...members, data: jsonOfData(branch, value) }
  const type = members.datacontenttype
  const payload = payloadOf(value as Buffer, typeof type === 'string' ? type : undefined)
  return { ...members, ...payload }
}

function decode(bytes: Uint8Array): DecodedEvent {
  try {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    return eventType.fromBuffer(buffer) as DecodedEvent
  } catch (cause) {
    // Also a stack that nesting used up: the decoder is recursive, the bytes are a stranger's.
    throw badEvent('the CloudEvents Avro format', cause)
  }
}

/** Branch name and value of a wrapped union. */
function unwrap(union: unknown): [string, unknown] {
  if (union === null) return ['null', null]
  return Object.entries(union as object)[0] ?? ['null', null]
}

function attributeOf(value: unknown): unknown {
  return Buffer.isBuffer(value) ? value.toString('base64') : value
}

/** The top-level union: its map holds unions, where a deeper map holds records. */
function jsonOfData(branch: string, value: unknown): unknown {
  return branch === 'map' ? jsonOfMap(value as object, 1) : jsonOfBranch(branch, value, 1)
}

function jsonOfBranch(branch: string, value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX) throw badEvent(`nesting of at most ${DEPTH_MAX}`)
  switch (branch) {
    case 'array':
      return (value as DecodedData[]).map(item => jsonOfMap(item.value, depth + 1))
    case 'map':
      return Object.fromEntries(
        plainEntries(value as Record<string, DecodedData>).map(([key, item]) => [
          key,
          jsonOfMap(item.value, depth + 1),
        ]),
      )
    case 'double':
      if (!Number.isFinite(value)) throw badEvent('finite numbers')
      return value
    case 'null':
    case 'boolean':
    case 'string':
      return value
    default:
      return jsonOfMap((value as DecodedData).value, depth)
  }
}

/** A map of unions, so an object. */
function jsonOfMap(map: object, depth: number): unknown {
  return Object.fromEntries(
    plainEntries(map).map(([key, union]) => [key, jsonOfBranch(...unwrap(union), depth + 1)]),
  )
}

/** Entries of a decoded map; a key `__proto__` would have become its prototype unseen. */
function plainEntries<T>(map: Record<string, T> | object): [string, T][] {
  if (Object.getPrototypeOf(map) === Object.prototype) return Object.entries(map)
  throw badEvent('keys other than __proto__')
}

function badEvent(expected: string, cause?: unknown): AmbitError {
  return new AmbitError(
    'bad-event',
    `Expected ${expected}, got something else. See the CloudEvents Avro format.`,
    { pointer: '', expected, actual: 'something else', cause },
  )
}
