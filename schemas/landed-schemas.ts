/**
 * Every schema that ever wrote a record, so that old records stay readable. `ids.json` gives
 * each a number for logs without a registry; numbers are never used again.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import avsc from 'avsc'
import type { SchemaJson } from './record-conversion.ts'

/** One version of one record's schema. */
export interface LandedSchema {
  record: string
  version: number
  /** Schema id in the wire format, where no registry gives another. */
  id: number
  schema: SchemaJson
}

interface IdRow {
  version: number
  id: number
  /** SHA-256 of Avro's parsing canonical form, in hex. */
  fingerprint: string
}

type IdTable = Record<string, IdRow[]>

const HOME = import.meta.dirname

/** The schemas that this version of the product reads and writes, by record name. */
export function currentSchemas(home = HOME): Map<string, SchemaJson> {
  const folder = join(home, 'avro')
  const names = readdirSync(folder).filter(file => file.endsWith('.avsc'))
  return new Map(
    names.sort().map(file => [file.slice(0, -'.avsc'.length), readJson(join(folder, file))]),
  )
}

/** All landed versions, oldest first per record. */
export function landedSchemas(home = HOME): LandedSchema[] {
  return Object.entries(readIds(home)).flatMap(([record, rows]) =>
    rows.map(({ version, id }) => ({
      record,
      version,
      id,
      schema: readJson<SchemaJson>(landedFile(home, record, version)),
    })),
  )
}

/** An Avro type without wrapped unions: `null` or the value itself. */
export function avroType(schema: SchemaJson): avsc.Type {
  return avsc.Type.forSchema(structuredClone(schema) as avsc.Schema, {
    wrapUnions: 'never',
    omitRecordMethods: true,
  })
}

/** What the bytes look like; documentation and defaults do not count. */
export function fingerprintOf(schema: SchemaJson): string {
  return avroType(schema).fingerprint('sha256').toString('hex')
}

/** Why a reader cannot read what a writer wrote, or undefined when it can. */
export function incompatibility(reader: SchemaJson, writer: SchemaJson): string | undefined {
  try {
    avroType(reader).createResolver(avroType(writer))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * Lands the current schemas that have changed and answers `record/version` of each. `replace`
 * puts them in the place of the last landed version: only for schemas that no log holds yet.
 *
 * @throws Error when a current schema cannot read what a landed one wrote.
 */
export function landCurrent(home = HOME, replace: readonly string[] = []): string[] {
  const ids = readIds(home)
  const landed: string[] = []
  for (const [record, schema] of currentSchemas(home)) {
    const rows = ids[record] ?? []
    ids[record] = rows
    const fingerprint = fingerprintOf(schema)
    const last = rows.at(-1)
    if (last?.fingerprint === fingerprint) continue
    if (last && replace.includes(record)) {
      last.fingerprint = fingerprint
      rmSync(landedFile(home, record, last.version).replace(/avsc$/, 'hex'), { force: true })
    } else {
      assertReadable(home, record, { schema, rows })
      rows.push({ version: rows.length + 1, id: nextId(ids), fingerprint })
    }
    const { version } = rows.at(-1) ?? { version: 1 }
    const file = landedFile(home, record, version)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`)
    landed.push(`${record}/${version}`)
  }
  if (landed.length > 0) writeFileSync(idsFile(home), `${JSON.stringify(ids, null, 2)}\n`)
  return landed
}

function assertReadable(
  home: string,
  record: string,
  { schema, rows }: { schema: SchemaJson; rows: IdRow[] },
): void {
  for (const { version } of rows) {
    const reason = incompatibility(schema, readJson(landedFile(home, record, version)))
    if (!reason) continue
    throw new Error(
      `schemas/avro/${record}.avsc cannot read version ${version}: ${reason}. ` +
        'Give new fields a default and keep old ones; or, while no log holds such records, ' +
        `run \`node schemas/generate.ts --replace ${record}\`.`,
    )
  }
}

function nextId(ids: IdTable): number {
  return 1 + Math.max(0, ...Object.values(ids).flatMap(rows => rows.map(({ id }) => id)))
}

function readIds(home: string): IdTable {
  return existsSync(idsFile(home)) ? readJson(idsFile(home)) : {}
}

function idsFile(home: string): string {
  return join(home, 'ids.json')
}

function landedFile(home: string, record: string, version: number): string {
  return join(home, 'landed', record, `${version}.avsc`)
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T
}
