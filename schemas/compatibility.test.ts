import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type RecordName, TOPICS } from '#topologies/topics.ts'
import { createRecordCodec } from './codec.ts'
import { staleFiles } from './generate.ts'
import { goldenBytes, goldenNames, goldenValue, landedBytes } from './golden-examples.ts'
import {
  currentSchemas,
  fingerprintOf,
  incompatibility,
  landCurrent,
  landedSchemas,
} from './landed-schemas.ts'

const codec = createRecordCodec()
const current = currentSchemas()
const landed = landedSchemas()

describe('schemas', () => {
  test('generated files are fresh', () => assert.deepEqual(staleFiles(), []))

  test('every schema has landed as it is', () => {
    for (const [record, schema] of current) {
      const last = landed.findLast(each => each.record === record)
      assert.ok(last, `${record} has not landed: run \`node schemas/generate.ts\``)
      assert.equal(fingerprintOf(schema), fingerprintOf(last.schema), `${record} has changed`)
    }
  })

  test('every schema reads what any landed version wrote', () => {
    for (const { record, version, schema } of landed) {
      const reader = current.get(record)
      assert.ok(reader, `${record} was removed, but logs may hold it`)
      assert.equal(incompatibility(reader, schema), undefined, `${record} version ${version}`)
    }
  })

  test('no id is used twice', () => {
    const ids = landed.map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length)
  })

  test('every topic of the catalogue has a schema', () => {
    for (const { record } of Object.values(TOPICS)) assert.ok(current.has(record), record)
  })
})

describe('golden examples', () => {
  test('every record has one', () => {
    assert.deepEqual([...goldenNames()].sort(), [...current.keys()].sort())
  })

  for (const record of goldenNames() satisfies RecordName[]) {
    test(`${record} is written byte by byte as before, and read back`, () => {
      const value = goldenValue(record)
      assert.equal(
        Buffer.from(codec.encode(record, value)).toString('hex'),
        goldenBytes(record).toString('hex'),
      )
      assert.deepEqual(codec.decode(record, goldenBytes(record)), value)
    })
  }

  for (const { record, version, bytes } of landedBytes()) {
    test(`${record} version ${version} is still read`, () => {
      assert.ok(codec.decode(record, bytes))
    })
  }
})

describe('landing', () => {
  const withCopy = (work: (home: string) => void) => {
    const home = mkdtempSync(join(tmpdir(), 'schemas-'))
    try {
      for (const part of ['avro', 'landed', 'ids.json']) {
        cpSync(join(import.meta.dirname, part), join(home, part), { recursive: true })
      }
      work(home)
    } finally {
      rmSync(home, { recursive: true })
    }
  }
  const addField = (home: string, field: object) => {
    const file = join(home, 'avro/usage.avsc')
    const schema = JSON.parse(readFileSync(file, 'utf8')) as { fields: object[] }
    schema.fields.push(field)
    writeFileSync(file, JSON.stringify(schema))
  }

  test('nothing lands when nothing has changed', () =>
    withCopy(home => assert.deepEqual(landCurrent(home), [])))

  test('a field with a default lands as a new version under a new id', () =>
    withCopy(home => {
      addField(home, { name: 'added', type: 'string', default: '' })
      const before = landedSchemas(home).filter(each => each.record === 'usage').length
      assert.deepEqual(landCurrent(home), [`usage/${before + 1}`])
      const ids = landedSchemas(home).map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length)
    }))

  test('a field without a default is refused', () =>
    withCopy(home => {
      addField(home, { name: 'added', type: 'string' })
      assert.throws(() => landCurrent(home), /cannot read version/)
    }))
})
