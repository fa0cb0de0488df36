/** Wiring of the evaluator: the step `match` over live tables. */

import { refuseReserved } from '#kernel/domain/cloud-event-rules.ts'
import { parseKafkaEvent } from '#kernel/domain/cloud-events-kafka.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import { runStatelessStep } from '#kernel/host/stateless-runner.ts'
import type { RunningStep, StepWorld } from '#kernel/host/step-runner.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { extTenant, INGRESS_TOPICS } from '#topologies/topics.ts'
import { avroEventMembers } from './avro-events.ts'
import { createMatcher, type ReadEvent, readExtEvent, readOwnEvent } from './match-step.ts'

export interface EvaluatorWorld extends StepWorld {
  codec: RecordCodec
  tables: LiveTables
  directory: Directory
  /** Decodes a producer's Avro value by its registry id; absent without a registry. */
  decodeConfluent?(bytes: Uint8Array): Promise<unknown>
}

/** Starts matching; resolves once subscribed. */
export async function startEvaluator(world: EvaluatorWorld): Promise<RunningStep> {
  const { codec, tables, directory, clock } = world
  const matcher = createMatcher()
  tables.onChange(({ document }) => {
    if (document.kind !== 'subscription') return
    matcher.update(document.tenant, document.doc as Subscription)
  })
  const read = (record: LogRecord): ReadEvent | Promise<ReadEvent> | null => {
    const outside = extTenant(record.topic)
    return outside ? readOutside(record, outside, world) : readInside(record, codec)
  }
  return runStatelessStep(
    {
      name: 'match',
      topics: [...INGRESS_TOPICS],
      withExtIngress: true,
      map: record => {
        const event = read(record)
        if (event === null) return []
        const match = (found: ReadEvent) =>
          matcher.match(found, id => directory.subscription(found.tenant, id), clock.now())
        return event instanceof Promise ? event.then(match) : match(event)
      },
    },
    world,
  )
}

function readInside(record: LogRecord, codec: RecordCodec): ReadEvent | null {
  const tenant = textOf(record, 'ce_tenant')
  if (!record.value || !tenant) return null
  return readOwnEvent(codec.decode('event', record.value), { tenant, ...placeOf(record) })
}

function readOutside(
  record: LogRecord,
  tenant: string,
  { decodeConfluent }: EvaluatorWorld,
): ReadEvent | Promise<ReadEvent> {
  const headers = Object.fromEntries(
    Object.entries(record.headers).map(([name, value]) => [name, Buffer.from(value)]),
  )
  const value = record.value && Buffer.from(record.value)
  const event = parseKafkaEvent(
    { headers, value },
    { decodeEvent: avroEventMembers, decodeConfluent },
  )
  const finish = (found: Awaited<typeof event>) => {
    refuseReserved(found, { platform: false })
    return readExtEvent(found, { tenant, ...placeOf(record) })
  }
  return event instanceof Promise ? event.then(finish) : finish(event)
}

function placeOf(record: LogRecord) {
  const { topic, partition, offset, timestamp } = record
  const traceparent = textOf(record, 'ce_traceparent')
  return { position: { topic, partition, offset }, recordedAt: timestamp, traceparent }
}

function textOf(record: LogRecord, name: string): string | undefined {
  const value = record.headers[name]
  return value && Buffer.from(value).toString()
}
