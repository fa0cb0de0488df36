/** An object that parsed JSON gave, seen only through its own properties. */
export type JsonObject = Readonly<Record<string, unknown>>

/** True for a JSON object: not an array, not `null`, not a number kept as text. */
export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
  )
}

/**
 * The text that filters compare: a string as it is, the JSON text of a number or boolean.
 * Objects, arrays and `null` have none, so they equal no string. A number kept as its source
 * text compares by that text, so no digit is lost.
 */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return JSON.isRawJSON(value) ? value.rawJSON : undefined
}
