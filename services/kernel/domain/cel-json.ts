/**
 * JSON as CEL sees it, without copying an event: objects become maps of their own properties,
 * read when asked, arrays become lists. JSON numbers are doubles, as CEL's own JSON mapping has
 * it (cel-spec, "JSON data conversion"); an integer kept as text because no double holds it is
 * an `int` where 64 bits do.
 */
import { type CelInput, celList, celMap, isCelList, isCelMap, isCelUint } from '@bufbuild/cel'
import { isJsonObject, type JsonObject } from './json-scalar.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n
const INTEGER = /^-?\d{1,19}$/

/** Presents a JSON value to CEL; what is not JSON becomes `null`. */
export function celFromJson(value: unknown): CelInput {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') {
    return value
  }
  if (Array.isArray(value)) return celList(value.map(celFromJson))
  if (isJsonObject(value)) return celMap(ownProperties(value))
  return JSON.isRawJSON(value) ? exactNumber(value.rawJSON) : null
}

function exactNumber(text: string): CelInput {
  if (!INTEGER.test(text)) return Number(text)
  const integer = BigInt(text)
  return integer >= INT64_MIN && integer <= INT64_MAX ? integer : Number(text)
}

type CelKey = Parameters<ReturnType<typeof celMap>['get']>[0]

/** A map over an object's own properties; arrays and objects inside are presented once. */
function ownProperties(object: JsonObject): ReadonlyMap<string, CelInput> {
  const presented = new Map<string, CelInput>()
  const get = (key: CelKey): CelInput | undefined => {
    if (typeof key !== 'string' || !Object.hasOwn(object, key)) return undefined
    const value = object[key]
    if (typeof value !== 'object' || value === null) return celFromJson(value)
    const known = presented.get(key) ?? celFromJson(value)
    presented.set(key, known)
    return known
  }
  const entries = () =>
    Object.keys(object)
      .values()
      .map(key => [key, get(key) ?? null] as [string, CelInput])
  const map: ReadonlyMap<string, CelInput> = {
    get size() {
      return Object.keys(object).length
    },
    get,
    has: key => Object.hasOwn(object, key),
    forEach: visit => {
      for (const [key, value] of entries()) visit(value, key, map)
    },
    entries,
    keys: () => Object.keys(object).values(),
    values: () => entries().map(([, value]) => value),
    [Symbol.iterator]: entries,
  }
  return map
}

/**
 * A CEL result as JSON: lists and maps become arrays and plain objects, integers become numbers
 * where a double holds them and text otherwise. Bytes, types and timestamps have no JSON form
 * here and become undefined.
 */
export function jsonFromCel(value: unknown): unknown {
  if (typeof value === 'bigint') return integerToJson(value)
  if (isCelUint(value)) return integerToJson(value.value)
  if (isCelList(value)) return Array.from(value, item => jsonFromCel(item) ?? null)
  if (isCelMap(value)) {
    const pairs = Array.from(value, ([key, item]) => [keyText(key), jsonFromCel(item) ?? null])
    return Object.fromEntries(pairs)
  }
  if (typeof value === 'object' && value !== null) return undefined
  return value
}

function integerToJson(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function keyText(key: unknown): string {
  return isCelUint(key) ? String(key.value) : String(key)
}
