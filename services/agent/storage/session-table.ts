/**
 * Documents of sessions on compacted topics. A change is appended under the next version and
 * looked at again once it can be read: of two writers of one version the first in the log wins,
 * and the other decides again on what it finds.
 */
import { tenantKey } from '#kernel/domain/ids.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { SessionKey } from '../loop/session-store.ts'

export type SessionTopic = 'agent.sessions' | 'agent.operations'
export type DocumentKind = 'session' | 'intent' | 'operation'

export interface Place extends SessionKey {
  topic: SessionTopic
  kind: DocumentKind
  id: string
}

export interface SessionTableWorld {
  log: EventLog
  writer: RecordWriter
  /** Of both topics. */
  tables: LiveTables
  clock: Clock
  ids: Ids
}

export interface SessionTable {
  get<T>(place: Place): T | undefined
  /**
   * Applies the change to the newest state; resolves with what was written once everybody can read
   * it, or undefined when the change answered undefined. Changes of one place follow each other.
   */
  update<T>(place: Place, change: (current: T | undefined) => T | undefined): Promise<T | undefined>
  /** Forgets a document for good. */
  remove(place: Place): Promise<void>
  /** Everything appended before the call can be read. */
  barrier(): Promise<void>
}

/** What lies in a document: the value, and the names of its last writes. */
interface Stamped {
  value: unknown
  writes: string[]
}

/** A write that was overtaken is found among this many later ones. */
const WRITES_KEPT = 8

export function documentKey({ tenant, kind, session, id }: Place): string {
  return tenantKey(tenant, kind, session, id)
}

/** One partition per session, whatever its documents are. */
export function sessionPartitionKey({ tenant, session }: SessionKey): string {
  return tenantKey(tenant, session)
}

export function createSessionTable(world: SessionTableWorld): SessionTable {
  const lanes = new Map<string, Promise<unknown>>()
  const inLane = <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const running = (lanes.get(key) ?? Promise.resolve()).then(work, work)
    lanes.set(key, running)
    const leave = () => {
      if (lanes.get(key) === running) lanes.delete(key)
    }
    running.then(leave, leave)
    return running
  }
  return {
    get: <T>(place: Place) => held(world, place)?.value as T | undefined,
    update: (place, change) => inLane(documentKey(place), () => updateOnce(world, place, change)),
    remove: place => inLane(documentKey(place), () => append(world, place, null)),
    barrier: () => world.tables.barrier(),
  }
}

async function updateOnce<T>(
  world: SessionTableWorld,
  place: Place,
  change: (current: T | undefined) => T | undefined,
): Promise<T | undefined> {
  const stamp = world.ids.random()
  for (;;) {
    const before = held(world, place)
    const value = change(before?.value as T | undefined)
    if (value === undefined) return undefined
    const writes = [stamp, ...(before?.writes ?? [])].slice(0, WRITES_KEPT)
    await append(world, place, { version: (before?.version ?? 0) + 1, doc: { value, writes } })
    await world.tables.barrier()
    if (held(world, place)?.writes.includes(stamp)) return value
  }
}

function held({ tables }: SessionTableWorld, place: Place) {
  const document = tables.get(place.topic, documentKey(place))
  return document && { version: document.version, ...(document.doc as Stamped) }
}

async function append(
  { log, writer, clock }: SessionTableWorld,
  place: Place,
  next: { version: number; doc: Stamped } | null,
): Promise<void> {
  const { topic, tenant, kind, id } = place
  const key = documentKey(place)
  const value = next && { tenant, kind, id, deleted: false, updatedAt: clock.now(), ...next }
  const output = { topic, key, id: `${key}/${next?.version ?? 'removed'}`, tenant, value }
  await log.append([{ ...writer.encode(output), partitionKey: sessionPartitionKey(place) }])
}
