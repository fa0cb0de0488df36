/** Reads producers' Avro values in the Confluent wire format by the schema their id names. */
import { createContext, Script } from 'node:vm'
import avro from 'avsc'
import { AmbitError } from '#kernel/errors.ts'

/**
 * Longest decoding of one value, ms. avsc goes on past the end of the bytes while a block says
 * that items follow, so a few hostile bytes could keep it busy for minutes.
 */
const DECODE_MS_MAX = 100
const HEADER_BYTES = 5
const TYPES_MAX = 1000

/** Decodes to JSON values; rejects with `bad-event` what does not fit its schema. */
export function createConfluentDecoder(
  schemaOf: (id: number) => Promise<unknown>,
): (bytes: Uint8Array) => Promise<unknown> {
  const types = new Map<number, avro.Type>()
  const context = createContext({ decode: () => undefined })
  const script = new Script('decode()')
  return async bytes => {
    const buffer = Buffer.from(bytes)
    if (buffer.length < HEADER_BYTES || buffer[0] !== 0) {
      throw new AmbitError('bad-event', 'Expected Avro in the Confluent wire format (byte 0, id).')
    }
    const type = await typeOf(types, buffer.readUInt32BE(1), schemaOf)
    context.decode = () => type.fromBuffer(buffer.subarray(HEADER_BYTES))
    try {
      return JSON.parse(type.toString(script.runInContext(context, { timeout: DECODE_MS_MAX })))
    } catch (cause) {
      throw new AmbitError('bad-event', 'The Avro value does not fit the schema that it names.', {
        cause,
      })
    }
  }
}

async function typeOf(
  types: Map<number, avro.Type>,
  id: number,
  schemaOf: (id: number) => Promise<unknown>,
): Promise<avro.Type> {
  const known = types.get(id)
  if (known) return known
  const schema = await schemaOf(id)
  const type = avro.Type.forSchema(schema as avro.Schema, { wrapUnions: 'never' })
  if (types.size >= TYPES_MAX) types.clear()
  types.set(id, type)
  return type
}
