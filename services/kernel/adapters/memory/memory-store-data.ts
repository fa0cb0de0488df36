/**
 * The content of a simulated store: plain maps, changed synchronously, copied for a rollback. It
 * follows the contract of the StateStore port and knows nothing of callers or faults.
 */
import { compareUtf8 } from '../../domain/compare-utf8.ts'
import type {
  Commit,
  CommitResult,
  CounterAdd,
  DueEntry,
  Fence,
  Loaded,
  LoadRequest,
  OutboxEntry,
} from '../../ports/state-store.ts'

type StoredFence = Omit<Fence, 'key'>

interface TenantData {
  documents: Map<string, { version: number; body: string; expiresAt: number }>
  counters: Map<string, { fields: Map<string, number>; expiresAt: number }>
  due: Map<string, Map<string, number>>
  outboxes: Map<string, Map<string, string>>
  fences: Map<string, StoredFence>
}

/** All tenants' data; `structuredClone` makes a snapshot. */
export type MemoryStoreData = Map<string, TenantData>

/** How long something lives from now on, in ms; a fault may shorten or stretch it (F13). */
export type Lifetime = (ttlMs: number) => number

function tenantOf(data: MemoryStoreData, tenant: string): TenantData {
  return getOrMake(data, tenant, () => ({
    documents: new Map(),
    counters: new Map(),
    due: new Map(),
    outboxes: new Map(),
    fences: new Map(),
  }))
}

function getOrMake<V>(map: Map<string, V>, key: string, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}

/** A live entry, or undefined; expired ones are removed on the way. */
function alive<V extends { expiresAt: number }>(
  map: Map<string, V>,
  key: string,
  now: number,
): V | undefined {
  const found = map.get(key)
  if (!found || found.expiresAt > now) return found
  map.delete(key)
  return undefined
}

function sumOf(fields: Map<string, number> | undefined): number {
  let sum = 0
  for (const amount of fields?.values() ?? []) sum += amount
  return sum
}

export function loadFrom(data: MemoryStoreData, request: LoadRequest, now: number): Loaded {
  const tenant = tenantOf(data, request.tenant)
  const loaded: Loaded = { now, documents: new Map(), counters: new Map() }
  for (const key of request.documents) {
    const found = alive(tenant.documents, key, now)
    if (found) loaded.documents.set(key, { version: found.version, body: found.body })
  }
  for (const name of request.counters ?? []) {
    loaded.counters.set(name, sumOf(alive(tenant.counters, name, now)?.fields))
  }
  return loaded
}

/** Judges all preconditions, then writes; `lifetime` turns times to live into real ones. */
export function commitTo(
  data: MemoryStoreData,
  commit: Commit,
  at: { now: number; lifetime: Lifetime },
): CommitResult {
  const { now } = at
  const tenant = tenantOf(data, commit.tenant)
  const refusal = refusedByFence(tenant, commit, now) ?? refusedByVersion(tenant, commit, now)
  if (refusal) return refusal
  const counters = addUp(tenant, commit.add ?? [], now)
  if ('kind' in counters) return counters
  writeCounters(tenant, counters, at)
  write(tenant, commit, at)
  return { kind: 'ok', now }
}

function refusedByFence(
  tenant: TenantData,
  { fence }: Commit,
  now: number,
): CommitResult | undefined {
  if (!fence) return undefined
  const found = tenant.fences.get(fence.key)
  const fits =
    found?.incarnation === fence.incarnation &&
    found.epoch === fence.epoch &&
    found.seq === fence.seq
  return fits ? undefined : { kind: 'lost', found: found ? { ...found } : null, now }
}

function refusedByVersion(
  tenant: TenantData,
  { expect = {} }: Commit,
  now: number,
): CommitResult | undefined {
  for (const [key, version] of Object.entries(expect)) {
    const found = alive(tenant.documents, key, now)?.version ?? 0
    if (found !== version) return { kind: 'conflict', key, now }
  }
  return undefined
}

interface CounterDraft {
  /** Before the commit. */
  found: number
  fields: Map<string, number>
  ttlMs: number
}

function addUp(
  tenant: TenantData,
  additions: CounterAdd[],
  now: number,
): Map<string, CounterDraft> | CommitResult {
  const drafts = new Map<string, CounterDraft>()
  for (const { counter, field, amount, limit = Infinity, set, ttlMs } of additions) {
    const draft = getOrMake(drafts, counter, () => {
      const fields = new Map(alive(tenant.counters, counter, now)?.fields)
      return { found: sumOf(fields), fields, ttlMs }
    })
    if (!set && amount > 0 && sumOf(draft.fields) + amount > limit) {
      return { kind: 'limit', counter, sum: draft.found, now }
    }
    draft.fields.set(field, set ? amount : (draft.fields.get(field) ?? 0) + amount)
    draft.ttlMs = ttlMs
  }
  return drafts
}

function writeCounters(
  tenant: TenantData,
  drafts: Map<string, CounterDraft>,
  { now, lifetime }: { now: number; lifetime: Lifetime },
): void {
  for (const [name, { fields, ttlMs }] of drafts) {
    tenant.counters.set(name, { fields, expiresAt: now + lifetime(ttlMs) })
  }
}

function write(
  tenant: TenantData,
  commit: Commit,
  { now, lifetime }: { now: number; lifetime: Lifetime },
): void {
  const { fence, put = [], due = [], clear = [], outbox = [] } = commit
  if (fence) {
    const { key, incarnation, epoch, seq } = fence
    tenant.fences.set(key, { incarnation, epoch, seq: seq + 1 })
  }
  for (const { key, version, body, ttlMs } of put) {
    const expiresAt = ttlMs === undefined ? Infinity : now + lifetime(ttlMs)
    if (body === null) tenant.documents.delete(key)
    else tenant.documents.set(key, { version, body, expiresAt })
  }
  for (const { queue, id, at } of due) {
    const entries = getOrMake(tenant.due, queue, () => new Map<string, number>())
    if (at === null) entries.delete(id)
    else entries.set(id, at)
  }
  for (const entry of clear) tenant.outboxes.get(entry.outbox)?.delete(entry.id)
  for (const entry of outbox) {
    getOrMake(tenant.outboxes, entry.outbox, () => new Map<string, string>()).set(
      entry.id,
      entry.body,
    )
  }
}

export function takeFenceIn(data: MemoryStoreData, tenant: string, fence: Fence) {
  const { fences } = tenantOf(data, tenant)
  const { key, incarnation, epoch, seq } = fence
  const found = fences.get(key)
  if (found && found.epoch >= epoch) return { taken: false, stored: { ...found } }
  fences.set(key, { incarnation, epoch, seq })
  return { taken: true, stored: { incarnation, epoch, seq } }
}

/** The first `max` entries that are due, and the time of the one behind them. */
export function peekDueIn(
  data: MemoryStoreData,
  from: { tenant: string; queue: string; max: number },
  now: number,
): { now: number; due: DueEntry[]; next?: number } {
  const entries = [...(tenantOf(data, from.tenant).due.get(from.queue) ?? [])]
    .map(([id, at]) => ({ id, at }))
    .sort((a, b) => a.at - b.at || compareUtf8(a.id, b.id))
  const due = entries.slice(0, from.max).filter(({ at }) => at <= now)
  return { now, due, next: entries[due.length]?.at }
}

export function readOutboxIn(data: MemoryStoreData, tenant: string, outbox: string): OutboxEntry[] {
  return [...(tenantOf(data, tenant).outboxes.get(outbox) ?? [])]
    .map(([id, body]) => ({ outbox, id, body }))
    .sort((a, b) => compareUtf8(a.id, b.id))
}
