import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { isAmbitError } from '#kernel/errors.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { goldenNames, goldenValue } from '#schemas/golden-examples.ts'
import type { SchemaJson } from '#schemas/record-conversion.ts'
import { liveInfra, skipWithoutInfra } from '#test/support/live-infra.ts'
import { createSchemaRegistry } from './schema-registry.ts'

const schemaOf = (fields: object[]): SchemaJson =>
  ({ type: 'record', name: 'Probe', namespace: 'ambit', fields }) as SchemaJson

const text = { name: 'a', type: 'string' }

describe('schema registry', { skip: skipWithoutInfra }, () => {
  const url = () => liveInfra().AMBIT_SCHEMA_REGISTRY_URL
  const prefix = `test-${randomBytes(4).toString('hex')}.`

  test('the codec round trips with its ids, and a second one agrees on them', async () => {
    const [one, two] = [0, 1].map(() =>
      createRecordCodec({ registry: createSchemaRegistry({ url: url() }), subjectPrefix: prefix }),
    )
    assert.ok(one && two)
    await Promise.all([one.ready(), two.ready()])
    for (const record of goldenNames()) {
      const bytes: Uint8Array = one.encode(record, goldenValue(record))
      assert.deepEqual(bytes, two.encode(record, goldenValue(record)))
      assert.deepEqual(two.decode(record, bytes), goldenValue(record))
    }
  })

  test('a subject is set to BACKWARD', async () => {
    const subject = `${prefix}set-value`
    await createSchemaRegistry({ url: url() }).register(subject, schemaOf([text]))
    const config = await (await fetch(`${url()}/config/${subject}`)).json()
    assert.deepEqual(config, { compatibilityLevel: 'BACKWARD' })
  })

  test('a compatible version gets another id, the same schema the same id', async () => {
    const subject = `${prefix}evolve-value`
    const registry = createSchemaRegistry({ url: url() })
    const next = schemaOf([text, { name: 'b', type: 'int', default: 0 }])
    const first = await registry.register(subject, schemaOf([text]))
    const second = await registry.register(subject, next)
    assert.notEqual(second, first)
    assert.equal(
      await createSchemaRegistry({ url: url() }).register(subject, schemaOf([text])),
      first,
    )
    assert.deepEqual(await registry.schemaOf(second), next)
  })

  test('an incompatible version is refused as a conflict', async () => {
    const subject = `${prefix}refuse-value`
    const registry = createSchemaRegistry({ url: url() })
    await registry.register(subject, schemaOf([text]))
    await assert.rejects(
      registry.register(subject, schemaOf([text, { name: 'b', type: 'int' }])),
      error => isAmbitError(error) && error.code === 'conflict',
    )
  })

  test('an id that nobody registered is not found', async () => {
    await assert.rejects(
      createSchemaRegistry({ url: url() }).schemaOf(987_654_321),
      error => isAmbitError(error) && error.code === 'not-found',
    )
  })
})

test('a registry that is away is reported as such', async () => {
  const registry = createSchemaRegistry({ url: 'http://127.0.0.1:1' })
  await assert.rejects(
    registry.schemaOf(1),
    error => isAmbitError(error) && error.code === 'log-unavailable',
  )
})
