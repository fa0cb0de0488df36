/**
 * The meaning of one filter on one event, in three values, because a filter that errors must not
 * match, inside `not` neither: `true` where some filter decides so whatever the failing one would
 * have said, like CEL's own `&&` and `||`. The order of filters therefore changes nothing.
 */
import { type CelProgram, compileCel } from '../cel.ts'
import { scalarText } from '../json-scalar.ts'
import { isAttributeName, parsePath, readPath } from './attribute-path.ts'
import type { EventView } from './event-view.ts'
import type { AttributeValues, Filter } from './filter-schema.ts'

export const NO = 0
export const YES = 1
export const FAILED = 2
export type Truth = typeof NO | typeof YES | typeof FAILED

/** One filter, ready to be asked. */
export type FilterTest = (view: EventView) => Truth

/** Compiles the expressions of `cel` filters; give a cached one where many share them. */
export type CelCompiler = (expression: string) => CelProgram

const isFilterVariable = (name: string) => name === 'event' || isAttributeName(name)

/**
 * Compiles an expression over event attributes, `data` and `event`.
 *
 * @throws AmbitError `invalid`, as `compileCel`.
 */
export function compileEventCel(expression: string): CelProgram {
  return compileCel(expression, { variables: isFilterVariable })
}

/** Makes the test of a valid filter. `compile` is asked at once for every expression in it. */
export function filterTest(filter: Filter, compile: CelCompiler): FilterTest {
  if ('exact' in filter) return attributesTest(filter.exact, (text, value) => text === value)
  if ('prefix' in filter) return attributesTest(filter.prefix, (text, v) => text.startsWith(v))
  if ('suffix' in filter) return attributesTest(filter.suffix, (text, v) => text.endsWith(v))
  if ('all' in filter) return firstOf(NO, filter.all, compile)
  if ('any' in filter) return firstOf(YES, filter.any, compile)
  if ('not' in filter) return negation(filterTest(filter.not, compile))
  const program = compile(filter.cel)
  return view => celTruth(program, view)
}

function attributesTest(
  values: AttributeValues,
  holds: (text: string, value: string) => boolean,
): FilterTest {
  const wanted = Object.entries(values).map(([path, value]) => ({
    segments: parsePath(path) ?? [path],
    value,
  }))
  return ({ event }) => {
    for (const { segments, value } of wanted) {
      const text = scalarText(readPath(event, segments))
      if (text === undefined || !holds(text, value)) return NO
    }
    return YES
  }
}

/** `all` ends at the first NO, `any` at the first YES; else a failure, else the other answer. */
function firstOf(
  ending: typeof NO | typeof YES,
  filters: readonly Filter[],
  compile: CelCompiler,
): FilterTest {
  const tests = filters.map(filter => filterTest(filter, compile))
  return view => {
    let failed = false
    for (const test of tests) {
      const truth = test(view)
      if (truth === ending) return ending
      failed ||= truth === FAILED
    }
    if (failed) return FAILED
    return ending === NO ? YES : NO
  }
}

function negation(test: FilterTest): FilterTest {
  return view => {
    const truth = test(view)
    if (truth === FAILED) return FAILED
    return truth === YES ? NO : YES
  }
}

/** What an expression says of the event; anything but `true` and `false` is a failure. */
export function celTruth(program: CelProgram, view: EventView): Truth {
  const outcome = program.outcome(view.celVariables())
  if ('error' in outcome || typeof outcome.value !== 'boolean') return FAILED
  return outcome.value ? YES : NO
}
