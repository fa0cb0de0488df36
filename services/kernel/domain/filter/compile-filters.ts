/**
 * Whether one subscription's declarative condition takes an event, and if not, why. The match
 * index decides the same for many subscriptions at once; this is the plain form that explain,
 * dry runs and the guard's second look use.
 */
import { AmbitError, isAmbitError } from '../../errors.ts'
import type { CloudEvent } from '../event.ts'
import { pointerToken } from '../json-pointer.ts'
import {
  type CelCompiler,
  compileEventCel,
  FAILED,
  type FilterTest,
  filterTest,
  YES,
} from './evaluate-filter.ts'
import { matchesSources, matchesTypes } from './event-types.ts'
import { type EventView, viewEvent } from './event-view.ts'
import { failureOf, valuesOf } from './explain-filter.ts'
import { type Filter, nestedFilters } from './filter-schema.ts'

/** The declarative condition of one subscription. */
export interface MatchSpec {
  /** `on.types`: exact or globs; omitted as in `matchesTypes`. */
  types?: readonly string[] | null | undefined
  /** `on.sources`: exact or globs; omitted matches all. */
  sources?: readonly string[] | null | undefined
  /** All must hold. */
  filters?: readonly Filter[] | null | undefined
  /**
   * The subscription's id, given only where its trigger is a schedule or an observation: it then
   * takes events whose `subject` is this id and no producer's.
   */
  ownId?: string | undefined
  /** Set only in dry runs, whose events need not come from the trigger: filters alone decide. */
  anyTrigger?: boolean | undefined
}

/** The first step that an event failed. */
export interface FilterFailure {
  /** JSON Pointer of the step in the subscription: `/on/types`, `/on/sources`, `/filters/1`. */
  filter: string
  /** The filter itself, or the list of types or sources. */
  expected: unknown
  /** The event's values at the places that the step reads, `null` where there is none. */
  actual: Record<string, unknown>
  /** Why the filter could not be evaluated, where that is the reason. */
  error?: string
}

export type MatchResult = { matched: true } | { matched: false; failed: FilterFailure }

export interface CompiledFilter {
  /** True when the event matches: the cheap answer. */
  test(event: CloudEvent): boolean
  /** The same answer with the first failing step. */
  matches(event: CloudEvent): MatchResult
}

/**
 * Compiles a condition whose form was checked by `filtersSchema`.
 *
 * @throws AmbitError `invalid` with the pointer of the expression that cannot be parsed.
 */
export function compileFilters(
  spec: MatchSpec,
  compile: CelCompiler = compileEventCel,
): CompiledFilter {
  const filters = spec.filters ?? []
  const tests = filters.map((filter, at) => compileAt(filter, `/filters/${at}`, compile))
  return {
    test(event) {
      const view = viewEvent(event)
      return triggerFailure(spec, event) === undefined && tests.every(test => test(view) === YES)
    },
    matches(event) {
      const failed =
        triggerFailure(spec, event) ?? filterFailure({ filters, tests, compile }, event)
      return failed === undefined ? { matched: true } : { matched: false, failed }
    },
  }
}

/** Compiles one filter, and when that fails says where inside it. */
function compileAt(filter: Filter, pointer: string, compile: CelCompiler): FilterTest {
  try {
    return filterTest(filter, compile)
  } catch (error) {
    if (!isAmbitError(error)) throw error
    const place = findBadCel(filter, pointer, compile)
    throw new AmbitError(error.code, error.message, { ...error.facts, pointer: place })
  }
}

function findBadCel(filter: Filter, pointer: string, compile: CelCompiler): string {
  if ('cel' in filter) return `${pointer}/cel`
  const dialect = Object.keys(filter)[0] ?? ''
  for (const [at, nested] of nestedFilters(filter).entries()) {
    const place = 'not' in filter ? `${pointer}/not` : `${pointer}/${dialect}/${pointerToken(at)}`
    try {
      filterTest(nested, compile)
    } catch {
      return findBadCel(nested, place, compile)
    }
  }
  return pointer
}

function triggerFailure(spec: MatchSpec, event: CloudEvent): FilterFailure | undefined {
  const { types, sources, ownId, anyTrigger } = spec
  const { type, source, subject } = event
  if (anyTrigger) return undefined
  if (!matchesTypes(types, type, { subject, ownId })) {
    return {
      filter: '/on/types',
      expected: ownId === undefined ? (types ?? ['*']) : { types: types ?? ['*'], subject: ownId },
      actual: ownId === undefined ? { type } : { type, subject: subject ?? null },
    }
  }
  if (matchesSources(sources, source)) return undefined
  return { filter: '/on/sources', expected: sources, actual: { source } }
}

interface Tested {
  filters: readonly Filter[]
  tests: readonly FilterTest[]
  compile: CelCompiler
}

function filterFailure(
  { filters, tests, compile }: Tested,
  event: CloudEvent,
): FilterFailure | undefined {
  const view: EventView = viewEvent(event)
  for (const [at, test] of tests.entries()) {
    const truth = test(view)
    const filter = filters[at]
    if (truth === YES || filter === undefined) continue
    const error = truth === FAILED ? failureOf(filter, view, compile) : undefined
    return {
      filter: `/filters/${at}`,
      expected: filter,
      actual: valuesOf(filter, event, compile),
      ...(error === undefined ? {} : { error }),
    }
  }
  return undefined
}
