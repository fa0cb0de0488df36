/**
 * Conditions that one text finds. What no event asks for stays a list of ids. The first event
 * with the text has them written out as plain numbers, because following a pointer for each of
 * them is what matching would mostly wait for. A bucket that events scan again and again is
 * improved: what a rarer text finds as well moves there, and the rest is divided by a second place
 * of the event, so that a popular text does not become a long scan.
 */
import type { EventView } from '#kernel/domain/filter/event-view.ts'
import { type ConditionTable, predicatesAt } from './condition-table.ts'
import type { Bucket, Entry, Predicate, PredicateTable } from './index-shapes.ts'
import { textAt } from './path-table.ts'
import { askPredicate } from './predicate-table.ts'

/** The two tables that the numbers in a bucket refer to. */
export interface BucketTables {
  readonly table: PredicateTable
  readonly conditions: ConditionTable
  /** Buckets that events have scanned often, to be improved once the event is through. */
  readonly worn: Bucket[]
}

/** A condition on its way into or out of buckets. */
export interface Placed {
  readonly id: number
  readonly predicates: readonly Predicate[]
  /** The predicate whose entries hold it; undefined: in the bucket that every event scans. */
  readonly access: Predicate | undefined
}

/** Smallest bucket worth dividing: below, asking one by one is as fast. */
const DIVIDED_SIZE_MIN = 48
/** Scans after which improving pays; each try in vain waits four times as long for the next. */
const SCANS_BEFORE_IMPROVING = 16
/** Share of the conditions that may still be asked after dividing. */
const REMAINING_MAX = 0.6
const DIVISIONS_MAX = 5

const NONE: readonly number[] = []

/** A bucket under a text at the place, or -1 for no text or a part of one. */
export function createBucket(entryPath: number, used: readonly number[] = NONE): Bucket {
  return {
    members: [],
    codes: undefined,
    size: 0,
    scansLeft: SCANS_BEFORE_IMPROVING,
    tries: 0,
    path: -1,
    children: undefined,
    rest: undefined,
    entryPath,
    used,
  }
}

export function addToBucket(bucket: Bucket, condition: Placed): void {
  bucket.size++
  if (bucket.children === undefined) {
    // A literal has no room to spare: most texts of a large index find one condition only.
    if (bucket.members.length === 0) bucket.members = [condition.id]
    else bucket.members.push(condition.id)
    if (bucket.codes !== undefined) pushCode(bucket.codes, bucket.used, condition)
    return
  }
  for (const part of partsFor(bucket, condition)) addToBucket(part, condition)
}

/** The parts of a divided bucket that hold the condition, made where they are missing. */
function partsFor(bucket: Bucket, condition: Placed): Bucket[] {
  const { children, entryPath, path, used } = bucket
  const decider = deciderAt(condition, path)
  if (decider === undefined || children === undefined) {
    bucket.rest ??= createBucket(entryPath, [...used, path])
    return [bucket.rest]
  }
  return decider.entries.map(({ value }) => {
    const known = children.get(value)
    if (known !== undefined) return known
    const child = createBucket(entryPath, [...used, path])
    children.set(value, child)
    return child
  })
}

/** Writes the condition out, without the predicates that being in this bucket already proves. */
function pushCode(codes: number[], used: readonly number[], condition: Placed): void {
  const { predicates } = condition
  const countAt = codes.push(condition.id)
  codes.push(0)
  for (let at = 0; at < predicates.length; at++) {
    const predicate = predicates[at]
    if (predicate === undefined || isProven(condition, used, predicate)) continue
    codes.push(predicate.kind === 'exact' ? ~predicate.id : predicate.id)
  }
  codes[countAt] = codes.length - countAt - 1
}

function writeCodes(tables: BucketTables, bucket: Bucket): number[] {
  const codes: number[] = []
  for (const id of bucket.members) pushCode(codes, bucket.used, placedAt(tables, id))
  // A copy has no room to spare.
  bucket.codes = codes.slice()
  return bucket.codes
}

function placedAt({ table, conditions }: BucketTables, id: number): Placed {
  const predicates = predicatesAt(conditions, table, id)
  return { id, predicates, access: table.byId[conditions.access[id] ?? -1] }
}

function isProven(condition: Placed, used: readonly number[], predicate: Predicate): boolean {
  if (predicate === condition.access) return predicate.kind !== 'test'
  for (let at = 0; at < used.length; at++) {
    if (deciderAt(condition, used[at] ?? -1) === predicate) return true
  }
  return false
}

export function removeFromBucket(bucket: Bucket, condition: Placed): void {
  bucket.size--
  const { children, rest, path } = bucket
  if (children === undefined) {
    const { members, codes } = bucket
    const last = members.pop()
    if (last !== undefined && last !== condition.id) {
      members[members.indexOf(condition.id)] = last
    }
    if (codes !== undefined) dropCode(codes, condition.id)
    return
  }
  const decider = deciderAt(condition, path)
  if (decider === undefined) {
    if (rest !== undefined) removeFromBucket(rest, condition)
    return
  }
  for (const { value } of decider.entries) {
    const child = children.get(value)
    if (child === undefined) continue
    removeFromBucket(child, condition)
    if (child.size === 0) children.delete(value)
  }
}

function dropCode(codes: number[], id: number): void {
  for (let at = 0; at < codes.length; ) {
    const length = 2 + (codes[at + 1] ?? 0)
    if (codes[at] === id) {
      codes.splice(at, length)
      return
    }
    at += length
  }
}

/** The predicate by whose texts the condition is told apart at the place. */
function deciderAt({ predicates }: Placed, path: number): Predicate | undefined {
  for (const predicate of predicates) {
    if (predicate.path === path && isDecider(predicate)) return predicate
  }
  return undefined
}

function isDecider({ kind }: Predicate): boolean {
  return kind === 'exact' || kind === 'one-of'
}

/** Reports every condition in the bucket that holds for the event of the last walk. */
export function scanBucket(
  tables: BucketTables,
  bucket: Bucket,
  view: EventView,
  report: (id: number) => void,
): void {
  if (bucket.size >= DIVIDED_SIZE_MIN && --bucket.scansLeft === 0) tables.worn.push(bucket)
  const { children, rest } = bucket
  if (children === undefined) {
    scanCodes(tables.table, bucket.codes ?? writeCodes(tables, bucket), view, report)
    return
  }
  const text = textAt(tables.table.paths, bucket.path)
  const child = text === undefined ? undefined : children.get(text)
  if (child !== undefined) scanBucket(tables, child, view, report)
  if (rest !== undefined) scanBucket(tables, rest, view, report)
}

function scanCodes(
  table: PredicateTable,
  codes: readonly number[],
  view: EventView,
  report: (id: number) => void,
): void {
  const { answers } = table
  const yes = table.paths.walk * 2 + 1
  for (let at = 0, next = 0; at < codes.length; at = next) {
    next = at + 2 + (codes[at + 1] ?? 0)
    let ask = at + 2
    for (; ask < next; ask++) {
      const code = codes[ask] ?? 0
      const answer = answers[code < 0 ? ~code : code]
      if (answer === yes) continue
      if (code < 0 || answer === yes - 1 || !askPredicate(table, code, view)) break
    }
    if (ask === next) report(codes[at] ?? 0)
  }
}

/**
 * Makes the next scans of a worn bucket shorter: conditions that a much rarer text finds as well
 * leave for that text's bucket, and what stays is divided where some place tells it apart.
 */
export function improveBucket(tables: BucketTables, bucket: Bucket): void {
  if (bucket.children !== undefined) return
  if (bucket.used.length === 0) moveToRarerTexts(tables, bucket)
  const path = bucket.size >= DIVIDED_SIZE_MIN ? bestPlace(tables, bucket) : undefined
  if (path === undefined) {
    bucket.scansLeft = SCANS_BEFORE_IMPROVING * 4 ** Math.min(++bucket.tries, 8)
    return
  }
  const { members } = bucket
  bucket.members = []
  bucket.codes = undefined
  bucket.path = path
  bucket.children = new Map()
  for (const id of members) {
    const condition = placedAt(tables, id)
    for (const part of partsFor(bucket, condition)) addToBucket(part, condition)
  }
}

/** How much rarer a text must be among events for a condition to move there. */
const RARER = 8

function moveToRarerTexts(tables: BucketTables, bucket: Bucket): void {
  const staying: number[] = []
  for (const id of bucket.members) {
    const condition = placedAt(tables, id)
    const rarer = rarerAccess(condition)
    if (rarer === undefined) {
      staying.push(id)
      continue
    }
    tables.conditions.access[id] = rarer.id
    const moved = { ...condition, access: rarer }
    for (const entry of rarer.entries) addToBucket(bucketOf(entry), moved)
  }
  if (staying.length === bucket.size) return
  bucket.members = staying
  bucket.size = staying.length
  bucket.codes = undefined
}

/** A predicate whose texts events have had far less often; only where one bucket is to be left. */
function rarerAccess({ access, predicates }: Placed): Predicate | undefined {
  if (access?.entries.length !== 1) return undefined
  let best: Predicate | undefined
  let fewest = hitsOf(access) / RARER
  for (const predicate of predicates) {
    const hits = hitsOf(predicate)
    if (predicate.entries.length === 0 || hits >= fewest) continue
    best = predicate
    fewest = hits
  }
  return best
}

function hitsOf({ entries }: Predicate): number {
  let hits = 0
  for (const entry of entries) hits += entry.hits
  return hits
}

/** The bucket of the conditions that the entry's text finds, made where it is missing. */
export function bucketOf(entry: Entry): Bucket {
  entry.bucket ??= createBucket(entry.kind === 'exact' ? entry.path : -1)
  return entry.bucket
}

/** The place after which the fewest conditions remain to be asked, where that is worth it. */
function bestPlace(tables: BucketTables, bucket: Bucket): number | undefined {
  const { entryPath, members, used } = bucket
  if (used.length >= DIVISIONS_MAX) return undefined
  let best: number | undefined
  let bestRemaining = members.length * REMAINING_MAX
  const counts = countPlaces(members.map(id => placedAt(tables, id)))
  for (const [path, { having, wanted, texts }] of counts) {
    if (path === entryPath || used.includes(path)) continue
    const remaining = members.length - having + wanted / texts.size
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

function countPlaces(members: readonly Placed[]): Map<number, PlaceCount> {
  const counts = new Map<number, PlaceCount>()
  for (const { predicates } of members) {
    for (const predicate of predicates) {
      if (!isDecider(predicate)) continue
      const { path, entries } = predicate
      const count = counts.get(path) ?? { having: 0, wanted: 0, texts: new Set() }
      counts.set(path, count)
      count.having++
      count.wanted += entries.length
      for (const { value } of entries) count.texts.add(value)
    }
  }
  return counts
}
