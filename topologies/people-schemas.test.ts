import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PEOPLE_SCHEMAS, type PeopleSchema, schemaPath, schemaText } from './people-schemas.ts'

const names = Object.keys(PEOPLE_SCHEMAS) as PeopleSchema[]
const examples = join(import.meta.dirname, '../schemas/json/examples')

test('every JSON schema is what the product reads with', () => {
  for (const name of names) assert.equal(readFileSync(schemaPath(name), 'utf8'), schemaText(name))
})

test('every document has an example, and every example is taken', () => {
  const files = readdirSync(examples)
  assert.deepEqual(files.map(file => file.replace('.json', '')).sort(), [...names].sort())
  for (const name of names) {
    const example: unknown = JSON.parse(readFileSync(join(examples, `${name}.json`), 'utf8'))
    const result = PEOPLE_SCHEMAS[name].safeParse(example)
    assert.ok(result.success, `${name}: ${result.error?.message}`)
  }
})
