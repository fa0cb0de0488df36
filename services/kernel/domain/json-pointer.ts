/** One reference token of a JSON Pointer, escaped (RFC 6901 section 3). */
export function pointerToken(key: string | number): string {
  return String(key).replaceAll('~', '~0').replaceAll('/', '~1')
}
