/** Bodies that the read model does not copy: events and messages, read from the log when asked. */
import type { CloudEvent } from '#kernel/domain/event.ts'
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import type { EventReader } from '#kernel/host/event-reader.ts'
import type { EventLog, Position } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { DeadLetter, EventRecord, Message } from '#schemas/generated/records.ts'
import type { Erasures } from './erasures.ts'

export interface LogBodies {
  /** The event as people see it, without data where it was erased; undefined when it is gone. */
  event(tenant: string, position: Position): Promise<CloudEvent | undefined>
  /** Messages in the order asked; large bodies put back, erased ones left out. */
  messages(places: { partition: number; offset: number }[]): Promise<(Message | undefined)[]>
  deadLetter(place: { partition: number; offset: number }): Promise<DeadLetter | undefined>
}

export interface LogBodiesWorld {
  log: EventLog
  codec: RecordCodec
  events: EventReader
  erasures: Erasures
}

export function createLogBodies(world: LogBodiesWorld): LogBodies {
  const { log, codec } = world

  async function messages(places: { partition: number; offset: number }[]) {
    if (places.length === 0) return []
    const records = await log.readAt(places.map(place => ({ topic: 'mailbox', ...place })))
    const found = records.map(record =>
      record?.value ? codec.decode('message', record.value) : undefined,
    )
    await fillReferences(world, found)
    return found.map(message => message && withoutErased(world, message))
  }

  return {
    messages,
    async event(tenant, position) {
      const [record] = await log.readAt([position])
      const event = record && (await world.events.read(record))
      return event && toCloudEvent(visible(world, tenant, event))
    },
    async deadLetter(place) {
      const [record] = await log.readAt([{ topic: 'deadletter', ...place }])
      return record?.value ? codec.decode('dead-letter', record.value) : undefined
    },
  }
}

/** Puts bodies that a message carries by reference back, reading each position once. */
async function fillReferences(world: LogBodiesWorld, messages: (Message | undefined)[]) {
  const events = messages.flatMap(message => message?.events ?? [])
  const referring = events.filter(event => event.ref !== null)
  if (referring.length === 0) return
  const records = await world.log.readAt(referring.flatMap(({ ref }) => ref ?? []))
  for (const [at, event] of referring.entries()) {
    const record = records[at]
    const body = record && (await world.events.read(record))
    event.json = body?.json ?? null
    event.bytes = body?.bytes ?? null
  }
}

function withoutErased(world: LogBodiesWorld, message: Message): Message {
  const { tenant } = message
  if (!message.events.some(event => isErased(world, tenant, event))) return message
  const events = message.events.map(event => visible(world, tenant, event))
  // Evidence names its source only; with one event erased none of it may be shown.
  return { ...message, events, evidence: [] }
}

function visible(world: LogBodiesWorld, tenant: string, event: EventRecord): EventRecord {
  return isErased(world, tenant, event) ? { ...event, json: null, bytes: null } : event
}

function isErased({ erasures }: LogBodiesWorld, tenant: string, { attributes }: EventRecord) {
  return erasures.has(tenant, String(attributes.source), String(attributes.id))
}
