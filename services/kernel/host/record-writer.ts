/**
 * Turns decided outputs into log records: CloudEvents in binary mode (Kafka protocol binding
 * 1.0.2, section 3.2) with Avro values in the Confluent wire format.
 */
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { TOPICS } from '#topologies/topics.ts'

export interface RecordWriter {
  encode(output: Output, extra?: Record<string, string>): OutgoingRecord
}

/** `service` names the writer in `ce_source`. */
export function createRecordWriter(codec: RecordCodec, service: string): RecordWriter {
  const source = `/ambit/${service}`
  return {
    encode(output, extra) {
      const { record } = TOPICS[output.topic]
      return {
        topic: output.topic,
        key: output.key,
        value: output.value === null ? null : codec.encode(record, output.value as never),
        headers: {
          ce_specversion: '1.0',
          ce_id: output.id,
          ce_source: source,
          ce_type: `ambit.${record}`,
          ce_tenant: output.tenant,
          'content-type': 'application/avro',
          ...(output.traceparent ? { ce_traceparent: output.traceparent } : {}),
          ...extra,
        },
      }
    },
  }
}
