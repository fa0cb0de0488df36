/** JSON Merge Patch (RFC 7386): `null` removes, objects merge, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const result = new Map(isPlainObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    // In a subscription `null` is a value (no bound), so it is kept where the member is nullable;
    // the schema removes nothing it does not know.
    if (value === null) result.set(key, null)
    else result.set(key, mergePatch(result.get(key), value))
  }
  return Object.fromEntries(result)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
