/** Documents that no step reads, kept in `policies` so that they last. */
import { tenantKey } from '#kernel/domain/ids.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { DeadLetter } from '#schemas/generated/records.ts'

export interface TableRecordsWorld {
  log: EventLog
  writer: RecordWriter
  clock: Pick<Clock, 'now'>
}

interface Mark {
  tenant: string
  kind: 'notice-ack' | 'event-erasure' | 'label-check'
  id: string
  /** A higher one replaces it; default 1: the first stands. */
  version?: number
  doc: object
}

/** Keeps a document; durable when it resolves. */
export async function appendMark(world: TableRecordsWorld, mark: Mark): Promise<void> {
  const { tenant, kind, id, version = 1, doc } = mark
  const value = { tenant, kind, id, version, deleted: false, updatedAt: world.clock.now(), doc }
  const key = tenantKey(tenant, kind, id)
  const output = { topic: 'policies' as const, key, id: `${key}/${version}`, tenant, value }
  await world.log.append([world.writer.encode(output)])
}

/** A person has seen a notice; durable when it resolves. */
export function acknowledge(
  world: TableRecordsWorld,
  tenant: string,
  id: string,
  by: Principal,
): Promise<void> {
  return appendMark(world, { tenant, kind: 'notice-ack', id, doc: { by: principalName(by) } })
}

/** A person has erased an event's body and evidence; durable when it resolves. */
export function recordErasure(
  world: TableRecordsWorld,
  tenant: string,
  event: { source: string; id: string },
  by: Principal,
): Promise<void> {
  const doc = { by: principalName(by), source: event.source, eventId: event.id }
  const id = tenantKey(event.source, event.id)
  return appendMark(world, { tenant, kind: 'event-erasure', id, doc })
}

/** Puts a dead letter back where it came from, as it was; its reader recognises what it knows. */
export async function redrive(log: EventLog, letter: DeadLetter): Promise<void> {
  const { topic, key, value, headers } = letter
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
  await log.append([
    {
      topic,
      key: key ? text(key) : letter.id,
      value,
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, bytes]) => [name, text(bytes)]),
      ),
    },
  ])
}
