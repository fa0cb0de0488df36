/** From a record of any followed topic to what the read model keeps of it. */

import type { TopicName } from '#kernel/domain/topic-name.ts'
import type { EventReader } from '#kernel/host/event-reader.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec, RecordTypes } from '#schemas/codec.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import { extTenant, INGRESS_TOPICS } from '#topologies/topics.ts'

/** A decoded value together with its record, typed by what the topic holds. */
export type ReadRecord = {
  [N in FollowedRecord]: { name: N; record: LogRecord; value: RecordTypes[N] }
}[FollowedRecord]

export interface RecordReader {
  codec: RecordCodec
  events: EventReader
}

const FOLLOWED = {
  ...(Object.fromEntries(INGRESS_TOPICS.map(topic => [topic, 'event'])) as Record<
    (typeof INGRESS_TOPICS)[number],
    'event'
  >),
  evaluations: 'candidate',
  candidates: 'candidate',
  decisions: 'decision',
  usage: 'usage',
  mailbox: 'message',
  'mailbox.state': 'mailbox-transition',
  notices: 'notice',
  deadletter: 'dead-letter',
  audit: 'audit-entry',
  policies: 'table-document',
} as const satisfies Partial<Record<TopicName, keyof RecordTypes>>

export type FollowedRecord = (typeof FOLLOWED)[keyof typeof FOLLOWED]

/** Topics of the catalogue that the read model is built from; `ingress.ext.<tenant>` beside. */
export const FOLLOWED_TOPICS = Object.keys(FOLLOWED)

/**
 * Decodes one record, or answers `undefined` for one without a value. A promise only for Avro of
 * outside producers whose schema must be fetched.
 *
 * @throws AmbitError where the bytes are not what the topic holds; `not-ready` means: later.
 */
export function readRecord(
  record: LogRecord,
  { codec, events }: RecordReader,
): ReadRecord | undefined | Promise<ReadRecord> {
  const { topic, value } = record
  if (Object.hasOwn(FOLLOWED, topic)) {
    if (value === null) return undefined
    const name = FOLLOWED[topic as keyof typeof FOLLOWED]
    // The codec's answer belongs to the name that it was asked for.
    return { name, record, value: codec.decode(name, value) } as ReadRecord
  }
  const event = events.read(record)
  const wrap = (read: EventRecord): ReadRecord => ({ name: 'event', record, value: read })
  return event instanceof Promise ? event.then(wrap) : wrap(event)
}

/** Whose event it is: the topic's in a producer's topic, else what our own service signed for. */
export function tenantOfEvent({ topic, headers }: LogRecord): string | undefined {
  const signed = headers.ce_tenant
  return extTenant(topic) ?? (signed && Buffer.from(signed).toString())
}
