/**
 * Conditions that one text finds. A bucket that grows is divided by a second place of the event,
 * where that tells its conditions apart, so that a popular text does not become a long scan.
 */
import { type PathTable, textAt } from './path-table.ts'
import { type Entry, type Predicate, wantedTexts } from './predicate-table.ts'

/** A distinct set of predicates and the subscriptions that state it. */
export interface Condition {
  readonly predicates: readonly Predicate[]
  readonly hash: number
  /** One id, or several once they share it. */
  members: string | Set<string>
  /** The predicate whose entries hold it; undefined: in the bucket that every event scans. */
  access: Predicate | undefined
  /** The next condition with the same hash. */
  next: Condition | undefined
  /** The last walk that reported it. */
  reported: number
}

export interface Bucket {
  /** Undivided: all conditions. Divided: those that do not look at the dividing place. */
  conditions: Condition[]
  /** Size at which dividing is tried next. */
  divideAt: number
  /** The dividing place, -1 while undivided. */
  path: number
  children: Map<string, Bucket> | undefined
  /** Places that divided the buckets above: dividing by one again would tell nothing apart. */
  readonly used: readonly number[]
}

/** Smallest bucket worth dividing: below, checking one by one is as fast. */
const DIVIDE_AT = 48
/** Share of the conditions that may still be looked at after dividing. */
const REMAINING_MAX = 0.6
const DIVISIONS_MAX = 4

export function createBucket(used: readonly number[]): Bucket {
  return { conditions: [], divideAt: DIVIDE_AT, path: -1, children: undefined, used }
}

export function isEmptyBucket(bucket: Bucket): boolean {
  return bucket.conditions.length === 0 && (bucket.children?.size ?? 0) === 0
}

export function addToBucket(bucket: Bucket, condition: Condition): void {
  const entries = bucket.children && entriesAt(condition, bucket.path)
  if (bucket.children === undefined || entries === undefined) {
    bucket.conditions.push(condition)
    if (bucket.conditions.length >= bucket.divideAt) divide(bucket)
    return
  }
  for (const { value } of entries) {
    let child = bucket.children.get(value)
    if (child === undefined) {
      child = createBucket([...bucket.used, bucket.path])
      bucket.children.set(value, child)
    }
    addToBucket(child, condition)
  }
}

export function removeFromBucket(bucket: Bucket, condition: Condition): void {
  const entries = bucket.children && entriesAt(condition, bucket.path)
  if (bucket.children === undefined || entries === undefined) {
    removeUnordered(bucket.conditions, condition)
    return
  }
  for (const { value } of entries) {
    const child = bucket.children.get(value)
    if (child === undefined) continue
    removeFromBucket(child, condition)
    if (isEmptyBucket(child)) bucket.children.delete(value)
  }
}

function removeUnordered(conditions: Condition[], condition: Condition): void {
  const at = conditions.indexOf(condition)
  const last = conditions.pop()
  if (at < 0 || last === undefined) return
  if (at < conditions.length) conditions[at] = last
}

/** Visits every condition that may hold for the walked event. */
export function visitBucket(
  bucket: Bucket,
  paths: PathTable,
  visit: (condition: Condition) => void,
): void {
  const { conditions, children } = bucket
  for (let at = 0; at < conditions.length; at++) {
    const condition = conditions[at]
    if (condition !== undefined) visit(condition)
  }
  if (children === undefined) return
  const text = textAt(paths, bucket.path)
  const child = text === undefined ? undefined : children.get(text)
  if (child !== undefined) visitBucket(child, paths, visit)
}

function entriesAt(condition: Condition, path: number): readonly Entry[] | undefined {
  for (const predicate of condition.predicates) {
    const entries = wantedTexts(predicate, path)
    if (entries !== undefined) return entries
  }
  return undefined
}

function divide(bucket: Bucket): void {
  const path = bucket.used.length < DIVISIONS_MAX ? bestPlace(bucket) : undefined
  if (bucket.children !== undefined || path === undefined) {
    bucket.divideAt = bucket.conditions.length * 2
    return
  }
  const { conditions } = bucket
  bucket.conditions = []
  bucket.divideAt = Number.POSITIVE_INFINITY
  bucket.path = path
  bucket.children = new Map()
  for (const condition of conditions) addToBucket(bucket, condition)
}

/** The place after which the fewest conditions remain to be looked at, where that is worth it. */
function bestPlace(bucket: Bucket): number | undefined {
  const size = bucket.conditions.length
  let best: number | undefined
  let bestRemaining = size * REMAINING_MAX
  for (const [path, { having, wanted, texts }] of countPlaces(bucket)) {
    const remaining = size - having + wanted / texts.size
    if (remaining <= bestRemaining) {
      best = path
      bestRemaining = remaining
    }
  }
  return best
}

interface PlaceCount {
  having: number
  wanted: number
  texts: Set<string>
}

function countPlaces(bucket: Bucket): Map<number, PlaceCount> {
  const counts = new Map<number, PlaceCount>()
  for (const { predicates } of bucket.conditions) {
    for (const { path, kind, entries } of predicates) {
      if ((kind !== 'exact' && kind !== 'one-of') || bucket.used.includes(path)) continue
      const count = counts.get(path) ?? { having: 0, wanted: 0, texts: new Set() }
      counts.set(path, count)
      count.having++
      count.wanted += entries.length
      for (const { value } of entries) count.texts.add(value)
    }
  }
  return counts
}
