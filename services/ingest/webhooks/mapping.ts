/**
 * From a verified delivery to its event (docs/api.md, "Sources"). Pure: CEL
 * and the hash are handed in.
 */
import { cloudEventFrom, refuseOversized } from '#kernel/domain/cloud-event-rules.ts'
import { type CloudEvent, RESERVED_TYPE_PREFIXES } from '#kernel/domain/event.ts'
import type { EventPayload } from '#kernel/domain/event-payload.ts'
import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import type { SourceMap, Verification } from '#kernel/domain/source.ts'
import { AmbitError } from '#kernel/errors.ts'

/** What mapping needs from outside. */
export interface MappingTools {
  /** Evaluates a CEL expression; throws when it fails on this delivery. */
  evaluate: (
    expression: string,
    variables: { body: unknown; headers: Record<string, string> },
  ) => unknown
  /** SHA-256 of bytes in lower-case hex. */
  sha256: (bytes: Uint8Array) => string
}

/** A verified delivery. */
export interface VerifiedDelivery {
  /** `data` or `data_base64` as `payloadOf` reads the body. */
  payload: EventPayload
  contentType?: string
  /** Header names in lower case; credentials among them are kept from expressions. */
  headers: Record<string, string>
  /** The body after `content-encoding`. */
  rawBody: Uint8Array
  deliveryId?: string
}

/**
 * The event of a delivery: source `/webhooks/<name>`; the mapped type as it is, else
 * `webhook.<name>`; the mapped id, else the delivery id, else the SHA-256 of the canonical body;
 * `dedupkey` likewise. An expression that gives null or '' counts as not mapped.
 *
 * @throws AmbitError `bad-event` when an expression fails or its result does not fit,
 * `reserved-attribute` for a type of Ambit's own, `too-large`.
 */
export function mapWebhook(
  source: { name: string; map?: SourceMap },
  delivery: VerifiedDelivery,
  tools: MappingTools,
): CloudEvent {
  const headers = withoutCredentials(delivery.headers)
  const variables = { body: delivery.payload.data ?? null, headers }
  const mapped = (field: keyof SourceMap) => {
    const expression = source.map?.[field]
    return expression === undefined ? undefined : result(field, expression, variables, tools)
  }
  const occurrence = delivery.deliveryId || undefined
  const fallback = occurrence ?? tools.sha256(canonicalBody(delivery))
  const event = cloudEventFrom({
    specversion: '1.0',
    id: mapped('id') ?? fallback,
    source: `/webhooks/${source.name}`,
    type: mapped('type') ?? `webhook.${source.name}`,
    subject: mapped('subject'),
    dedupkey: mapped('dedupKey') ?? fallback,
    datacontenttype: delivery.contentType,
    ...delivery.payload,
  })
  refuseOwnTypes(event)
  refuseOversized(event, delivery.rawBody.length)
  return event
}

/** The id that a provider keeps over retries, where the body carries it. */
export function bodyDeliveryId(scheme: Verification['scheme'], body: unknown): string | undefined {
  const key = scheme === 'stripe' ? 'id' : scheme === 'slack' ? 'event_id' : undefined
  if (key === undefined || typeof body !== 'object' || body === null) return undefined
  const id = Object.hasOwn(body, key) ? (body as Record<string, unknown>)[key] : undefined
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** An expression must not be able to copy a secret into an attribute, where anyone reads it. */
function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  const credentials = new Set(['authorization', 'proxy-authorization', 'cookie'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !credentials.has(name)))
}

function result(
  field: keyof SourceMap,
  expression: string,
  variables: { body: unknown; headers: Record<string, string> },
  tools: MappingTools,
): string | undefined {
  let value: unknown
  try {
    value = tools.evaluate(expression, variables)
  } catch (cause) {
    throw unfit(field, 'an expression that holds for this body', 'a failure', cause)
  }
  if (value === null || value === undefined || value === '') return undefined
  if (typeof value === 'string') return value
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return String(value)
  if (JSON.isRawJSON(value)) return value.rawJSON
  throw unfit(field, 'a string or an integer', `a ${typeof value}`)
}

/**
 * Types of Ambit's own causes would let a stranger's body wake their subscribers. `webhook.` is
 * left to the administrator who wrote the mapping.
 */
function refuseOwnTypes(event: CloudEvent): void {
  const prefix = RESERVED_TYPE_PREFIXES.find(each => event.type.startsWith(each))
  if (prefix === undefined || prefix === 'webhook.') return
  throw new AmbitError(
    'reserved-attribute',
    `Expected a mapped type of your own, got the reserved prefix ${prefix}. Change map.type.`,
    { pointer: '/map/type', expected: 'a type of your own', actual: prefix },
  )
}

/** JSON with sorted keys and no white space, so that spelling does not matter; else the bytes. */
function canonicalBody(delivery: VerifiedDelivery): Uint8Array {
  const { data } = delivery.payload
  if (typeof data !== 'object' || data === null) return delivery.rawBody
  return new TextEncoder().encode(stringifyLossless(sorted(data)))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, child]) => [key, sorted(child)]))
}

function unfit(field: string, expected: string, actual: string, cause?: unknown): AmbitError {
  return new AmbitError(
    'bad-event',
    `Expected map.${field} to be ${expected}, got ${actual}. Change the body or the mapping.`,
    { pointer: `/map/${field}`, expected, actual, cause },
  )
}
