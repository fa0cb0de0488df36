/**
 * The working copy that a decider reads and writes: loaded documents and counters in, changes and
 * outputs out. It is plain data without I/O, so a decision can be made again from a fresh load.
 *
 * - U1 Reading what was not loaded throws `NotLoaded`; the host loads it and decides again.
 * - U2 Later records of a run see what earlier ones wrote.
 * - U3 Nothing leaves before the host has committed everything.
 */
import { parseLossless, stringifyLossless } from './lossless-json.ts'
import type { TopicName } from './topic-name.ts'

/** A record to emit; `id` is its CloudEvents id, deterministic where the noun's identity is. */
export interface Output {
  topic: TopicName
  key: string
  id: string
  tenant: string
  /** The record as its schema says; `null` is a tombstone. */
  value: object | null
  /** W3C trace context of the cause. */
  traceparent?: string
}

interface Entry {
  /** Version found in the store; 0 when absent. */
  found: number
  version: number
  value: unknown
  written: boolean
  ttlMs?: number
}

export interface CounterChange {
  counter: string
  /** Kept apart from the writer's own field: a rebuild that sets the one leaves the other alone. */
  part?: string
  amount: number
  limit?: number
  ttlMs: number
}

/** Thrown through a decider when it needs more than was loaded (U1). */
export class NotLoaded extends Error {
  readonly documents: string[]
  readonly counters: string[]
  constructor(documents: string[], counters: string[]) {
    super(`not loaded: ${[...documents, ...counters].join(', ')}`)
    this.name = 'NotLoaded'
    this.documents = documents
    this.counters = counters
  }
}

/** What a decision may read: names of documents and counters. */
export interface Wanted {
  documents: Set<string>
  counters: Set<string>
}

/** Adds what a decision was missing, so that it can be made again; rethrows anything else. */
export function wantMissing(wanted: Wanted, error: unknown): void {
  if (!(error instanceof NotLoaded)) throw error
  for (const key of error.documents) wanted.documents.add(key)
  for (const name of error.counters) wanted.counters.add(name)
}

export interface PutOptions {
  ttlMs?: number
  version?: number
  isNew?: boolean
}

export interface UnitOfWork {
  readonly tenant: string
  /** The store's time, ms since the epoch; the only clock of decisions. */
  readonly now: number
  get<T>(key: string): T | undefined
  /** Version that the store holds or this unit will write; 0 when absent. */
  version(key: string): number
  /**
   * Writes with the next version, or the given one. `isNew` says that nobody wrote the document
   * before, so it need not be loaded: for keys that contain `now`, which is another at every try.
   */
  put(key: string, value: unknown, options?: PutOptions): void
  remove(key: string): void
  /** Sum over all writers, this unit's additions included. */
  counter(name: string): number
  /** Adding needs nothing loaded: the store compares limits itself. */
  add(change: CounterChange): void
  due(queue: string, id: string, at: number | null): void
  emit(output: Output): void
}

/** What a unit asks the host to commit. */
export interface UnitChanges {
  expect: Record<string, number>
  put: { key: string; version: number; body: string | null; ttlMs?: number }[]
  add: CounterChange[]
  due: { queue: string; id: string; at: number | null }[]
  outputs: Output[]
}

export interface LoadedData {
  now: number
  documents: Map<string, { version: number; body: string }>
  counters: Map<string, number>
}

/** A unit over what was asked for (`asked`) and what the store found. */
export function createUnitOfWork(
  tenant: string,
  asked: { documents: Iterable<string>; counters: Iterable<string> },
  loaded: LoadedData,
): { unit: UnitOfWork; changes(): UnitChanges } {
  const entries = new Map<string, Entry>()
  for (const key of asked.documents) entries.set(key, entryOf(loaded.documents.get(key)))
  const counters = new Map<string, number>()
  for (const name of asked.counters) counters.set(name, loaded.counters.get(name) ?? 0)
  const add: CounterChange[] = []
  const due = new Map<string, { queue: string; id: string; at: number | null }>()
  const outputs: Output[] = []

  const entry = (key: string): Entry => {
    const found = entries.get(key)
    if (!found) throw new NotLoaded([key], [])
    return found
  }
  const write = (key: string, value: unknown, options: PutOptions) => {
    if (options.isNew && !entries.has(key)) entries.set(key, entryOf(undefined))
    const at = entry(key)
    at.value = value
    at.version = options.version ?? at.version + 1
    at.ttlMs = options.ttlMs
    at.written = true
  }
  const counter = (name: string) => {
    const sum = counters.get(name)
    if (sum === undefined) throw new NotLoaded([], [name])
    return sum
  }
  const unit: UnitOfWork = {
    tenant,
    now: loaded.now,
    get: <T>(key: string) => entry(key).value as T | undefined,
    version: key => entry(key).version,
    put: (key, value, options = {}) => write(key, value, options),
    remove: key => write(key, undefined, {}),
    counter,
    add: change => {
      const sum = counters.get(change.counter)
      if (sum !== undefined) counters.set(change.counter, sum + change.amount)
      add.push(change)
    },
    due: (queue, id, at) => void due.set(`${queue}\n${id}`, { queue, id, at }),
    emit: output => void outputs.push(output),
  }
  const changes = () => ({ ...written(entries), add, due: [...due.values()], outputs })
  return { unit, changes }
}

function entryOf(stored: { version: number; body: string } | undefined): Entry {
  if (!stored) return { found: 0, version: 0, value: undefined, written: false }
  const { version, body } = stored
  return { found: version, version, value: parseLossless(body), written: false }
}

/** Preconditions cover what was written; what was only read belongs to the fence's owner. */
function written(entries: Map<string, Entry>): Pick<UnitChanges, 'expect' | 'put'> {
  const expect: Record<string, number> = {}
  const put: UnitChanges['put'] = []
  for (const [key, { found, version, value, written: isWritten, ttlMs }] of entries) {
    if (!isWritten) continue
    expect[key] = found
    put.push({ key, version, body: value === undefined ? null : stringifyLossless(value), ttlMs })
  }
  return { expect, put }
}
