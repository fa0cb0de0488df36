/**
 * How a filter names a value of an event: a CloudEvents attribute (`type`, `subject`, an
 * extension), `data` itself, or a place inside it, `data.order.lines.0.sku`. Segments are
 * separated by dots; a dot or backslash inside a key is written `\.` or `\\`. A segment of
 * digits is an index where the value is an array, and a key where it is an object.
 */
import type { CloudEvent } from '../event.ts'

/** Most segments of one path; event data is at most 64 deep. */
const PATH_SEGMENTS_MAX = 64

const ATTRIBUTE_NAME = /^[a-z0-9]{1,64}$/
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,8})$/

/** True for a name that CloudEvents 1.0.2 allows an attribute to have. */
export function isAttributeName(name: string): boolean {
  return ATTRIBUTE_NAME.test(name)
}

/** Splits a path into its segments; undefined when it is not a path. */
export function parsePath(path: string): string[] | undefined {
  const segments = splitPath(path)
  if (segments === undefined || segments.length > PATH_SEGMENTS_MAX) return undefined
  const [head, ...rest] = segments
  if (head === undefined || !isAttributeName(head)) return undefined
  if (rest.length > 0 && (head !== 'data' || rest.includes(''))) return undefined
  return segments
}

function splitPath(path: string): string[] | undefined {
  if (!path.includes('\\')) return path.split('.')
  const segments: string[] = []
  let segment = ''
  for (let at = 0; at < path.length; at++) {
    const char = path.charAt(at)
    if (char === '.') {
      segments.push(segment)
      segment = ''
    } else if (char === '\\') {
      const escaped = path.charAt(++at)
      if (escaped !== '.' && escaped !== '\\') return undefined
      segment += escaped
    } else segment += char
  }
  segments.push(segment)
  return segments
}

/**
 * One step down: the own property of an object, or the element of an array. Inherited names
 * (`constructor`, `length`, …) do not exist unless the sender wrote them.
 */
function childOf(value: unknown, segment: string): unknown {
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return undefined
  if (Array.isArray(value)) return ARRAY_INDEX.test(segment) ? value[Number(segment)] : undefined
  return Object.hasOwn(value, segment) ? Reflect.get(value, segment) : undefined
}

/** The value at the path, or undefined where the event has none. */
export function readPath(event: CloudEvent, segments: readonly string[]): unknown {
  let value: unknown = event
  for (const segment of segments) {
    value = childOf(value, segment)
    if (value === undefined) return undefined
  }
  return value
}
