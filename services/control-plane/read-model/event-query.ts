import type { CloudEvent } from '#kernel/domain/event.ts'
import { eventHash } from './event-hash.ts'
import type { ReadView } from './read-model.ts'

/** Where and when an event was accepted. */
export interface EventRow {
  tenant: string
  source: string
  id: string
  type: string
  time: string | null
  accepted_at: number
  topic: string
  partition: number
  offset: number
}

/** The event with that identity, if it is in the window. */
export function findEvent(
  { database }: ReadView,
  tenant: string,
  { source, id }: { source: string; id: string },
): EventRow | undefined {
  return database.get<EventRow>(
    'select * from events where hash = ? and tenant = ? and source = ? and id = ?',
    ...[eventHash(tenant, source, id), tenant, source, id],
  )
}

/** The whole event from the log; its identity alone where the body is gone or cannot be read. */
export async function eventBody(view: ReadView, row: EventRow): Promise<CloudEvent> {
  const { tenant, topic, partition, offset, source, id, type, time } = row
  const bare: CloudEvent = { specversion: '1.0', source, id, type, ...(time ? { time } : {}) }
  const whole = await view.bodies.event(tenant, { topic, partition, offset }).catch(() => undefined)
  return whole ?? bare
}
