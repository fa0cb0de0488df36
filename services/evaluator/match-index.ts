/**
 * Which subscriptions an event matches, at a cost that does not grow with those it does not.
 *
 * - Each subscription is kept under one thing that every event it takes must have: a text at some
 *   place of the event, or the beginning or end of one, the most selective that is known. An
 *   event is read once and looks its own texts up; who needs another text is never visited.
 * - What is found is checked completely; each distinct predicate is evaluated once for an event.
 * - Subscriptions with the same condition share one entry.
 * - A condition without any such text (`not`, some CEL) is checked for every event.
 *
 * The answer is the same as `compileFilters(spec).test(event)` for every subscription.
 */

import { createCelCache } from '#kernel/domain/cel-cache.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import type { MatchSpec } from '#kernel/domain/filter/compile-filters.ts'
import { compileEventCel } from '#kernel/domain/filter/evaluate-filter.ts'
import { viewEvent } from '#kernel/domain/filter/event-view.ts'
import {
  addToBucket,
  type BucketTables,
  bucketOf,
  createBucket,
  improveBucket,
  removeFromBucket,
  scanBucket,
} from './matching/bucket.ts'
import {
  createConditionTable,
  deleteCondition,
  findCondition,
  insertCondition,
  predicatesAt,
} from './matching/condition-table.ts'
import type { Bucket, Entry, PlaceEntries, Predicate } from './matching/index-shapes.ts'
import { walkEvent } from './matching/path-table.ts'
import {
  createPredicateTable,
  releasePredicate,
  restartAnswers,
} from './matching/predicate-table.ts'
import { type PredicateMaker, predicatesOf } from './matching/spec-predicates.ts'

export interface MatchIndex {
  /** Adds a subscription or replaces it. Expressions are compiled when first evaluated. */
  set(id: string, spec: MatchSpec): void
  /** Forgets a subscription; false when it was not there. */
  delete(id: string): boolean
  /** The ids of all subscriptions whose condition takes the event, in no order. */
  match(event: CloudEvent): string[]
  /** Subscriptions held. */
  readonly size: number
}

/** Compiled expressions kept; the others are compiled again when they are needed. */
const CEL_PROGRAMS_MAX = 10_000

/** A prefix or suffix takes more texts than an exact value does: it must be this much rarer. */
const PARTIAL_TEXT_COST = 8

interface IndexState extends PredicateMaker, BucketTables {
  /** The condition of each subscription. */
  readonly byMember: Map<string, number>
  /** Conditions that no text finds. */
  readonly scanned: Bucket
}

export function createMatchIndex(): MatchIndex {
  const state: IndexState = {
    table: createPredicateTable(),
    compile: createCelCache(compileEventCel, CEL_PROGRAMS_MAX),
    conditions: createConditionTable(),
    byMember: new Map(),
    scanned: createBucket(-1),
    worn: [],
  }
  return {
    set(id, spec) {
      remove(state, id)
      add(state, id, spec)
    },
    delete: id => remove(state, id),
    match: event => match(state, event),
    get size() {
      return state.byMember.size
    },
  }
}

function add(state: IndexState, member: string, spec: MatchSpec): void {
  const { conditions, table } = state
  const predicates = predicatesOf(state, spec)
  const known = findCondition(conditions, predicates)
  if (known < 0) {
    state.byMember.set(member, addCondition(state, predicates, member))
    return
  }
  for (const predicate of predicates) releasePredicate(table, predicate)
  const sharing = conditions.members[known]
  if (typeof sharing === 'object') sharing.add(member)
  else conditions.members[known] = new Set([sharing ?? member, member])
  state.byMember.set(member, known)
}

function remove(state: IndexState, member: string): boolean {
  const id = state.byMember.get(member)
  if (id === undefined) return false
  state.byMember.delete(member)
  const sharing = state.conditions.members[id]
  if (typeof sharing === 'object') {
    sharing.delete(member)
    if (sharing.size > 0) return true
  }
  removeCondition(state, id)
  return true
}

function addCondition(state: IndexState, predicates: readonly Predicate[], member: string): number {
  const id = insertCondition(state.conditions, predicates, member)
  const access = countAndChoose(predicates)
  state.conditions.access[id] = access?.id ?? -1
  const placed = { id, predicates, access }
  if (access === undefined) addToBucket(state.scanned, placed)
  else for (const entry of access.entries) addToBucket(bucketOf(entry), placed)
  return id
}

/**
 * Counts one more condition at every entry, and chooses the predicate that finds the condition
 * while being wanted by the fewest others: what is rare among conditions is mostly rare among
 * events, and where it is not, the bucket wears out and is improved.
 */
function countAndChoose(predicates: readonly Predicate[]): Predicate | undefined {
  let best: Predicate | undefined
  let bestCost = Number.POSITIVE_INFINITY
  for (const predicate of predicates) {
    const { entries } = predicate
    let cost = 0
    for (const entry of entries) {
      entry.count++
      cost += entry.kind === 'exact' ? entry.count : entry.count * PARTIAL_TEXT_COST
    }
    if (entries.length > 0 && cost < bestCost) {
      best = predicate
      bestCost = cost
    }
  }
  return best
}

function removeCondition(state: IndexState, id: number): void {
  const { conditions, table, scanned } = state
  const predicates = predicatesAt(conditions, table, id)
  const access = table.byId[conditions.access[id] ?? -1]
  const placed = { id, predicates, access }
  if (access === undefined) removeFromBucket(scanned, placed)
  for (const entry of access?.entries ?? []) {
    const bucket = bucketOf(entry)
    removeFromBucket(bucket, placed)
    if (bucket.size === 0) entry.bucket = undefined
  }
  for (const { entries } of predicates) for (const entry of entries) entry.count--
  for (const predicate of predicates) releasePredicate(table, predicate)
  deleteCondition(conditions, id)
}

function match(state: IndexState, event: CloudEvent): string[] {
  const { table } = state
  const { paths, places } = table
  if (paths.walk >= WALKS_MAX) restart(state)
  walkEvent(paths, event)
  const buckets: Bucket[] = []
  for (let at = 0; at < paths.presentCount; at++) {
    const id = paths.present[at] ?? -1
    const place = places[id]
    if (place !== undefined) lookUp(state, place, paths.texts[id] ?? '', buckets)
  }
  buckets.push(state.scanned)

  const { members, reported } = state.conditions
  const found: string[] = []
  const report = (id: number) => {
    if (reported[id] === paths.walk) return
    reported[id] = paths.walk
    const sharing = members[id]
    if (typeof sharing === 'string') found.push(sharing)
    else if (sharing !== undefined) for (const member of sharing) found.push(member)
  }
  const view = viewEvent(event)
  for (const bucket of buckets) scanBucket(state, bucket, view, report)
  if (state.worn.length > 0) {
    for (const bucket of state.worn) improveBucket(state, bucket)
    state.worn.length = 0
  }
  return found
}

/** Notes which `exact` predicate the text answers, and which buckets it leads to. */
function lookUp(
  { table: { answers, paths } }: IndexState,
  { exact, prefix, suffix }: PlaceEntries,
  text: string,
  buckets: Bucket[],
): void {
  const entry = exact.get(text)
  if (entry !== undefined) {
    if (entry.predicate !== undefined) answers[entry.predicate.id] = paths.walk * 2 + 1
    hit(entry, buckets)
  }
  for (const [length, entries] of prefix) {
    hit(length <= text.length ? entries.get(text.slice(0, length)) : undefined, buckets)
  }
  for (const [length, entries] of suffix) {
    hit(length <= text.length ? entries.get(text.slice(-length)) : undefined, buckets)
  }
}

function hit(entry: Entry | undefined, buckets: Bucket[]): void {
  if (entry === undefined) return
  entry.hits++
  if (entry.bucket !== undefined) buckets.push(entry.bucket)
}

/** Answers are stamped with the number of the walk, which must fit 32 bits twice. */
const WALKS_MAX = 2 ** 30 - 1

function restart({ table, conditions }: IndexState): void {
  restartAnswers(table)
  conditions.reported.fill(0)
}
