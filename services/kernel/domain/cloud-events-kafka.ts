/**
 * CloudEvents Kafka protocol binding 1.0.2, read strictly: structured JSON and Avro, and binary
 * mode with JSON, text, bytes or Confluent Avro. What it refuses goes to `deadletter`. Avro
 * needs schemas, so its decoders are handed in.
 */
import { AmbitError } from '../errors.ts'
import { cloudEventFrom, refuseOversized, refuseReserved } from './cloud-event-rules.ts'
import { type CloudEvent, EVENT_DATA_BYTES_MAX } from './event.ts'
import { type EventPayload, payloadOf } from './event-payload.ts'
import { decodeUtf8, parseStrictJson } from './lossless-json.ts'
import { isUtf8, parseMediaType } from './media-type.ts'

type HeaderValue = Uint8Array | string

/** One record, with headers as kafkajs gives them: a list is a header that came twice. */
export interface KafkaEventRecord {
  headers: Readonly<Record<string, HeaderValue | readonly HeaderValue[] | undefined>>
  value: Uint8Array | null
}

/** Decoders of Avro; one that is not given makes its events refused. */
export interface AvroDecoders {
  /** `application/cloudevents+avro`: the members of the event in JSON form. */
  decodeEvent?: (bytes: Uint8Array) => Record<string, unknown>
  /** `application/avro` in the Confluent wire format: the data as JSON. */
  decodeConfluent?: (bytes: Uint8Array) => unknown | Promise<unknown>
}

/**
 * Reads one record of an outside producer's topic. A promise only where `decodeConfluent` gives
 * one. Confluent Avro becomes JSON data, so its `datacontenttype` becomes `application/json`.
 * The record key is the producer's and changes nothing in the event.
 *
 * @throws AmbitError `bad-json`, `bad-event`, `reserved-attribute`, `too-large` or
 * `unsupported-media-type`; a promise rejects with the same.
 */
export function parseKafkaEvent(
  record: KafkaEventRecord,
  decoders: AvroDecoders = {},
): CloudEvent | Promise<CloudEvent> {
  const contentType = contentTypeOf(record)
  const type = contentType === undefined ? undefined : parseMediaType(contentType)
  if (type?.essence.startsWith('application/cloudevents')) {
    if (!isUtf8(type)) throw unsupported('charset=utf-8')
    return checked(structuredEvent(record.value, type.essence, decoders), sizeOf(record))
  }
  const attributes = attributesOf(record, contentType)
  const bytes = record.value ?? new Uint8Array()
  if (bytes.length > EVENT_DATA_BYTES_MAX) {
    throw new AmbitError('too-large', 'Expected data of at most 256 KiB, got more.', {
      pointer: '/data',
    })
  }
  const finish = (payload: EventPayload) =>
    checked(cloudEventFrom({ ...attributes, ...payload }), bytes.length)
  if (type?.essence !== 'application/avro' || bytes.length === 0) {
    return finish(payloadOf(bytes, contentType))
  }
  if (!decoders.decodeConfluent) throw unsupported('JSON, text or bytes')
  attributes.datacontenttype = 'application/json'
  const data = decoders.decodeConfluent(bytes)
  return data instanceof Promise ? data.then(each => finish({ data: each })) : finish({ data })
}

function checked(event: CloudEvent, sentBytes: number): CloudEvent {
  refuseReserved(event, { platform: false })
  refuseOversized(event, sentBytes)
  return event
}

function structuredEvent(
  value: Uint8Array | null,
  essence: string,
  decoders: AvroDecoders,
): CloudEvent {
  if (value === null) throw badEvent('', 'an event in the value', 'no value')
  if (essence === 'application/cloudevents+json') {
    return cloudEventFrom(parseStrictJson(decodeUtf8(value)))
  }
  if (essence === 'application/cloudevents+avro' && decoders.decodeEvent) {
    return cloudEventFrom(decoders.decodeEvent(value))
  }
  throw unsupported('application/cloudevents+json or +avro')
}

/** The attributes of binary mode: `ce_` headers, UTF-8, not percent-encoded (3.2.3). */
function attributesOf(
  record: KafkaEventRecord,
  contentType: string | undefined,
): Record<string, unknown> {
  const members = new Map<string, unknown>()
  for (const [name, value] of Object.entries(record.headers)) {
    if (!name.startsWith('ce_') || value === undefined) continue
    const attribute = name.slice('ce_'.length)
    if (attribute === 'data' || attribute === 'data_base64') {
      throw badEvent(`/${attribute}`, 'data in the value', 'data in a header')
    }
    members.set(attribute, headerText(name, value))
  }
  const repeated = members.get('datacontenttype')
  // The JavaScript SDK sends the type in both places; only a contradiction is refused.
  if (repeated !== undefined && repeated !== contentType) {
    throw badEvent('/datacontenttype', 'the type of the content-type header', 'another type')
  }
  if (contentType !== undefined) members.set('datacontenttype', contentType)
  return Object.fromEntries(members)
}

function contentTypeOf(record: KafkaEventRecord): string | undefined {
  const found = Object.entries(record.headers).filter(
    ([name, value]) => name.toLowerCase() === 'content-type' && value !== undefined,
  )
  if (found.length > 1) throw badEvent('/datacontenttype', 'one content-type header', 'several')
  const value = found[0]?.[1]
  return value === undefined ? undefined : headerText('content-type', value) || undefined
}

function headerText(name: string, value: HeaderValue | readonly HeaderValue[]): string {
  const values = typeof value === 'string' || value instanceof Uint8Array ? [value] : value
  const [only] = values
  if (only === undefined || values.length > 1) {
    throw badEvent(`/${name.replace(/^ce_/, '')}`, 'the header once', 'it repeated')
  }
  return typeof only === 'string' ? only : decodeUtf8(only)
}

function sizeOf(record: KafkaEventRecord): number {
  return record.value?.length ?? 0
}

function badEvent(pointer: string, expected: string, actual: string): AmbitError {
  return new AmbitError(
    'bad-event',
    `Expected ${expected} at ${pointer || 'the record'}, got ${actual}. ` +
      'See the CloudEvents Kafka binding.',
    { pointer, expected, actual },
  )
}

function unsupported(expected: string): AmbitError {
  return new AmbitError(
    'unsupported-media-type',
    `Expected ${expected}, got another content type. Send what the Kafka binding names.`,
    { expected, actual: 'another content type' },
  )
}
