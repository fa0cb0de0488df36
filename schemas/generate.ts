/**
 * Brings everything that follows from `schemas/avro/*.avsc` up to date: the types in
 * `generated/records.ts`, the landed versions and their ids, the bytes of the golden examples.
 * Run `node schemas/generate.ts` after a schema edit. `--check` only says what is stale;
 * `--replace <record>` lands a changed schema in place of its last version, which is right only
 * while no log holds such records. A further generator is one more row of `FILES`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { landCurrent } from './landed-schemas.ts'

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

/** Files that are written as a whole, with what they should hold. */
const FILES: { file: string; text: () => string }[] = [
  {
    file: join(import.meta.dirname, 'generated/records.ts'),
    text: () => generateRecords(join(import.meta.dirname, 'avro')),
  },
]

/** Generated files that do not hold what they should. */
export function staleFiles(): string[] {
  return FILES.filter(({ file, text }) => readFileSync(file, 'utf8') !== text()).map(
    ({ file }) => file,
  )
}

async function main(args: string[]): Promise<void> {
  if (args.includes('--check')) {
    const stale = staleFiles()
    if (stale.length === 0) return
    console.error(`Stale: ${stale.join(', ')}. Run \`node schemas/generate.ts\`.`)
    process.exitCode = 1
    return
  }
  for (const { file, text } of FILES) writeFileSync(file, text())
  const replace = args.includes('--replace') ? args.slice(args.indexOf('--replace') + 1) : []
  const landed = landCurrent(import.meta.dirname, replace)
  if (landed.length > 0) console.log(`Landed ${landed.join(', ')}`)
  // Loaded late: the codec refuses to start on schemas that have not landed.
  const { writeGoldenBytes } = await import('./golden-examples.ts')
  writeGoldenBytes()
}

if (import.meta.main) await main(process.argv.slice(2))
