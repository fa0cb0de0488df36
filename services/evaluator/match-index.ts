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
  type Bucket,
  type Condition,
  createBucket,
  isEmptyBucket,
  removeFromBucket,
  visitBucket,
} from './matching/bucket.ts'
import { walkEvent } from './matching/path-table.ts'
import {
  createPredicateTable,
  type Entry,
  type Predicate,
  predicateHolds,
  releasePredicate,
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

interface IndexState extends PredicateMaker {
  readonly conditions: Map<number, Condition>
  readonly byId: Map<string, Condition>
  /** Conditions that no text finds. */
  readonly scanned: Bucket
}

export function createMatchIndex(): MatchIndex {
  const state: IndexState = {
    table: createPredicateTable(),
    compile: createCelCache(compileEventCel, CEL_PROGRAMS_MAX),
    conditions: new Map(),
    byId: new Map(),
    scanned: createBucket([]),
  }
  return {
    set(id, spec) {
      remove(state, id)
      add(state, id, spec)
    },
    delete: id => remove(state, id),
    match: event => match(state, event),
    get size() {
      return state.byId.size
    },
  }
}

function add(state: IndexState, id: string, spec: MatchSpec): void {
  const predicates = predicatesOf(state, spec)
  const hash = hashOf(predicates)
  const known = findCondition(state, predicates, hash)
  if (known === undefined) {
    state.byId.set(id, addCondition(state, { id, predicates, hash }))
    return
  }
  for (const predicate of predicates) releasePredicate(state.table, predicate)
  if (typeof known.members === 'string') known.members = new Set([known.members])
  known.members.add(id)
  state.byId.set(id, known)
}

function remove(state: IndexState, id: string): boolean {
  const condition = state.byId.get(id)
  if (condition === undefined) return false
  state.byId.delete(id)
  if (typeof condition.members !== 'string') {
    condition.members.delete(id)
    if (condition.members.size > 0) return true
  }
  removeCondition(state, condition)
  return true
}

function addCondition(
  state: IndexState,
  parts: { id: string; predicates: readonly Predicate[]; hash: number },
): Condition {
  const { id, predicates, hash } = parts
  const condition: Condition = {
    predicates,
    hash,
    members: id,
    access: undefined,
    next: state.conditions.get(hash),
    reported: 0,
  }
  state.conditions.set(hash, condition)
  for (const { entries } of predicates) for (const entry of entries) entry.count++
  condition.access = mostSelective(predicates)
  if (condition.access === undefined) addToBucket(state.scanned, condition)
  else for (const entry of condition.access.entries) addToBucket(bucketOf(entry), condition)
  return condition
}

function bucketOf(entry: Entry): Bucket {
  entry.bucket ??= createBucket(entry.kind === 'exact' ? [entry.path] : [])
  return entry.bucket
}

/** The predicate that finds the condition while being wanted by the fewest others. */
function mostSelective(predicates: readonly Predicate[]): Predicate | undefined {
  let best: Predicate | undefined
  let bestCost = Number.POSITIVE_INFINITY
  for (const predicate of predicates) {
    if (predicate.entries.length === 0) continue
    let cost = 0
    for (const { kind, count } of predicate.entries) {
      cost += kind === 'exact' ? count : count * PARTIAL_TEXT_COST
    }
    if (cost < bestCost) {
      best = predicate
      bestCost = cost
    }
  }
  return best
}

function removeCondition(state: IndexState, condition: Condition): void {
  const { access, predicates } = condition
  if (access === undefined) removeFromBucket(state.scanned, condition)
  else {
    for (const entry of access.entries) {
      if (entry.bucket === undefined) continue
      removeFromBucket(entry.bucket, condition)
      if (isEmptyBucket(entry.bucket)) entry.bucket = undefined
    }
  }
  for (const { entries } of predicates) for (const entry of entries) entry.count--
  for (const predicate of predicates) releasePredicate(state.table, predicate)
  unchain(state, condition)
}

function unchain({ conditions }: IndexState, condition: Condition): void {
  const first = conditions.get(condition.hash)
  if (first === condition) {
    if (condition.next === undefined) conditions.delete(condition.hash)
    else conditions.set(condition.hash, condition.next)
    return
  }
  for (let at = first; at !== undefined; at = at.next) {
    if (at.next === condition) at.next = condition.next
  }
}

function hashOf(predicates: readonly Predicate[]): number {
  let hash = 17
  for (const { serial } of predicates) hash = (Math.imul(hash, 0x01000193) ^ serial) | 0
  return hash
}

function findCondition(
  { conditions }: IndexState,
  predicates: readonly Predicate[],
  hash: number,
): Condition | undefined {
  for (let at = conditions.get(hash); at !== undefined; at = at.next) {
    const known = at.predicates
    if (known.length === predicates.length && known.every((each, i) => each === predicates[i])) {
      return at
    }
  }
  return undefined
}

function match(state: IndexState, event: CloudEvent): string[] {
  const { table } = state
  const { paths, places } = table
  if (paths.walk >= WALKS_MAX) restartWalks(state)
  walkEvent(paths, event)
  const view = viewEvent(event)
  const found: string[] = []
  const visit = (condition: Condition): void => {
    if (condition.reported === paths.walk) return
    for (const predicate of condition.predicates) {
      if (!predicateHolds(table, predicate, view)) return
    }
    condition.reported = paths.walk
    if (typeof condition.members === 'string') found.push(condition.members)
    else for (const id of condition.members) found.push(id)
  }
  for (let at = 0; at < paths.presentCount; at++) {
    const id = paths.present[at] ?? 0
    const place = places[id]
    const text = paths.texts[id]
    if (place === undefined || text === undefined) continue
    const bucket = place.exact.get(text)?.bucket
    if (bucket !== undefined) visitBucket(bucket, paths, visit)
    for (const [length, entries] of place.prefix) {
      const partial = length <= text.length ? entries.get(text.slice(0, length))?.bucket : undefined
      if (partial !== undefined) visitBucket(partial, paths, visit)
    }
    for (const [length, entries] of place.suffix) {
      const partial = length <= text.length ? entries.get(text.slice(-length))?.bucket : undefined
      if (partial !== undefined) visitBucket(partial, paths, visit)
    }
  }
  visitBucket(state.scanned, paths, visit)
  return found
}

/** Answers are stamped with the number of the walk, which must stay a small integer. */
const WALKS_MAX = 2 ** 29

function restartWalks({ table, conditions }: IndexState): void {
  table.paths.walk = 0
  table.paths.stamps.fill(-1)
  for (const first of conditions.values()) {
    for (let at: Condition | undefined = first; at !== undefined; at = at.next) {
      at.reported = 0
      for (const predicate of at.predicates) predicate.answer = 0
    }
  }
}
