/** Between the CloudEvent that people see and the record that topics carry. */
import type { EventRecord } from '#schemas/generated/records.ts'
import type { CloudEvent } from './event.ts'
import { parseLossless, stringifyLossless } from './lossless-json.ts'

/** Bodies above this many characters travel by reference downstream of matching. */
export const INLINE_BODY_MAX = 8 * 1024

/** Data becomes JSON text or bytes; attributes keep their types. */
export function toEventRecord(event: CloudEvent): EventRecord {
  const { data, data_base64, ...attributes } = event
  return {
    attributes: attributes as EventRecord['attributes'],
    json: data === undefined ? null : stringifyLossless(data),
    bytes: data_base64 === undefined ? null : Buffer.from(data_base64, 'base64'),
    ref: null,
  }
}

/** The structured JSON form; a body carried by reference is absent. */
export function toCloudEvent(record: EventRecord): CloudEvent {
  const event = { ...record.attributes } as CloudEvent
  if (record.json !== null) event.data = parseLossless(record.json)
  if (record.bytes !== null) event.data_base64 = Buffer.from(record.bytes).toString('base64')
  return event
}

/** Carries a large body by its position instead of its text. */
export function withBodyByReference(
  record: EventRecord,
  position: { topic: string; partition: number; offset: number },
): EventRecord {
  const size = (record.json?.length ?? 0) + (record.bytes?.length ?? 0)
  return size > INLINE_BODY_MAX ? { ...record, json: null, bytes: null, ref: position } : record
}
