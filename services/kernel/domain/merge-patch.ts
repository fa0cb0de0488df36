/**
 * JSON Merge Patch (RFC 7386) of a subscription: `null` removes, objects merge, everything else
 * replaces. Inside `limits`, `null` is a value, no bound, and stays.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  return merge(target, patch, false)
}

function merge(target: unknown, patch: unknown, isNullKept: boolean): unknown {
  if (!isPlainObject(patch)) return patch
  const result = new Map(isPlainObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null)
      result.set(key, merge(result.get(key), value, isNullKept || key === 'limits'))
    else if (isNullKept) result.set(key, null)
    else result.delete(key)
  }
  return Object.fromEntries(result)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
