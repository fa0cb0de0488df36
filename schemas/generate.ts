/**
 * Writes `schemas/generated/records.ts` from `schemas/avro/*.avsc`. Run `node schemas/generate.ts`
 * after a schema edit; `--check` fails when the file is not what the schemas say.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type AvroSchema =
  | string
  | AvroSchema[]
  | ({
      type: AvroSchema
      logicalType?: string
      items?: AvroSchema
      values?: AvroSchema
    } & Partial<RecordSchema>)

interface RecordSchema {
  name: string
  doc: string
  fields: { name: string; type: AvroSchema; doc?: string; default?: unknown }[]
}

const PRIMITIVES: Record<string, string> = {
  null: 'null',
  boolean: 'boolean',
  int: 'number',
  long: 'number',
  double: 'number',
  string: 'string',
  bytes: 'Uint8Array',
}

/** The TypeScript type of a schema; records met on the way are added to `records`. */
function typeOf(schema: AvroSchema, records: Map<string, string>): string {
  if (typeof schema === 'string') return PRIMITIVES[schema] ?? schema
  if (Array.isArray(schema)) return schema.map(branch => typeOf(branch, records)).join(' | ')
  if (schema.logicalType === 'json') return 'unknown'
  if (schema.type === 'array') return `Array<${typeOf(schema.items ?? 'null', records)}>`
  if (schema.type === 'map') return `Record<string, ${typeOf(schema.values ?? 'null', records)}>`
  if (schema.type !== 'record') return typeOf(schema.type, records)
  const { name = '', doc = '', fields = [] } = schema
  if (!records.has(name)) {
    records.set(name, '')
    const lines = fields.map(field => {
      const note = field.doc ? `  /** ${field.doc} */\n` : ''
      return `${note}  ${field.name}: ${typeOf(field.type, records)}`
    })
    records.set(name, `/** ${doc} */\nexport interface ${name} {\n${lines.join('\n')}\n}\n`)
  }
  return name
}

/** The whole generated module as text. */
export function generateRecords(folder: string): string {
  const records = new Map<string, string>()
  for (const file of readdirSync(folder).sort()) {
    typeOf(JSON.parse(readFileSync(join(folder, file), 'utf8')) as AvroSchema, records)
  }
  const header = '// Generated from schemas/avro by `node schemas/generate.ts`. Do not edit.\n'
  return `${header}\n${[...records.values()].join('\n')}`
}

if (import.meta.main) {
  const target = join(import.meta.dirname, 'generated/records.ts')
  const text = generateRecords(join(import.meta.dirname, 'avro'))
  if (process.argv.includes('--check')) {
    if (readFileSync(target, 'utf8') !== text) {
      console.error('schemas/generated/records.ts is stale: run `node schemas/generate.ts`')
      process.exit(1)
    }
  } else writeFileSync(target, text)
}
