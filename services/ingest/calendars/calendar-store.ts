/**
 * The objects of calendars as this replica holds them, and the one way to write them. Versions make
 * the log the arbiter: of two replicas that write the same object at once, the one whose record
 * comes first has written; the other sees that after the barrier and writes again.
 */

import type { FeedState } from '#kernel/domain/calendar/calendar.ts'
import {
  CALENDAR_FEED_KIND,
  CALENDAR_OBJECT_KIND,
  type CalendarObject,
  calendarObjectKey,
} from '#kernel/domain/calendar/calendar-object.ts'
import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { TableDocument } from '#schemas/generated/records.ts'

export const OBJECTS_TOPIC = 'calendar.objects'

/** Records appended at once. */
const CHUNK_MAX = 500
/** Rounds until a write that others keep overtaking is given up. */
const ROUNDS_MAX = 5

/** A calendar of a tenant. */
export interface CalendarPlace {
  tenant: string
  calendar: string
}

/** A document to write; `null` deletes it. */
export type CalendarWrite =
  | { kind: typeof CALENDAR_OBJECT_KIND; uid: string; doc: CalendarObject | null }
  | { kind: typeof CALENDAR_FEED_KIND; doc: FeedState | null }

export interface CalendarStore {
  /** Objects by UID, as of the last barrier. */
  objects(place: CalendarPlace): Map<string, CalendarObject>
  object(place: CalendarPlace, uid: string): CalendarObject | undefined
  feed(place: CalendarPlace): FeedState | undefined
  /** Resolves when every write is durable and the newest; rejects `conflict` when it never is. */
  write(place: CalendarPlace, writes: readonly CalendarWrite[]): Promise<void>
  /** Runs the work of one calendar after the other, on this replica. */
  exclusively<T>(place: CalendarPlace, work: () => Promise<T>): Promise<T>
  /** Waits until everything appended before the call is visible. */
  barrier(): Promise<void>
  /** Removes for ever what was deleted before an instant, where `isFree` says so. */
  forget(beforeMs: number, isFree: (place: CalendarPlace, uid: string) => boolean): Promise<number>
  /** Every calendar that has objects. */
  places(): CalendarPlace[]
  /** When an object was last written, ms since the epoch. */
  writtenAt(place: CalendarPlace, uid: string): number
}

export interface CalendarStoreWorld {
  log: EventLog
  writer: RecordWriter
  /** Holds `calendar.objects`. */
  tables: LiveTables
  clock: Clock
  ids: Ids
}

/** Opens the store over a live table that has caught up. */
export function createCalendarStore(world: CalendarStoreWorld): CalendarStore {
  const { tables } = world
  const keys = keysByCalendar(tables)
  const queue = new Map<string, Promise<unknown>>()
  const live = <T>(key: string): T | undefined => {
    const held = tables.get(OBJECTS_TOPIC, key)
    return held && !held.deleted ? (held.doc as T) : undefined
  }
  const keysOf = ({ tenant, calendar }: CalendarPlace) =>
    keys.get(tenantKey(tenant, calendar)) ?? new Set<string>()
  const key = ({ tenant, calendar }: CalendarPlace, uid: string) =>
    calendarObjectKey(tenant, calendar, uid)
  return {
    objects(place) {
      const found = [...keysOf(place)].flatMap(each => live<CalendarObject>(each) ?? [])
      return new Map(found.map(object => [object.uid, object]))
    },
    object: (place, uid) => live(key(place, uid)),
    feed: ({ tenant, calendar }) => live(tenantKey(tenant, CALENDAR_FEED_KIND, calendar)),
    write: (place, writes) => writeAll(world, place, writes),
    exclusively(place, work) {
      const id = tenantKey(place.tenant, place.calendar)
      const before = queue.get(id) ?? Promise.resolve()
      const done = before.then(work, work)
      const settled = done.catch(() => {})
      queue.set(id, settled)
      void settled.then(() => {
        if (queue.get(id) === settled) queue.delete(id)
      })
      return done
    },
    barrier: () => tables.barrier(),
    forget: (beforeMs, isFree) => forget(world, beforeMs, isFree),
    places: () =>
      [...keys.keys()].map(id => {
        const [tenant = '', calendar = ''] = splitTenantKey(id)
        return { tenant, calendar }
      }),
    writtenAt: (place, uid) => tables.get(OBJECTS_TOPIC, key(place, uid))?.updatedAt ?? 0,
  }
}

/** Keys of the objects that live, by calendar. */
function keysByCalendar(tables: LiveTables): Map<string, Set<string>> {
  const keys = new Map<string, Set<string>>()
  tables.onChange(({ topic, key, document: { tenant, kind, deleted, doc } }) => {
    if (topic !== OBJECTS_TOPIC || kind !== CALENDAR_OBJECT_KIND) return
    const id = tenantKey(tenant, (doc as CalendarObject).calendar)
    const own = keys.get(id) ?? new Set<string>()
    if (deleted) own.delete(key)
    else own.add(key)
    if (own.size > 0) keys.set(id, own)
    else keys.delete(id)
  })
  return keys
}

async function writeAll(
  world: CalendarStoreWorld,
  place: CalendarPlace,
  writes: readonly CalendarWrite[],
): Promise<void> {
  let left = [...writes]
  for (let round = 0; left.length > 0; round++) {
    if (round === ROUNDS_MAX) {
      throw new AmbitError('conflict', 'The calendar is being changed by others; try again.')
    }
    left = await writeRound(world, place, left)
  }
}

/** One attempt; resolves with the writes that somebody else overtook. */
async function writeRound(
  world: CalendarStoreWorld,
  place: CalendarPlace,
  writes: CalendarWrite[],
): Promise<CalendarWrite[]> {
  const { log, writer, tables, clock, ids } = world
  const mark = ids.random()
  const documents = writes.map(write => documentOf(tables, place, write, mark))
  for (let at = 0; at < documents.length; at += CHUNK_MAX) {
    const records = documents.slice(at, at + CHUNK_MAX).map(({ key, value }) => {
      const output = { topic: 'calendar.objects' as const, key, id: `${key}/${value.version}` }
      const updatedAt = clock.now()
      return writer.encode({ ...output, tenant: place.tenant, value: { ...value, updatedAt } })
    })
    await log.append(records)
  }
  await tables.barrier()
  return writes.filter((_, n) => {
    const mine = documents[n]
    const held = mine && tables.get(OBJECTS_TOPIC, mine.key)
    return !held || (held.doc as { write?: string }).write !== mark
  })
}

function documentOf(
  tables: LiveTables,
  { tenant, calendar }: CalendarPlace,
  write: CalendarWrite,
  mark: string,
): { key: string; value: Omit<TableDocument, 'updatedAt'> } {
  const ids = write.kind === CALENDAR_OBJECT_KIND ? [calendar, write.uid] : [calendar]
  const key = tenantKey(tenant, write.kind, ...ids)
  const held = tables.get(OBJECTS_TOPIC, key)
  const before = (held?.doc ?? { calendar, uid: ids[1] }) as object
  const doc = { ...(write.doc ?? before), write: mark }
  const version = (held?.version ?? 0) + 1
  const id = ids.map(encodeURIComponent).join('/')
  return { key, value: { tenant, kind: write.kind, id, version, deleted: write.doc === null, doc } }
}

async function forget(
  { log, tables }: CalendarStoreWorld,
  beforeMs: number,
  isFree: (place: CalendarPlace, uid: string) => boolean,
): Promise<number> {
  const gone = [...tables.keys(OBJECTS_TOPIC)].filter(key => {
    const [tenant = '', , calendar = '', uid = ''] = splitTenantKey(key)
    const held = tables.get(OBJECTS_TOPIC, key)
    return held?.deleted && held.updatedAt < beforeMs && isFree({ tenant, calendar }, uid)
  })
  for (let at = 0; at < gone.length; at += CHUNK_MAX) {
    const chunk = gone.slice(at, at + CHUNK_MAX)
    await log.append(chunk.map(key => ({ topic: OBJECTS_TOPIC, key, value: null })))
  }
  return gone.length
}
