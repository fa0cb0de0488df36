/**
 * Every distinct condition, a list of predicates, and the subscriptions that state it. Kept as
 * rows of numbers: a hundred thousand small objects would cost more to keep than to search.
 */
import type { Predicate, PredicateTable } from './index-shapes.ts'

export interface ConditionTable {
  /** One subscription, or several once they share the condition. */
  readonly members: (string | Set<string> | undefined)[]
  readonly freeIds: number[]
  /** Where each condition's predicates start in the pool, how many, and their hash. */
  starts: Int32Array
  counts: Int32Array
  hashes: Int32Array
  /** The predicate whose entries hold the condition, -1: in the bucket that every event scans. */
  access: Int32Array
  /** The last walk that reported it. */
  reported: Int32Array
  /** Predicate ids of all conditions, one after another. */
  pool: Int32Array
  poolUsed: number
  poolWasted: number
  /** Open addressing by hash: the condition's id plus one, 0 free, -1 was removed. */
  slots: Int32Array
  slotsUsed: number
}

const ROWS_AT_FIRST = 4_096

export function createConditionTable(): ConditionTable {
  return {
    members: [],
    freeIds: [],
    starts: new Int32Array(ROWS_AT_FIRST),
    counts: new Int32Array(ROWS_AT_FIRST),
    hashes: new Int32Array(ROWS_AT_FIRST),
    access: new Int32Array(ROWS_AT_FIRST),
    reported: new Int32Array(ROWS_AT_FIRST),
    pool: new Int32Array(ROWS_AT_FIRST * 4),
    poolUsed: 0,
    poolWasted: 0,
    slots: new Int32Array(ROWS_AT_FIRST * 2),
    slotsUsed: 0,
  }
}

/** The condition with exactly these predicates in this order, or -1. */
export function findCondition(table: ConditionTable, predicates: readonly Predicate[]): number {
  const { slots, hashes } = table
  const hash = hashOf(predicates)
  const mask = slots.length - 1
  for (let at = hash & mask; slots[at] !== 0; at = (at + 1) & mask) {
    const id = (slots[at] ?? 0) - 1
    if (id >= 0 && hashes[id] === hash && hasPredicates(table, id, predicates)) return id
  }
  return -1
}

function hasPredicates(
  { starts, counts, pool }: ConditionTable,
  id: number,
  predicates: readonly Predicate[],
): boolean {
  if (counts[id] !== predicates.length) return false
  const start = starts[id] ?? 0
  for (let at = 0; at < predicates.length; at++) {
    if (pool[start + at] !== predicates[at]?.id) return false
  }
  return true
}

function hashOf(predicates: readonly Predicate[]): number {
  let hash = predicates.length
  for (let at = 0; at < predicates.length; at++) {
    hash = Math.imul(hash ^ (predicates[at]?.id ?? 0), HASH_FACTOR)
  }
  return hash ^ (hash >> 15)
}

/** An odd number with its bits well spread, as a signed 32-bit integer. */
const HASH_FACTOR = -1640531535

/** Adds a condition that is not there yet; returns its id. */
export function insertCondition(
  table: ConditionTable,
  predicates: readonly Predicate[],
  member: string,
): number {
  const id = table.freeIds.pop() ?? table.members.length
  if (id >= table.starts.length) growRows(table)
  reservePool(table, predicates.length)
  table.members[id] = member
  const { pool, poolUsed } = table
  for (let at = 0; at < predicates.length; at++) pool[poolUsed + at] = predicates[at]?.id ?? -1
  table.poolUsed = poolUsed + predicates.length
  table.starts[id] = poolUsed
  table.counts[id] = predicates.length
  table.hashes[id] = hashOf(predicates)
  table.reported[id] = 0
  fillSlot(table, id)
  return id
}

export function deleteCondition(table: ConditionTable, id: number): void {
  const { slots } = table
  const mask = slots.length - 1
  for (let at = (table.hashes[id] ?? 0) & mask; slots[at] !== 0; at = (at + 1) & mask) {
    if (slots[at] !== id + 1) continue
    slots[at] = -1
    break
  }
  table.poolWasted += table.counts[id] ?? 0
  table.counts[id] = 0
  table.members[id] = undefined
  table.freeIds.push(id)
}

/** The predicates of a condition, read from the predicate table. */
export function predicatesAt(
  { starts, counts, pool }: ConditionTable,
  { byId }: PredicateTable,
  id: number,
): Predicate[] {
  const found: Predicate[] = []
  const start = starts[id] ?? 0
  const end = start + (counts[id] ?? 0)
  for (let at = start; at < end; at++) {
    const predicate = byId[pool[at] ?? -1]
    if (predicate !== undefined) found.push(predicate)
  }
  return found
}

function fillSlot(table: ConditionTable, id: number): void {
  if (table.slotsUsed * 2 >= table.slots.length) rebuildSlots(table)
  const { slots, hashes } = table
  const mask = slots.length - 1
  let at = (hashes[id] ?? 0) & mask
  while (slots[at] !== 0) at = (at + 1) & mask
  slots[at] = id + 1
  table.slotsUsed++
}

/** Makes room and drops the marks of removed conditions. */
function rebuildSlots(table: ConditionTable): void {
  const { slots, hashes } = table
  let held = 0
  for (const slot of slots) if (slot > 0) held++
  const length = held * 4 < slots.length ? slots.length : slots.length * 4
  const mask = length - 1
  const rebuilt = new Int32Array(length)
  for (const slot of slots) {
    if (slot <= 0) continue
    let at = (hashes[slot - 1] ?? 0) & mask
    while (rebuilt[at] !== 0) at = (at + 1) & mask
    rebuilt[at] = slot
  }
  table.slots = rebuilt
  table.slotsUsed = held
}

function growRows(table: ConditionTable): void {
  table.starts = larger(table.starts)
  table.counts = larger(table.counts)
  table.hashes = larger(table.hashes)
  table.access = larger(table.access)
  table.reported = larger(table.reported)
}

function reservePool(table: ConditionTable, count: number): void {
  if (table.poolWasted > 1_024 && table.poolWasted * 2 > table.poolUsed) compactPool(table)
  while (table.poolUsed + count > table.pool.length) table.pool = larger(table.pool)
}

function compactPool(table: ConditionTable): void {
  const pool = new Int32Array(table.pool.length)
  let used = 0
  for (let id = 0; id < table.members.length; id++) {
    const start = table.starts[id] ?? 0
    const count = table.counts[id] ?? 0
    pool.set(table.pool.subarray(start, start + count), used)
    table.starts[id] = used
    used += count
  }
  table.pool = pool
  table.poolUsed = used
  table.poolWasted = 0
}

function larger(rows: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(rows.length * 2)
  grown.set(rows)
  return grown
}
