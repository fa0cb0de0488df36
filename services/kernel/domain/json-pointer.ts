/** One reference token of a JSON Pointer, escaped (RFC 6901 section 3). */
export function pointerToken(key: string | number): string {
  return String(key).replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The value that a JSON Pointer names (RFC 6901 section 4); undefined where there is none. */
export function atPointer(value: unknown, pointer: string): unknown {
  if (pointer === '') return value
  let found = value
  for (const token of pointer.slice(1).split('/')) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null) return undefined
    if (Array.isArray(found) && !/^(?:0|[1-9]\d*)$/.test(key)) return undefined
    if (!Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}
