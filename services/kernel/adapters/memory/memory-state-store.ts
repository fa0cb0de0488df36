/**
 * A StateStore in memory, for the simulated host: deterministic, driven by an injected clock, with
 * places to plant faults. One world holds the data; every process opens an instance of its own.
 */
import assert from 'node:assert/strict'
import type { Commit, Fence, LoadRequest, StateStore } from '../../ports/state-store.ts'
import type { MemoryEventLog } from './memory-event-log.ts'
import { callWithHooks, createMemoryInstance, type MemoryHooks } from './memory-instance.ts'
import {
  commitTo,
  loadFrom,
  type MemoryStoreData,
  peekDueIn,
  readOutboxIn,
  takeFenceIn,
} from './memory-store-data.ts'

/** One call of an instance, as the hooks see it. */
export type StoreCall = { instance: string } & (
  | { op: 'load'; request: LoadRequest }
  | { op: 'commit'; commit: Commit }
  | { op: 'takeFence'; tenant: string; fence: Fence }
  | { op: 'peekDue'; tenant: string; queue: string }
  | { op: 'readOutbox'; tenant: string; outbox: string }
)

export interface MemoryStateStoreOptions {
  /** The store's clock, ms since the epoch; a step back is seen by nobody (S5). */
  now(): number
  /** Makes `atomicWithLog` true: commits carry `append` and `offset` into this log. */
  log?: MemoryEventLog
  hooks?: MemoryHooks<StoreCall>
  /** What becomes of a time to live, ms; the same when omitted (F13: keys expire early or late). */
  lifetime?(ttlMs: number): number
}

/** A copy of all data; opaque to its holder. */
export type StoreSnapshot = { readonly data: MemoryStoreData }

/** An instance as one process holds it. */
export interface MemoryStateStoreInstance extends StateStore {
  /** Ends the process: calls in flight and later ones are never answered. */
  crash(): void
}

export interface MemoryStateStore {
  /** A client for one process; `name` tells hooks whose call it is. */
  open(name?: string): MemoryStateStoreInstance
  snapshot(): StoreSnapshot
  /** Rolls all data back to a snapshot, which stays usable (F12). */
  restore(snapshot: StoreSnapshot): void
  /** Forgets everything (F11). */
  flush(): void
}

/** Creates an empty store. */
export function createMemoryStateStore(options: MemoryStateStoreOptions): MemoryStateStore {
  const { log, hooks = {}, lifetime = (ttlMs: number) => ttlMs } = options
  let data: MemoryStoreData = new Map()
  let seenMs = 0
  let opened = 0
  const storeNow = () => {
    seenMs = Math.max(seenMs, options.now())
    return seenMs
  }

  const open = (name = `store-${opened}`): MemoryStateStoreInstance => {
    opened += 1
    const instance = createMemoryInstance(name)
    const at = { instance, hooks, code: 'store-unavailable' } as const
    return {
      atomicWithLog: log !== undefined,
      load: request =>
        callWithHooks(at, { instance: name, op: 'load', request }, () =>
          loadFrom(data, request, storeNow()),
        ),
      commit: commit =>
        callWithHooks(at, { instance: name, op: 'commit', commit }, () => {
          const writeLog = prepareLog(log, commit)
          const result = commitTo(data, commit, { now: storeNow(), lifetime })
          if (result.kind === 'ok') writeLog()
          return result
        }),
      takeFence: (tenant, fence) =>
        callWithHooks(at, { instance: name, op: 'takeFence', tenant, fence }, () =>
          takeFenceIn(data, tenant, fence),
        ),
      peekDue: (tenant, queue, max) =>
        callWithHooks(at, { instance: name, op: 'peekDue', tenant, queue }, () =>
          peekDueIn(data, { tenant, queue, max }, storeNow()),
        ),
      readOutbox: (tenant, outbox) =>
        callWithHooks(at, { instance: name, op: 'readOutbox', tenant, outbox }, () =>
          readOutboxIn(data, tenant, outbox),
        ),
      stop: async () => instance.stop(),
      crash: () => instance.die(),
    }
  }

  return {
    open,
    snapshot: () => ({ data: structuredClone(data) }),
    restore: snapshot => {
      data = structuredClone(snapshot.data)
    },
    flush: () => {
      data = new Map()
    },
  }
}

/** Finds out what could fail before anything is written. */
function prepareLog(log: MemoryEventLog | undefined, { append, offset }: Commit): () => void {
  if (!append && !offset) return () => {}
  assert.ok(log, 'this store shares no transaction with a log')
  const writeRecords = log.prepareAppend(append ?? [])
  return () => {
    writeRecords()
    if (offset) log.commitNow(offset)
  }
}
