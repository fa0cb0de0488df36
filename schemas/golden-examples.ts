/**
 * One example per record, as JSON to read and as the bytes that must never change. Bytes inside
 * an example are written `{"base64": "…"}`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRecordCodec, type RecordTypes } from './codec.ts'
import { landedSchemas } from './landed-schemas.ts'

const HOME = import.meta.dirname

/** Names of all records that have an example. */
export function goldenNames(): (keyof RecordTypes)[] {
  return readdirSync(join(HOME, 'golden'))
    .filter(file => file.endsWith('.json'))
    .map(file => file.slice(0, -'.json'.length) as keyof RecordTypes)
}

/** The example's value. */
export function goldenValue<N extends keyof RecordTypes>(record: N): RecordTypes[N] {
  const text = readFileSync(join(HOME, 'golden', `${record}.json`), 'utf8')
  return JSON.parse(text, (_key, value) =>
    typeof value?.base64 === 'string' ? Buffer.from(value.base64, 'base64') : value,
  ) as RecordTypes[N]
}

/** The example's bytes as the current schema writes them. */
export function goldenBytes(record: string): Buffer {
  return readHex(join(HOME, 'golden', `${record}.hex`))
}

/** What each landed version wrote of the example of its time. */
export function landedBytes(): { record: keyof RecordTypes; version: number; bytes: Buffer }[] {
  return landedSchemas().map(({ record, version }) => ({
    record: record as keyof RecordTypes,
    version,
    bytes: readHex(landedHex(record, version)),
  }))
}

/** Writes the bytes of all examples, and keeps those of each newly landed version. */
export function writeGoldenBytes(): void {
  const codec = createRecordCodec()
  for (const record of goldenNames()) {
    const hex = `${Buffer.from(codec.encode(record, goldenValue(record))).toString('hex')}\n`
    writeFileSync(join(HOME, 'golden', `${record}.hex`), hex)
    const last = landedSchemas().findLast(each => each.record === record)
    const file = landedHex(record, last?.version ?? 1)
    mkdirSync(join(file, '..'), { recursive: true })
    if (!existsSync(file)) writeFileSync(file, hex)
  }
}

function landedHex(record: string, version: number): string {
  return join(HOME, 'landed', record, `${version}.hex`)
}

function readHex(file: string): Buffer {
  return Buffer.from(readFileSync(file, 'utf8').trim(), 'hex')
}
