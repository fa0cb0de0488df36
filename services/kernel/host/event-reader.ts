/** Reads events of any ingress topic: ours are Avro, others follow the Kafka binding. */
import { avroEventMembers } from '#kernel/domain/avro-events.ts'
import { parseKafkaEvent } from '#kernel/domain/cloud-events-kafka.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { toCloudEvent, toEventRecord } from '#kernel/domain/event-record.ts'
import type { EventLog, LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { EventRecord, EventRef } from '#schemas/generated/records.ts'
import { extTenant } from '#topologies/topics.ts'

export interface EventReader {
  /**
   * One record as an event; a promise only where a schema registry is asked.
   *
   * @throws AmbitError what the specification or our rules refuse.
   */
  read(record: LogRecord): EventRecord | Promise<EventRecord>
  /** Events by position; `undefined` where retention took one. */
  readBodies(log: EventLog, refs: EventRef[]): Promise<(CloudEvent | undefined)[]>
}

export interface EventReaderWorld {
  codec: RecordCodec
  /** Decodes a producer's Avro value by its registry id; absent without a registry. */
  decodeConfluent?(bytes: Uint8Array): Promise<unknown>
}

export function createEventReader({ codec, decodeConfluent }: EventReaderWorld): EventReader {
  const read: EventReader['read'] = record => {
    if (!extTenant(record.topic)) return codec.decode('event', record.value ?? new Uint8Array())
    const headers = Object.fromEntries(
      Object.entries(record.headers).map(([name, value]) => [name, Buffer.from(value)]),
    )
    const value = record.value && Buffer.from(record.value)
    const decoders = { decodeEvent: avroEventMembers, decodeConfluent }
    const event = parseKafkaEvent({ headers, value }, decoders)
    return event instanceof Promise ? event.then(toEventRecord) : toEventRecord(event)
  }
  return {
    read,
    async readBodies(log, refs) {
      const records = await log.readAt(refs)
      return Promise.all(records.map(async record => record && toCloudEvent(await read(record))))
    },
  }
}
