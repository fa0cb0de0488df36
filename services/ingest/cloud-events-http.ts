/**
 * CloudEvents HTTP protocol binding 1.0.2: structured, binary and batched requests, read strictly.
 * It owns the form of a request; who may send what is `refuseReserved` and the credential.
 */
import {
  cloudEventFrom,
  refuseOversized,
  refuseReserved,
} from '#kernel/domain/cloud-event-rules.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { payloadOf } from '#kernel/domain/event-payload.ts'
import { decodeUtf8, parseStrictJson } from '#kernel/domain/lossless-json.ts'
import { isUtf8, parseMediaType } from '#kernel/domain/media-type.ts'
import { AmbitError } from '#kernel/errors.ts'
import { headerValues, type RequestHeaders } from './headers.ts'

/** Most events of one batch. */
const BATCH_ITEMS_MAX = 100

const STRUCTURED = 'application/cloudevents+json'
const BATCH = 'application/cloudevents-batch+json'

/** One request; give `req.headersDistinct`, because Node joins repeated headers in `headers`. */
export interface EventsRequest {
  headers: RequestHeaders
  /** The body after `content-encoding`. */
  body: Buffer
}

/**
 * Reads the events of a request, in order, and refuses what producers may not say. One bad event
 * refuses the whole batch, so that a retry is safe.
 *
 * @throws AmbitError `bad-json`, `bad-event`, `reserved-attribute`, `too-large` or
 * `unsupported-media-type`.
 */
export function parseHttpEvents(
  request: EventsRequest,
  sender: { platform: boolean } = { platform: false },
): CloudEvent[] {
  const contentType = contentTypeOf(request.headers)
  const type = contentType === undefined ? undefined : parseMediaType(contentType)
  const structured = type?.essence.startsWith('application/cloudevents') ?? false
  if (structured && !(type && isUtf8(type))) throw unsupported('charset=utf-8', 'another charset')
  const events = structured
    ? structuredEvents(request.body, type!.essence)
    : [binaryEvent(request, contentType)]
  const at = type?.essence === BATCH ? (index: number) => `/${index}` : () => ''
  events.forEach((event, index) => {
    refuseReserved(event, sender, at(index))
    refuseOversized(event, request.body.length, at(index))
  })
  return events
}

function structuredEvents(body: Buffer, essence: string): CloudEvent[] {
  if (essence === STRUCTURED) return [cloudEventFrom(parseStrictJson(decodeUtf8(body)))]
  if (essence !== BATCH) throw unsupported(`${STRUCTURED} or ${BATCH}`, 'another event format')
  const items = parseStrictJson(decodeUtf8(body))
  if (!Array.isArray(items)) {
    const facts = { pointer: '', expected: 'an array', actual: 'another value' }
    throw new AmbitError('bad-event', 'Expected an array of events, got another value.', facts)
  }
  if (items.length <= BATCH_ITEMS_MAX) return items.map((item, i) => cloudEventFrom(item, `/${i}`))
  throw new AmbitError(
    'too-large',
    `Expected at most ${BATCH_ITEMS_MAX} events in a batch, got ${items.length}. Send several.`,
    { expected: `<= ${BATCH_ITEMS_MAX} events`, actual: `${items.length} events` },
  )
}

function binaryEvent(request: EventsRequest, contentType: string | undefined): CloudEvent {
  const members = new Map<string, unknown>()
  for (const [key, value] of Object.entries(request.headers)) {
    const name = key.toLowerCase()
    if (!name.startsWith('ce-') || value === undefined) continue
    const attribute = name.slice('ce-'.length)
    if (attribute === 'datacontenttype') throw badHeader(name, 'no such header', 'the header')
    const values = typeof value === 'string' ? [value] : value
    if (members.has(attribute) || values.length !== 1) {
      throw badHeader(name, 'the header once', `it ${values.length} times or in two spellings`)
    }
    members.set(attribute, attributeText(name, values[0] ?? ''))
  }
  if (members.size === 0) throw unsupported('CloudEvents in one of its HTTP forms', 'neither')
  for (const name of ['data', 'data_base64']) {
    if (members.has(name)) throw badHeader(`ce-${name}`, 'data in the body', 'data in a header')
  }
  return cloudEventFrom({
    ...Object.fromEntries(members),
    datacontenttype: contentType,
    ...payloadOf(request.body, contentType),
  })
}

/** Undoes quoting, then exactly one round of percent-encoding (HTTP binding 3.1.3.2). */
function attributeText(header: string, value: string): string {
  const trimmed = value.trim()
  if (/[^\x20-\x7e\t]/.test(trimmed)) {
    throw badHeader(header, 'printable ASCII with the rest percent-encoded', 'other characters')
  }
  try {
    return decodeURIComponent(unquoted(trimmed))
  } catch {
    throw badHeader(header, 'percent-encoded UTF-8', 'a malformed percent sequence')
  }
}

function unquoted(value: string): string {
  const inner = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1]
  return inner === undefined ? value : inner.replaceAll(/\\(.)/g, '$1')
}

function contentTypeOf(headers: RequestHeaders): string | undefined {
  const values = headerValues(headers, 'content-type')
  if (values.length > 1) throw badHeader('content-type', 'the header once', 'it repeated')
  return values[0] === '' ? undefined : values[0]
}

function badHeader(header: string, expected: string, actual: string): AmbitError {
  return new AmbitError(
    'bad-event',
    `Expected ${expected} at header ${header}, got ${actual}. See the CloudEvents HTTP binding.`,
    { pointer: `/${header.replace(/^ce-/, '')}`, expected, actual },
  )
}

function unsupported(expected: string, actual: string): AmbitError {
  return new AmbitError(
    'unsupported-media-type',
    `Expected ${expected}, got ${actual}. Send structured JSON, a JSON batch or binary mode.`,
    { expected, actual },
  )
}
