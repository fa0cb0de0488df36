/** Wiring of matching: the step `match` over live tables. */
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { createEventReader } from '#kernel/host/event-reader.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import { runStatelessStep } from '#kernel/host/stateless-runner.ts'
import type { RunningStep } from '#kernel/host/step-runner.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import { extTenant, INGRESS_TOPICS } from '#topologies/topics.ts'
import { createMatcher } from './match-step.ts'

export interface MatchingWorld extends StepWorld {
  codec: RecordCodec
  tables: LiveTables
  /** Decodes a producer's Avro value by its registry id; absent without a registry. */
  decodeConfluent?(bytes: Uint8Array): Promise<unknown>
}

/** Starts matching; resolves once subscribed. */
export async function startMatching(world: MatchingWorld): Promise<RunningStep> {
  const { tables, clock } = world
  const reader = createEventReader(world)
  const matcher = createMatcher()
  tables.onChange(({ document }) => {
    if (document.kind !== 'subscription') return
    matcher.update(document.tenant, document.doc as Subscription)
  })
  return runStatelessStep(
    {
      name: 'match',
      topics: [...INGRESS_TOPICS],
      withExtIngress: true,
      map: record => {
        const tenant = extTenant(record.topic) ?? textOf(record, 'ce_tenant')
        if (!tenant || (!record.value && !extTenant(record.topic))) return []
        const place = placeOf(record, tenant)
        const match = (found: EventRecord) => {
          const read = { ...place, record: found, event: toCloudEvent(found) }
          return matcher.match(read, clock.now())
        }
        const found = reader.read(record)
        return found instanceof Promise ? found.then(match) : match(found)
      },
    },
    world,
  )
}

function placeOf(record: LogRecord, tenant: string) {
  const { topic, partition, offset, timestamp } = record
  const traceparent = textOf(record, 'ce_traceparent')
  return { tenant, position: { topic, partition, offset }, recordedAt: timestamp, traceparent }
}

function textOf(record: LogRecord, name: string): string | undefined {
  const value = record.headers[name]
  return value && Buffer.from(value).toString()
}
