/**
 * Every distinct condition that subscriptions state, once. An event answers each of them at most
 * once, however many subscriptions ask; and each names the buckets that can find who asks.
 */
import type { EventView } from '#kernel/domain/filter/event-view.ts'
import type { Bucket } from './bucket.ts'
import type { TextTerm } from './match-term.ts'
import { acquirePath, createPathTable, type PathTable, releasePath, textAt } from './path-table.ts'

/** One text that some predicate wants at one place, and the bucket of who is found by it. */
export interface Entry {
  readonly kind: TextTerm['kind']
  readonly path: number
  readonly value: string
  /** How many conditions are known to want it: small means selective. */
  count: number
  refs: number
  predicate: Predicate | undefined
  bucket: Bucket | undefined
}

/** A condition: on the text at one place, or any test with the terms it needs at least. */
export interface Predicate {
  /** Tells predicates apart, for hashing. */
  readonly serial: number
  readonly kind: 'exact' | 'prefix' | 'suffix' | 'one-of' | 'test'
  /** The place; -1 for a test. */
  readonly path: number
  readonly value: string
  readonly values: ReadonlySet<string> | undefined
  readonly test: ((view: EventView) => boolean) | undefined
  /** An event for which this holds has the text of at least one of these; empty: unknown. */
  readonly entries: readonly Entry[]
  /** Where the predicate is interned: by key for `one-of` and `test`. */
  readonly key: string
  refs: number
  /** Twice the walk that answered it last, plus one where it held. */
  answer: number
}

/** The buckets at one place of an event. */
export interface PlaceEntries {
  readonly exact: Map<string, Entry>
  /** By length, so that a text is looked up once for each length in use. */
  readonly prefix: Map<number, Map<string, Entry>>
  readonly suffix: Map<number, Map<string, Entry>>
}

export interface PredicateTable {
  readonly paths: PathTable
  readonly places: (PlaceEntries | undefined)[]
  readonly byKey: Map<string, Predicate>
  serials: number
}

export function createPredicateTable(): PredicateTable {
  return { paths: createPathTable(), places: [], byKey: new Map(), serials: 0 }
}

/** The predicate of one term; counted until `releasePredicate`. */
export function termPredicate(table: PredicateTable, term: TextTerm): Predicate {
  const entry = acquireEntry(table, term)
  let { predicate } = entry
  if (predicate === undefined) {
    predicate = {
      serial: table.serials++,
      kind: entry.kind,
      path: entry.path,
      value: entry.value,
      values: undefined,
      test: undefined,
      entries: [entry],
      key: '',
      refs: 0,
      answer: 0,
    }
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
  const distinct = new Set(values)
  const key = JSON.stringify([path, ...[...distinct].sort()])
  return internPredicate(table, key, () => {
    const entries = [...distinct].map(value => acquireEntry(table, { kind: 'exact', path, value }))
    return { kind: 'one-of', path: entries[0]?.path ?? -1, values: distinct, entries }
  })
}

/** A predicate that only its test can answer; `terms` are what it needs at least one of. */
export function testPredicate(
  table: PredicateTable,
  key: string,
  make: () => { test: (view: EventView) => boolean; terms: readonly TextTerm[] },
): Predicate {
  return internPredicate(table, key, () => {
    const { test, terms } = make()
    return { kind: 'test', path: -1, test, entries: terms.map(term => acquireEntry(table, term)) }
  })
}

type PredicateParts = Pick<Predicate, 'kind' | 'path' | 'entries'> &
  Partial<Pick<Predicate, 'values' | 'test'>>

function internPredicate(
  table: PredicateTable,
  key: string,
  make: () => PredicateParts,
): Predicate {
  let predicate = table.byKey.get(key)
  if (predicate === undefined) {
    const { kind, path, entries, values, test } = make()
    predicate = {
      serial: table.serials++,
      kind,
      path,
      value: '',
      values,
      test,
      entries,
      key,
      refs: 0,
      answer: 0,
    }
    table.byKey.set(key, predicate)
  }
  predicate.refs++
  return predicate
}

/** Gives a predicate back; the last one takes it out of the table. */
export function releasePredicate(table: PredicateTable, predicate: Predicate): void {
  const isLast = --predicate.refs === 0
  if (predicate.key === '') {
    for (const entry of predicate.entries) releaseEntry(table, entry)
  } else if (isLast) {
    table.byKey.delete(predicate.key)
    for (const entry of predicate.entries) releaseEntry(table, entry)
  }
}

function acquireEntry(table: PredicateTable, { kind, path, value }: TextTerm): Entry {
  const id = acquirePath(table.paths, path)
  const place = table.places[id] ?? { exact: new Map(), prefix: new Map(), suffix: new Map() }
  table.places[id] = place
  const texts = kind === 'exact' ? place.exact : textsOfLength(place[kind], value.length)
  let entry = texts.get(value)
  if (entry === undefined) {
    entry = { kind, path: id, value, count: 0, refs: 0, predicate: undefined, bucket: undefined }
    texts.set(value, entry)
  }
  entry.refs++
  return entry
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

function releaseEntry(table: PredicateTable, entry: Entry): void {
  const { kind, path, value } = entry
  const place = table.places[path]
  if (--entry.refs === 0 && place !== undefined) {
    if (kind === 'exact') place.exact.delete(value)
    else {
      const texts = place[kind].get(value.length)
      texts?.delete(value)
      if (texts?.size === 0) place[kind].delete(value.length)
    }
    if (place.exact.size + place.prefix.size + place.suffix.size === 0) {
      table.places[path] = undefined
    }
  }
  releasePath(table.paths, path)
}

/** Whether the predicate holds for the event that the last walk read; asked once for each event. */
export function predicateHolds(
  table: PredicateTable,
  predicate: Predicate,
  view: EventView,
): boolean {
  const yes = table.paths.walk * 2 + 1
  const { answer } = predicate
  if (answer === yes) return true
  if (answer === yes - 1) return false
  const holds = evaluate(table, predicate, view)
  predicate.answer = holds ? yes : yes - 1
  return holds
}

function evaluate(table: PredicateTable, predicate: Predicate, view: EventView): boolean {
  if (predicate.test !== undefined) return predicate.test(view)
  const text = textAt(table.paths, predicate.path)
  if (text === undefined) return false
  switch (predicate.kind) {
    case 'exact':
      return text === predicate.value
    case 'prefix':
      return text.startsWith(predicate.value)
    case 'suffix':
      return text.endsWith(predicate.value)
    default:
      return predicate.values?.has(text) === true
  }
}

/** The texts for which the predicate is found at the place, or undefined where it looks elsewhere. */
export function wantedTexts(predicate: Predicate, path: number): readonly Entry[] | undefined {
  if (predicate.path !== path) return undefined
  return predicate.kind === 'exact' || predicate.kind === 'one-of' ? predicate.entries : undefined
}
