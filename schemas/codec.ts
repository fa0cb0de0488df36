/**
 * Records on the wire: one zero byte, the schema's id as four bytes big-endian, Avro (the wire
 * format of Confluent's serializers). Ids come from a registry where there is one, else from
 * `schemas/ids.json`; the bytes after them are the same.
 */
import type { Resolver, Type } from 'avsc'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import type {
  Answer,
  AuditEntry,
  Candidate,
  Change,
  DeadLetter,
  Decision,
  EventRecord,
  GuardStateRecord,
  MailboxTransition,
  Message,
  Notice,
  Outcome,
  ScheduleMark,
  TableDocument,
  Trial,
  TrialResult,
  Usage,
  VerdictRecord,
} from './generated/records.ts'
import { avroType, currentSchemas, fingerprintOf, landedSchemas } from './landed-schemas.ts'
import {
  type Convert,
  conversionFromWire,
  conversionToWire,
  type SchemaJson,
} from './record-conversion.ts'

/** What each record holds, by the name that the topic catalogue uses. */
export interface RecordTypes {
  answer: Answer
  'audit-entry': AuditEntry
  candidate: Candidate
  change: Change
  'dead-letter': DeadLetter
  decision: Decision
  event: EventRecord
  'guard-state': GuardStateRecord
  'mailbox-transition': MailboxTransition
  message: Message
  notice: Notice
  outcome: Outcome
  'schedule-mark': ScheduleMark
  'table-document': TableDocument
  trial: Trial
  'trial-result': TrialResult
  usage: Usage
  verdict: VerdictRecord
}

/** Writes and reads the values of all topics. */
export interface RecordCodec {
  /** @throws AmbitError `internal` when the value does not fit the schema; says where. */
  encode<N extends keyof RecordTypes>(record: N, value: RecordTypes[N]): Uint8Array
  /**
   * Plain objects; bytes may share memory with `bytes`.
   *
   * @throws AmbitError `invalid` when the bytes are no such record, or nobody knows their schema.
   * `not-ready` when a newer writer's schema is being fetched from the registry, or comes with an
   * update: read the record again later.
   */
  decode<N extends keyof RecordTypes>(record: N, bytes: Uint8Array): RecordTypes[N]
  /** Resolves when records can be written: at once, or when the registry knows the schemas. */
  ready(): Promise<void>
}

/** The part of a schema registry that a codec needs. */
export interface SchemaRegistry {
  /** Registers a version under a subject and answers its id; the same schema keeps its id. */
  register(subject: string, schema: SchemaJson): Promise<number>
  schemaOf(id: number): Promise<SchemaJson>
}

/** Where ids come from. */
export interface CodecOptions {
  registry?: SchemaRegistry
  /** Put before the record's name in a registry: `<prefix><record>-value`. Default `ambit.` */
  subjectPrefix?: string
}

const HEADER_BYTES = 5
/**
 * Without a registry, ids this little above our newest may be those of a newer version of Ambit:
 * its records wait for the update. Any other unknown id is no record at all.
 */
const NEWER_IDS = 100

/** Asks for the schema of an id: it may be known later, or never. */
type Learn = (format: Format, id: number) => 'later' | 'never'

interface Format {
  record: string
  type: Type
  fingerprint: string
  toWire: Convert | undefined
  fromWire: Convert | undefined
  /** Id that new records carry; undefined until the registry has given one. */
  id: number | undefined
  /** By id: how to read it; undefined for the current schema, which needs no resolver. */
  writers: Map<number, Resolver | undefined>
}

/** A codec for all records of `schemas/avro`. */
export function createRecordCodec(options: CodecOptions = {}): RecordCodec {
  const { registry, subjectPrefix = 'ambit.' } = options
  const formats = createFormats()
  const landed = landedSchemas()
  if (!registry) for (const each of landed) addWriter(formats, each.record, each.id, each.schema)
  const newest = Math.max(...landed.map(({ id }) => id))
  const fetching = new Map<number, Promise<void>>()
  const unknown = new Set<number>()
  const learn = (format: Format, id: number) => {
    if (!registry) return id > newest && id <= newest + NEWER_IDS ? 'later' : 'never'
    if (unknown.has(id)) return 'never'
    if (fetching.has(id)) return 'later'
    const learning = registry
      .schemaOf(id)
      .then(schema => addWriter(formats, format.record, id, schema))
      .catch(error => {
        if (isAmbitError(error) && error.code === 'not-found') unknown.add(id)
      })
      .finally(() => fetching.delete(id))
    fetching.set(id, learning)
    return 'later'
  }
  let registered: Promise<void> | undefined
  const register = async () => {
    for (const { record, schema } of registry ? landed : []) {
      const id = await registry?.register(`${subjectPrefix}${record}-value`, schema)
      if (id !== undefined) addWriter(formats, record, id, schema)
    }
  }
  return {
    encode: (record, value) => encode(formatOf(formats, record), value),
    decode: <N extends keyof RecordTypes>(record: N, bytes: Uint8Array) =>
      // The schema of this record has checked the shape.
      decode(formatOf(formats, record), bytes, learn) as RecordTypes[N],
    async ready() {
      registered ??= register()
      try {
        await registered
      } catch (error) {
        registered = undefined
        throw error
      }
    },
  }
}

function createFormats(): Map<string, Format> {
  return new Map(
    [...currentSchemas()].map(([record, schema]) => [
      record,
      {
        record,
        type: avroType(schema),
        fingerprint: fingerprintOf(schema),
        toWire: conversionToWire(schema),
        fromWire: conversionFromWire(schema),
        id: undefined,
        writers: new Map(),
      },
    ]),
  )
}

function addWriter(
  formats: Map<string, Format>,
  record: string,
  id: number,
  schema: SchemaJson,
): void {
  const format = formats.get(record)
  if (!format) return
  const isCurrent = fingerprintOf(schema) === format.fingerprint
  if (isCurrent) format.id = id
  format.writers.set(id, isCurrent ? undefined : format.type.createResolver(avroType(schema)))
}

function formatOf(formats: Map<string, Format>, record: string): Format {
  const format = formats.get(record)
  if (format) return format
  throw new AmbitError('internal', `Expected a record of schemas/avro, got ${record}.`)
}

/** Grows to the largest record; records are copied out of it. */
let scratch = Buffer.allocUnsafe(64 * 1024)

function encode(format: Format, value: unknown): Uint8Array {
  const { type, toWire, id } = format
  if (id === undefined) {
    throw new AmbitError(
      'not-ready',
      `Expected an id for the schema of ${format.record}, got none. ` +
        'Wait for ready(); after an edit of schemas/avro run `node schemas/generate.ts`.',
    )
  }
  let end: number
  try {
    const wire = toWire ? toWire(value) : value
    end = type.encode(wire, scratch, HEADER_BYTES)
    if (end < 0) {
      scratch = Buffer.allocUnsafe(2 * (scratch.length - end))
      end = type.encode(wire, scratch, HEADER_BYTES)
    }
  } catch {
    throw unfit(format, value)
  }
  scratch[0] = 0
  scratch.writeUInt32BE(id, 1)
  return Buffer.from(scratch.subarray(0, end))
}

/** Names the member, never its value. */
function unfit({ type, toWire, record }: Format, value: unknown): AmbitError {
  const paths: string[] = []
  try {
    const errorHook = (path: string[]) => paths.push(path.join('/'))
    type.isValid(toWire ? toWire(value) : value, { errorHook })
  } catch {
    paths.push('')
  }
  const pointer = `/${paths[0] ?? ''}`
  return new AmbitError(
    'internal',
    `Expected a value of the schema ${record}, got another at ${pointer}. Mend the writer.`,
    { pointer, expected: record, actual: 'another shape' },
  )
}

function decode(format: Format, bytes: Uint8Array, learn: Learn): unknown {
  const { type, fromWire, record, writers } = format
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length < HEADER_BYTES || buffer[0] !== 0) throw unreadable(record, 'other bytes')
  const id = buffer.readUInt32BE(1)
  if (!writers.has(id)) {
    if (learn(format, id) === 'never') throw unreadable(record, `the unknown schema id ${id}`)
    throw new AmbitError(
      'not-ready',
      `Expected a known schema of ${record}, got id ${id}. Update, or read again later.`,
      { expected: `a landed schema of ${record}`, actual: `schema id ${id}` },
    )
  }
  let wire: { value: unknown; offset: number }
  try {
    wire = type.decode(buffer, HEADER_BYTES, writers.get(id))
  } catch (cause) {
    throw unreadable(record, 'bytes of another shape', cause)
  }
  if (wire.offset !== buffer.length) throw unreadable(record, 'bytes of another length')
  try {
    return fromWire ? fromWire(wire.value) : wire.value
  } catch (cause) {
    throw unreadable(record, 'a json member that is not JSON', cause)
  }
}

function unreadable(record: string, actual: string, cause?: unknown): AmbitError {
  return new AmbitError(
    'invalid',
    `Expected a record ${record} in the wire format, got ${actual}. Look at who wrote it.`,
    { expected: record, actual, cause },
  )
}
