/**
 * Between the values that code holds and those that Avro writes: `json` fields are text on the
 * wire, bytes must be Buffers, and what is read becomes plain objects.
 */
import { parseLossless, stringifyLossless } from '#kernel/domain/lossless-json.ts'

/** A schema as JSON, as far as conversions care. */
export type SchemaJson =
  | string
  | SchemaJson[]
  | {
      type: SchemaJson
      logicalType?: string
      name?: string
      namespace?: string
      items?: SchemaJson
      values?: SchemaJson
      fields?: { name: string; type: SchemaJson }[]
    }

/** Changes one value; the value handed in stays as it is. */
export type Convert = (value: unknown) => unknown

/** Names of types, for references to types that were defined before. */
type Known = Map<string, Convert | undefined>

type Leaf = (schema: { type: SchemaJson; logicalType?: string }) => Convert | undefined

/** What a writer must change before it encodes; undefined where nothing has to change. */
export function conversionToWire(schema: SchemaJson): Convert | undefined {
  return compile(schema, { leaf: leafToWire, isPlain: true, known: new Map() })
}

/** What a reader must change after it decoded. */
export function conversionFromWire(schema: SchemaJson): Convert | undefined {
  return compile(schema, { leaf: leafFromWire, isPlain: false, known: new Map() })
}

interface Compiler {
  leaf: Leaf
  /** Records come as plain objects already. */
  isPlain: boolean
  known: Known
}

const leafToWire: Leaf = ({ type, logicalType }) => {
  if (logicalType === 'json') return stringifyLossless
  return type === 'bytes' ? toBuffer : undefined
}

const leafFromWire: Leaf = ({ logicalType }) =>
  logicalType === 'json' ? value => parseLossless(value as string) : undefined

function toBuffer(value: unknown): unknown {
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

function compile(schema: SchemaJson, compiler: Compiler): Convert | undefined {
  if (Array.isArray(schema)) return compileUnion(schema, compiler)
  if (typeof schema === 'string') {
    return compiler.known.get(schema) ?? compiler.leaf({ type: schema })
  }
  const { type, items = 'null', values = 'null' } = schema
  if (type === 'record') return compileRecord(schema, compiler)
  if (type === 'array') return eachItem(compile(items, compiler))
  if (type === 'map') return eachValue(compile(values, compiler))
  return compiler.leaf(schema)
}

/** Every union is of null and one other type, or of types that need no conversion. */
function compileUnion(branches: SchemaJson[], compiler: Compiler): Convert | undefined {
  const conversions = branches.map(branch => compile(branch, compiler)).filter(Boolean)
  const [convert] = conversions
  if (!convert) return undefined
  if (branches.length > 2 || !branches.includes('null')) {
    throw new TypeError(`Expected a union of null and one type, got ${branches.length} types`)
  }
  return value => (value === null || value === undefined ? value : convert(value))
}

function compileRecord(
  schema: Exclude<SchemaJson, string | SchemaJson[]>,
  compiler: Compiler,
): Convert | undefined {
  const { name = '', namespace, fields = [] } = schema
  const members: [string, Convert][] = []
  for (const field of fields) {
    const convert = compile(field.type, compiler)
    if (convert) members.push([field.name, convert])
  }
  const convert = members.length === 0 && compiler.isPlain ? undefined : convertMembers(members)
  compiler.known.set(name, convert)
  if (namespace) compiler.known.set(`${namespace}.${name}`, convert)
  return convert
}

function convertMembers(members: [string, Convert][]): Convert {
  return value => {
    const copy: Record<string, unknown> = { ...(value as Record<string, unknown>) }
    for (const [name, convert] of members) copy[name] = convert(copy[name])
    return copy
  }
}

function eachItem(convert: Convert | undefined): Convert | undefined {
  return convert && (value => (value as unknown[]).map(item => convert(item)))
}

function eachValue(convert: Convert | undefined): Convert | undefined {
  if (!convert) return undefined
  return value =>
    Object.fromEntries(
      Object.entries(value as Record<string, unknown>).map(([key, item]) => [key, convert(item)]),
    )
}
