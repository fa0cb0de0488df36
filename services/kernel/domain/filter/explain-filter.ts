/** What explain shows of a failing filter: the values it read, and the error where one was met. */
import type { CloudEvent } from '../event.ts'
import { isJsonObject } from '../json-scalar.ts'
import { parsePath, readPath } from './attribute-path.ts'
import type { CelCompiler } from './evaluate-filter.ts'
import type { EventView } from './event-view.ts'
import { type Filter, nestedFilters } from './filter-schema.ts'

/** Longest string shown; the rest is cut, with `…`. */
const SHOWN_LENGTH_MAX = 256
/** Largest array or object shown whole, in values. */
const SHOWN_VALUES_MAX = 64

/** The event's values at every place that the filter reads; `null` where there is none. */
export function valuesOf(
  filter: Filter,
  event: CloudEvent,
  compile: CelCompiler,
): Record<string, unknown> {
  return Object.fromEntries(
    pathsOf(filter, compile).map(([name, segments]) => [name, shown(readPath(event, segments))]),
  )
}

/** The reason of the first expression in the filter that fails on the event. */
export function failureOf(
  filter: Filter,
  view: EventView,
  compile: CelCompiler,
): string | undefined {
  if ('cel' in filter) {
    const outcome = compile(filter.cel).outcome(view.celVariables())
    if ('error' in outcome) return outcome.error
    const found = outcome.value === null ? 'null' : typeof outcome.value
    return found === 'boolean' ? undefined : `expected true or false, got a value of type ${found}`
  }
  for (const nested of nestedFilters(filter)) {
    const reason = failureOf(nested, view, compile)
    if (reason !== undefined) return reason
  }
  return undefined
}

function pathsOf(filter: Filter, compile: CelCompiler): [string, string[]][] {
  if ('cel' in filter) return celPaths(filter.cel, compile)
  const values = attributesOf(filter)
  if (values !== undefined)
    return Object.keys(values).map(path => [path, parsePath(path) ?? [path]])
  return nestedFilters(filter).flatMap(nested => pathsOf(nested, compile))
}

function attributesOf(filter: Filter) {
  if ('exact' in filter) return filter.exact
  if ('prefix' in filter) return filter.prefix
  return 'suffix' in filter ? filter.suffix : undefined
}

function celPaths(expression: string, compile: CelCompiler): [string, string[]][] {
  return compile(expression)
    .references()
    .map(path => [
      path.map(segment => segment.replaceAll(/[\\.]/g, '\\$&')).join('.'),
      path[0] === 'event' ? path.slice(1) : path,
    ])
}

function shown(value: unknown): unknown {
  if (value === undefined) return null
  if (typeof value === 'string') {
    return value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value
  }
  if (Array.isArray(value)) return isSmall(value) ? value : `(array of ${value.length})`
  if (isJsonObject(value)) return isSmall(value) ? value : '(object)'
  return value
}

/** True when the value holds few values and no long text, so that it can be shown whole. */
function isSmall(value: unknown): boolean {
  let left = SHOWN_VALUES_MAX
  const count = (item: unknown): void => {
    left -= typeof item === 'string' && item.length > SHOWN_LENGTH_MAX ? SHOWN_VALUES_MAX : 1
    if (left <= 0 || typeof item !== 'object' || item === null) return
    for (const inner of Object.values(item)) count(inner)
  }
  count(value)
  return left > 0
}
