/**
 * An event is a CloudEvent 1.0.2 in its JSON form: attributes flat, `data` or `data_base64`.
 * Numbers inside `data` that a double cannot hold exactly are `JSON.rawJSON` objects
 * (see `lossless-json.ts`), so that what a producer sent is what an agent reads.
 */
export interface CloudEvent {
  specversion: '1.0'
  id: string
  source: string
  type: string
  subject?: string
  /** RFC 3339 instant, as the producer wrote it. */
  time?: string
  datacontenttype?: string
  dataschema?: string
  /** JSON value; `null` is a value, absence is "no data" (JSON format 3.1.1). */
  data?: unknown
  data_base64?: string
  /** Extension attributes: string, 32-bit integer or boolean (CloudEvents 1.0.2, Type System). */
  [extension: string]: unknown
}

/** A lineage hop: who was woken, by which subscription, with which message. */
export interface Hop {
  subscription: string
  agent: string
  message: string
}

/** Deepest lineage that may still wake an agent; deeper is a cycle. */
export const LINEAGE_HOPS_MAX = 8

/** Largest `data` of one event in bytes, as sent. */
export const EVENT_DATA_BYTES_MAX = 256 * 1024

/** Type prefixes that only Ambit's own services may emit. */
export const RESERVED_TYPE_PREFIXES = [
  'time.',
  'calendar.',
  'platform.',
  'mcp.',
  'webhook.',
] as const

/** Attributes that only credentials, topic names and lease handles may set. */
export const RESERVED_ATTRIBUTES = ['tenant', 'onbehalfof', 'lineage'] as const

/** Platform types that a key with the role `platform` may send. */
export const PLATFORM_PRODUCER_TYPES = [
  'platform.flow.milestone',
  'platform.workspace.changed',
] as const

/** The occurrence an event reports: its `dedupkey`, else `source` + `id`. */
export function dedupKeyOf(event: CloudEvent): string {
  const key = event.dedupkey
  return typeof key === 'string' && key !== '' ? key : `${event.source}\n${event.id}`
}

/** Serialises lineage to its attribute value: `subscription/agent/message` hops, oldest first. */
export function formatLineage(hops: readonly Hop[]): string {
  return hops
    .map(hop => [hop.subscription, hop.agent, hop.message].map(encodeURIComponent).join('/'))
    .join(' ')
}

/** Reads the attribute value that `formatLineage` wrote; unreadable hops are dropped. */
export function parseLineage(value: unknown): Hop[] {
  if (typeof value !== 'string' || value === '') return []
  return value.split(' ').flatMap(text => {
    const [subscription, agent, message] = text.split('/').map(decodeURIComponent)
    return subscription && agent && message ? [{ subscription, agent, message }] : []
  })
}
