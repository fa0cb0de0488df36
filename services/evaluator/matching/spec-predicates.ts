/** A subscription's condition as predicates that must all hold. */

import { lazyProgram } from '#kernel/domain/cel-cache.ts'
import type { MatchSpec } from '#kernel/domain/filter/compile-filters.ts'
import {
  type CelCompiler,
  celTruth,
  filterTest,
  YES,
} from '#kernel/domain/filter/evaluate-filter.ts'
import { matchesSources, matchesTypes, typeReach } from '#kernel/domain/filter/event-types.ts'
import type { Filter } from '#kernel/domain/filter/filter-schema.ts'
import { globPrefix, isBareGlob } from '#kernel/domain/glob.ts'
import { celTerms } from './cel-terms.ts'
import type { Predicate, PredicateTable } from './index-shapes.ts'
import type { TextTerm } from './match-term.ts'
import { celPredicate, oneOfPredicate, termPredicate, testPredicate } from './predicate-table.ts'

/** Most terms of one `any` that are worth buckets of their own. */
const TERMS_MAX = 64

/** What turning conditions into predicates needs. */
export interface PredicateMaker {
  readonly table: PredicateTable
  /** Compiles an expression, or finds it compiled; asked only when an event needs it. */
  readonly compile: CelCompiler
}

/** The predicates of a condition; each must be released once. */
export function predicatesOf(maker: PredicateMaker, spec: MatchSpec): Predicate[] {
  const predicates: Predicate[] = []
  addTypes(maker, spec, predicates)
  if (spec.sources !== null && spec.sources !== undefined)
    addSources(maker, spec.sources, predicates)
  for (const filter of spec.filters ?? []) addFilter(maker, filter, predicates)
  return predicates
}

function addTypes({ table }: PredicateMaker, spec: MatchSpec, into: Predicate[]): void {
  const { types, ownId } = spec
  if (ownId !== undefined) {
    addOwnTypes(table, ownId, types, into)
    return
  }
  const [only] = types ?? []
  if (only !== undefined && types?.every(isPlainType)) {
    into.push(
      types.length === 1
        ? termPredicate(table, 'exact', 'type', only)
        : oneOfPredicate(table, 'type', types),
    )
    return
  }
  const key = types === null || types === undefined ? ANY_TYPE : listKey('types', types)
  into.push(
    testPredicate(table, key, () => ({
      test: ({ event }) => matchesTypes(types, event.type),
      terms: globTerms('type', types),
    })),
  )
}

const ANY_TYPE = 'types:'

/** An exact type that anyone may take who names it. */
function isPlainType(type: string): boolean {
  return !type.includes('*') && typeReach(type) !== 'own'
}

/** The subject is tested by the first predicate, so that all own triggers can share the second. */
function addOwnTypes(
  table: PredicateTable,
  ownId: string,
  types: MatchSpec['types'],
  into: Predicate[],
): void {
  into.push(termPredicate(table, 'exact', 'subject', ownId))
  into.push(
    testPredicate(table, listKey('own', types), () => ({
      test: ({ event: { type, subject } }) =>
        matchesTypes(types, type, { subject, ownId: subject }),
      terms: [],
    })),
  )
}

function addSources(
  { table }: PredicateMaker,
  sources: readonly string[],
  into: Predicate[],
): void {
  const [only] = sources
  const term = sources.length === 1 && only !== undefined ? sourceTerm(only) : undefined
  into.push(
    term === undefined
      ? testPredicate(table, listKey('sources', sources), () => ({
          test: ({ event }) => matchesSources(sources, event.source),
          terms: globTerms('source', sources),
        }))
      : termPredicate(table, term.kind, term.path, term.value),
  )
}

/** A glob that says no more than one term does. */
function sourceTerm(glob: string): TextTerm | undefined {
  const star = glob.indexOf('*')
  if (star < 0) return exactTerm('source', glob)
  const isPrefix = star > 0 && star === glob.length - 1
  return isPrefix ? { kind: 'prefix', path: 'source', value: glob.slice(0, -1) } : undefined
}

/** Keys of lists start with a word; those of filters with a brace, those of choices with a path. */
function listKey(name: string, list: readonly string[] | null | undefined): string {
  return list === null || list === undefined ? `${name}:` : `${name}:${JSON.stringify(list)}`
}

const exactTerm = (path: string, value: string): TextTerm => ({ kind: 'exact', path, value })

/** What a text that one of the globs takes has at least; none when some glob says nothing. */
function globTerms(path: string, globs: readonly string[] | null | undefined): TextTerm[] {
  if (globs === null || globs === undefined || globs.length > TERMS_MAX) return []
  const terms: TextTerm[] = []
  for (const glob of globs) {
    const value = globPrefix(glob)
    if (value === '' || isBareGlob(glob)) return []
    terms.push({ kind: value === glob ? 'exact' : 'prefix', path, value })
  }
  return terms
}

function addFilter(maker: PredicateMaker, filter: Filter, into: Predicate[]): void {
  const { table } = maker
  if ('exact' in filter) addTerms(table, 'exact', filter.exact, into)
  else if ('prefix' in filter) addTerms(table, 'prefix', filter.prefix, into)
  else if ('suffix' in filter) addTerms(table, 'suffix', filter.suffix, into)
  else if ('all' in filter) for (const inner of filter.all) addFilter(maker, inner, into)
  else {
    const choice = 'any' in filter ? exactChoice(filter.any) : undefined
    if (choice !== undefined) into.push(oneOfPredicate(table, choice.path, choice.values))
    else into.push(wholeFilter(maker, filter))
  }
}

function addTerms(
  table: PredicateTable,
  kind: TextTerm['kind'],
  values: Readonly<Record<string, string>>,
  into: Predicate[],
): void {
  for (const path of Object.keys(values)) {
    const value = values[path]
    if (value !== undefined) into.push(termPredicate(table, kind, path, value))
  }
}

/** `any` of one text at one same place. */
function exactChoice(filters: readonly Filter[]): { path: string; values: string[] } | undefined {
  const values: string[] = []
  let path: string | undefined
  for (const filter of filters) {
    if (!('exact' in filter)) return undefined
    const [at, ...others] = Object.keys(filter.exact)
    const value = at === undefined ? undefined : filter.exact[at]
    if (at === undefined || value === undefined || others.length > 0) return undefined
    path ??= at
    if (path !== at) return undefined
    values.push(value)
  }
  return path === undefined ? undefined : { path, values }
}

function wholeFilter({ table, compile }: PredicateMaker, filter: Filter): Predicate {
  if ('cel' in filter) {
    const { cel } = filter
    return celPredicate(table, cel, () => ({
      test: view => celTruth(compile(cel), view) === YES,
      terms: neededTerms(filter),
    }))
  }
  return testPredicate(table, JSON.stringify(filter), () => {
    const test = filterTest(filter, expression => lazyProgram(compile, expression))
    return { test: view => test(view) === YES, terms: neededTerms(filter) }
  })
}

/** Terms of which an event that the filter takes has at least one; empty when unknown. */
function neededTerms(filter: Filter): readonly TextTerm[] {
  if ('exact' in filter) return firstTerm('exact', filter.exact)
  if ('prefix' in filter) return firstTerm('prefix', filter.prefix)
  if ('suffix' in filter) return firstTerm('suffix', filter.suffix)
  if ('cel' in filter) return celTerms(filter.cel).slice(0, 1)
  if ('not' in filter) return []
  const inner = ('all' in filter ? filter.all : filter.any).map(neededTerms)
  if ('all' in filter) return shortest(inner)
  const terms = inner.flat()
  return inner.some(({ length }) => length === 0) || terms.length > TERMS_MAX ? [] : terms
}

function firstTerm(
  kind: TextTerm['kind'],
  values: Readonly<Record<string, string>>,
): readonly TextTerm[] {
  for (const [path, value] of Object.entries(values)) return [{ kind, path, value }]
  return []
}

/** The shortest list that says something. */
function shortest(lists: readonly (readonly TextTerm[])[]): readonly TextTerm[] {
  let best: readonly TextTerm[] = []
  for (const list of lists) {
    if (list.length > 0 && (best.length === 0 || list.length < best.length)) best = list
  }
  return best
}
