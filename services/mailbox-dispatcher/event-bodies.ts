/** Puts bodies that travel by reference back into the events of a message. */
import type { EventLog, LogRecord } from '#kernel/ports/event-log.ts'
import type { EventRecord, Message } from '#schemas/generated/records.ts'

export type ReadEvent = (record: LogRecord) => EventRecord | Promise<EventRecord>

/** The same messages with all bodies; one that retention took stays absent. */
export async function withBodies(
  messages: Message[],
  { log, readEvent }: { log: EventLog; readEvent: ReadEvent },
): Promise<Message[]> {
  const wanted = messages.flatMap(({ events }) => events.flatMap(({ ref }) => (ref ? [ref] : [])))
  if (wanted.length === 0) return messages
  const records = await log.readAt(wanted)
  const bodies = await Promise.all(records.map(record => record && readEvent(record)))
  const next = bodies.values()
  const fill = (event: EventRecord): EventRecord => {
    if (!event.ref) return event
    const { json = null, bytes = null } = next.next().value ?? {}
    return { ...event, json, bytes, ref: null }
  }
  return messages.map(message => ({ ...message, events: message.events.map(fill) }))
}
