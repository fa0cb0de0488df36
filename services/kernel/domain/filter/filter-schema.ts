/**
 * The form of declarative filters: the dialects of the CloudEvents Subscriptions API (section
 * 3.2.4) over attributes and `data.<path>`, and `cel`. Bounds are checked here; the meaning is in
 * `compile-filters.ts`.
 */
import { z } from 'zod'
import { parsePath } from './attribute-path.ts'

/** Most filters side by side: at the top, and in one `all` or `any`. */
const FILTERS_MAX = 32
/** Deepest nesting; a filter at the top is 1 deep. */
const FILTER_DEPTH_MAX = 8
/** Most filters of one subscription, nested ones counted. */
const FILTER_NODES_MAX = 256
/** Most attributes in one `exact`, `prefix` or `suffix`. */
const FILTER_ATTRIBUTES_MAX = 32
/** Longest attribute path, in UTF-16 units. */
const FILTER_PATH_LENGTH_MAX = 512
/** Longest value to compare with, in UTF-16 units. */
const FILTER_VALUE_LENGTH_MAX = 1024
/** Longest CEL expression, in UTF-16 units. */
const CEL_LENGTH_MAX = 2048

/** Values by attribute path; all must hold. */
export type AttributeValues = Readonly<Record<string, string>>

/** One filter: an object with exactly one dialect. */
export type Filter =
  | { readonly exact: AttributeValues }
  | { readonly prefix: AttributeValues }
  | { readonly suffix: AttributeValues }
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly cel: string }

const pathSchema = z
  .string()
  .max(FILTER_PATH_LENGTH_MAX)
  .refine(path => parsePath(path) !== undefined, {
    message:
      'expected a CloudEvents attribute name (a-z, 0-9), "data" or "data.<path>" ' +
      'with dots inside keys written as \\.',
  })

function attributeValues(lengthMin: number) {
  const values = z
    .record(pathSchema, z.string().min(lengthMin).max(FILTER_VALUE_LENGTH_MAX))
    .refine(record => isBetween(Object.keys(record).length, 1, FILTER_ATTRIBUTES_MAX), {
      message: `expected 1 to ${FILTER_ATTRIBUTES_MAX} attributes`,
    })
  // A record silently drops this key, and a filter with a condition dropped takes too much.
  return z.preprocess((input, context) => {
    if (typeof input === 'object' && input !== null && Object.hasOwn(input, '__proto__')) {
      context.addIssue('expected attribute names, got "__proto__"')
    }
    return input
  }, values)
}

function isBetween(count: number, min: number, max: number): boolean {
  return count >= min && count <= max
}

const branches = z.lazy(() => z.array(filterSchema).min(1).max(FILTERS_MAX))

/** One filter; its nesting is bounded by `filtersSchema`. */
export const filterSchema: z.ZodType<Filter> = z.lazy(() =>
  z.union([
    z.strictObject({ exact: attributeValues(0) }),
    z.strictObject({ prefix: attributeValues(1) }),
    z.strictObject({ suffix: attributeValues(1) }),
    z.strictObject({ all: branches }),
    z.strictObject({ any: branches }),
    z.strictObject({ not: filterSchema }),
    z.strictObject({ cel: z.string().min(1).max(CEL_LENGTH_MAX) }),
  ]),
)

/** The filters of one subscription; all must hold. An empty list holds for every event. */
export const filtersSchema = z
  .array(filterSchema)
  .max(FILTERS_MAX)
  .superRefine((filters, context) => {
    const { depth, nodes } = measure(filters)
    if (depth > FILTER_DEPTH_MAX) {
      context.addIssue(`expected filters at most ${FILTER_DEPTH_MAX} deep, got ${depth}`)
    }
    if (nodes > FILTER_NODES_MAX) {
      context.addIssue(`expected at most ${FILTER_NODES_MAX} filters in all, got ${nodes}`)
    }
  })

/** The filters directly inside this one. */
export function nestedFilters(filter: Filter): readonly Filter[] {
  if ('all' in filter) return filter.all
  if ('any' in filter) return filter.any
  return 'not' in filter ? [filter.not] : []
}

function measure(filters: readonly Filter[]): { depth: number; nodes: number } {
  let depth = 0
  let nodes = 0
  for (const filter of filters) {
    const inner = measure(nestedFilters(filter))
    depth = Math.max(depth, inner.depth + 1)
    nodes += inner.nodes + 1
  }
  return { depth, nodes }
}
