/**
 * The topic `cursors` as a table: the highest version of each observation. Documents stay encoded,
 * because memories of identities are large and only those of owned partitions are looked at.
 */
import {
  OBSERVATION_KIND,
  type ObservationState,
  observationKey,
} from '#kernel/domain/observation-state.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { EventLog, Following, LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { TableDocument } from '#schemas/generated/records.ts'

export interface CursorDocument {
  version: number
  deleted: boolean
  updatedAt: number
  state: ObservationState
}

export interface CursorTable {
  get(key: string): CursorDocument | undefined
  keys(): IterableIterator<string>
  /** The record of the next version; the table shows it when it comes back from the log. */
  next(tenant: string, state: ObservationState, change: { now: number; deleted?: boolean }): Output
  /** Resolves when everything appended before the call is visible. */
  barrier(): Promise<void>
  stop(): Promise<void>
}

interface Held {
  version: number
  bytes: Uint8Array
}

export interface CursorTableWorld {
  log: EventLog
  codec: RecordCodec
  /** Told every record of another writer; `isLate` where it changed nothing. */
  onForeign(key: string, isLate: boolean): void
  writer: string
}

/** Resolves when the table has caught up. */
export async function openCursorTable(world: CursorTableWorld): Promise<CursorTable> {
  const { log, codec, writer, onForeign } = world
  const held = new Map<string, Held>()
  /** Versions given away here: the next one must not wait for the last to come back. */
  const issued = new Map<string, number>()
  const apply = (record: LogRecord) => {
    if (!record.key) return
    const key = Buffer.from(record.key).toString()
    if (!record.value) {
      held.delete(key)
      return
    }
    const { value } = record
    const document = readable(() => codec.decode('table-document', value))
    if (document?.kind !== OBSERVATION_KIND) return
    const isLate = (held.get(key)?.version ?? 0) >= document.version
    if (!isLate) held.set(key, { version: document.version, bytes: Uint8Array.from(record.value) })
    if ((document.doc as ObservationState).writer !== writer) onForeign(key, isLate)
  }
  const following: Following = await log.follow({
    topics: ['cursors'],
    from: 'beginning',
    onRecords: records => {
      for (const record of records) apply(record)
    },
  })
  await following.barrier()
  const get = (key: string): CursorDocument | undefined => {
    const found = held.get(key)
    if (!found) return undefined
    const { version, deleted, updatedAt, doc } = codec.decode('table-document', found.bytes)
    return { version, deleted, updatedAt, state: doc as ObservationState }
  }
  return {
    get,
    keys: () => held.keys(),
    next(tenant, state, { now, deleted = false }) {
      const key = observationKey(tenant, state.id)
      const version = Math.max(held.get(key)?.version ?? 0, issued.get(key) ?? 0) + 1
      issued.set(key, version)
      const value: TableDocument = {
        ...{ tenant, kind: OBSERVATION_KIND, id: state.id, version, deleted },
        ...{ updatedAt: now, doc: state },
      }
      return { topic: 'cursors', key, id: `${state.id}/${version}`, tenant, value }
    },
    barrier: () => following.barrier(),
    stop: () => following.stop(),
  }
}
