/**
 * Every distinct predicate that subscriptions state, once, under a small number. An event answers
 * each of them at most once, however many subscriptions ask; and each predicate names the
 * entries, texts at places of the event, by which those who ask can be found.
 */
import type { EventView } from '#kernel/domain/filter/event-view.ts'
import type { Entry, PlaceEntries, Predicate, PredicateTable } from './index-shapes.ts'
import type { TextTerm } from './match-term.ts'
import { acquirePath, createPathTable, pathText, releasePath, textAt } from './path-table.ts'

const ANSWERS_AT_FIRST = 1_024

export function createPredicateTable(): PredicateTable {
  return {
    paths: createPathTable(),
    places: [],
    placeOf: new Map(),
    byKey: new Map(),
    byCel: new Map(),
    byId: [],
    freeIds: [],
    answers: new Int32Array(ANSWERS_AT_FIRST),
  }
}

/** The predicate of one term; counted until `releasePredicate`. */
export function termPredicate(
  table: PredicateTable,
  kind: TextTerm['kind'],
  path: string,
  value: string,
): Predicate {
  const entry = entryOf(table, kind, path, value)
  let { predicate } = entry
  if (predicate === undefined) {
    entry.refs++
    predicate = addPredicate(table, { kind, path: entry.path, value, entries: [entry] }, '')
    entry.predicate = predicate
  }
  predicate.refs++
  return predicate
}

/** The predicate that the text at a place is one of several. */
export function oneOfPredicate(
  table: PredicateTable,
  path: string,
  values: readonly string[],
): Predicate {
  const key = `${path}\0${values.join('\0')}`
  return internPredicate(table, table.byKey, key, () => {
    const distinct = new Set(values)
    const entries = [...distinct].map(value => acquireEntry(table, 'exact', path, value))
    return { kind: 'one-of', path: entries[0]?.path ?? -1, values: distinct, entries }
  })
}

/** What makes a test: `terms` are what it needs at least one of. */
type MakeTest = () => { test: (view: EventView) => boolean; terms: readonly TextTerm[] }

/** A predicate that only its test can answer. */
export function testPredicate(table: PredicateTable, key: string, make: MakeTest): Predicate {
  return internPredicate(table, table.byKey, key, () => testParts(table, make))
}

/** The predicate that an expression is true. */
export function celPredicate(table: PredicateTable, expression: string, make: MakeTest): Predicate {
  return internPredicate(table, table.byCel, expression, () => testParts(table, make))
}

function testParts(table: PredicateTable, make: MakeTest): PredicateParts {
  const { test, terms } = make()
  const entries = terms.map(({ kind, path, value }) => acquireEntry(table, kind, path, value))
  return { kind: 'test', path: -1, test, entries }
}

interface PredicateParts {
  readonly kind: Predicate['kind']
  readonly path: number
  readonly entries: readonly Entry[]
  readonly value?: string
  readonly values?: ReadonlySet<string>
  readonly test?: (view: EventView) => boolean
}

function internPredicate(
  table: PredicateTable,
  interned: Map<string, Predicate>,
  key: string,
  make: () => PredicateParts,
): Predicate {
  let predicate = interned.get(key)
  if (predicate === undefined) {
    predicate = addPredicate(table, make(), key)
    interned.set(key, predicate)
  }
  predicate.refs++
  return predicate
}

function addPredicate(table: PredicateTable, parts: PredicateParts, key: string): Predicate {
  const { kind, path, value = '', values, test, entries } = parts
  const id = table.freeIds.pop() ?? table.byId.length
  const predicate: Predicate = { id, kind, path, value, values, test, entries, key, refs: 0 }
  table.byId[id] = predicate
  if (id >= table.answers.length) {
    const larger = new Int32Array(table.answers.length * 2)
    larger.set(table.answers)
    table.answers = larger
  }
  table.answers[id] = 0
  return predicate
}

/** Gives a predicate back; the last one takes it out of the table. */
export function releasePredicate(table: PredicateTable, predicate: Predicate): void {
  if (--predicate.refs > 0) return
  table.byId[predicate.id] = undefined
  table.freeIds.push(predicate.id)
  for (const interned of [table.byKey, table.byCel]) {
    if (interned.get(predicate.key) === predicate) interned.delete(predicate.key)
  }
  for (const entry of predicate.entries) {
    if (entry.predicate === predicate) entry.predicate = undefined
    if (--entry.refs === 0) removeEntry(table, entry)
  }
}

function acquireEntry(
  table: PredicateTable,
  kind: TextTerm['kind'],
  path: string,
  value: string,
): Entry {
  const entry = entryOf(table, kind, path, value)
  entry.refs++
  return entry
}

/** The entry of a term, made where it is missing; the caller counts it in `refs`. */
function entryOf(
  table: PredicateTable,
  kind: TextTerm['kind'],
  path: string,
  value: string,
): Entry {
  const place = table.placeOf.get(path) ?? addPlace(table, path)
  const texts = kind === 'exact' ? place.exact : textsOfLength(place[kind], value.length)
  const known = texts.get(value)
  if (known !== undefined) return known
  const id = acquirePath(table.paths, path)
  const entry: Entry = {
    kind,
    path: id,
    value,
    count: 0,
    hits: 0,
    refs: 0,
    predicate: undefined,
    bucket: undefined,
  }
  texts.set(value, entry)
  return entry
}

function addPlace(table: PredicateTable, path: string): PlaceEntries {
  const id = acquirePath(table.paths, path)
  const place = { path: id, exact: new Map(), prefix: new Map(), suffix: new Map() }
  table.places[id] = place
  table.placeOf.set(path, place)
  return place
}

function textsOfLength(
  byLength: Map<number, Map<string, Entry>>,
  length: number,
): Map<string, Entry> {
  let texts = byLength.get(length)
  if (texts === undefined) {
    texts = new Map()
    byLength.set(length, texts)
  }
  return texts
}

function removeEntry(table: PredicateTable, { kind, path, value }: Entry): void {
  const place = table.places[path]
  if (place === undefined) return
  if (kind === 'exact') place.exact.delete(value)
  else {
    const texts = place[kind].get(value.length)
    texts?.delete(value)
    if (texts?.size === 0) place[kind].delete(value.length)
  }
  releasePath(table.paths, path)
  if (place.exact.size + place.prefix.size + place.suffix.size > 0) return
  const name = pathText(table.paths, path)
  if (name !== undefined) table.placeOf.delete(name)
  table.places[path] = undefined
  releasePath(table.paths, path)
}

/** Asks a predicate for the event that the last walk read, and keeps the answer. */
export function askPredicate(table: PredicateTable, id: number, view: EventView): boolean {
  const holds = evaluate(table, table.byId[id], view)
  const { walk } = table.paths
  table.answers[id] = holds ? walk * 2 + 1 : walk * 2
  return holds
}

function evaluate(
  table: PredicateTable,
  predicate: Predicate | undefined,
  view: EventView,
): boolean {
  if (predicate === undefined) return false
  if (predicate.test !== undefined) return predicate.test(view)
  const text = textAt(table.paths, predicate.path)
  if (text === undefined) return false
  if (predicate.kind === 'prefix') return text.startsWith(predicate.value)
  if (predicate.kind === 'suffix') return text.endsWith(predicate.value)
  return predicate.kind === 'exact'
    ? text === predicate.value
    : predicate.values?.has(text) === true
}

/** Forgets all answers, so that walks may be counted from the start again. */
export function restartAnswers(table: PredicateTable): void {
  table.answers.fill(0)
  table.paths.stamps.fill(-1)
  table.paths.walk = 0
}
