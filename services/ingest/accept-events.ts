/** Makes accepted events durable: the last thing before a producer gets its 2xx (I3). */
import { type CloudEvent, formatLineage, type Hop } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import type { EventLog, OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'

export interface AcceptWorld {
  log: EventLog
  codec: RecordCodec
  /** Told once events are durable. */
  onAccepted?(door: Sender['topic'], count: number): void
}

/** Where events came from, as the credential says, never as the producer wrote. */
export interface Sender {
  tenant: string
  topic: 'ingress.platform' | 'ingress.webhook'
  lineage?: Hop[]
  onBehalfOf?: string
  traceparent?: string
}

/** Resolves when every event is durable; rejects `log-unavailable` with nothing half accepted. */
export async function acceptEvents(
  world: AcceptWorld,
  events: CloudEvent[],
  sender: Sender,
): Promise<void> {
  if (events.length === 0) return
  await world.log.append(events.map(event => ingressRecord(world.codec, event, sender)))
  world.onAccepted?.(sender.topic, events.length)
}

/** The record of one event: CloudEvents binary mode with the typed event as Avro value. */
export function ingressRecord(
  codec: RecordCodec,
  event: CloudEvent,
  sender: Sender,
): OutgoingRecord {
  const { tenant, topic, lineage, onBehalfOf } = sender
  const record = toEventRecord(event)
  if (lineage && lineage.length > 0) record.attributes.lineage = formatLineage(lineage)
  if (onBehalfOf) record.attributes.onbehalfof = onBehalfOf
  const { partitionkey, source, subject } = event
  const key =
    typeof partitionkey === 'string'
      ? tenantKey(tenant, partitionkey)
      : tenantKey(tenant, source, subject ?? '')
  const traceparent = sender.traceparent ?? event.traceparent
  return {
    topic,
    key,
    value: codec.encode('event', record),
    headers: {
      ce_specversion: '1.0',
      ce_id: event.id,
      ce_source: event.source,
      ce_type: event.type,
      ...(event.time ? { ce_time: event.time } : {}),
      ce_tenant: tenant,
      'content-type': 'application/avro',
      ...(typeof traceparent === 'string' ? { ce_traceparent: traceparent } : {}),
    },
  }
}
