import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseLossless } from '#kernel/domain/lossless-json.ts'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import { createRecordCodec, type SchemaRegistry } from './codec.ts'
import type { TableDocument } from './generated/records.ts'
import type { SchemaJson } from './record-conversion.ts'

const document = (doc: unknown): TableDocument => ({
  tenant: 't',
  kind: 'subscription',
  id: 's-1',
  version: 3,
  deleted: false,
  updatedAt: 1_796_063_000_123,
  doc,
})

describe('record codec', () => {
  const codec = createRecordCodec()

  test('starts with a zero byte and the schema id, big-endian', () => {
    const bytes = codec.encode('table-document', document(null))
    assert.equal(bytes[0], 0)
    assert.ok(new DataView(bytes.buffer, bytes.byteOffset).getUint32(1) > 0)
  })

  test('json members keep numbers that a double cannot hold', () => {
    const doc = parseLossless('{"a":12345678901234567890,"b":[1,null]}')
    const read = codec.decode('table-document', codec.encode('table-document', document(doc)))
    assert.equal(JSON.stringify(read.doc), '{"a":12345678901234567890,"b":[1,null]}')
  })

  test('an absent json member is null', () => {
    const read = codec.decode('table-document', codec.encode('table-document', document(undefined)))
    assert.equal(read.doc, null)
  })

  test('reads plain objects that equal what was written', () => {
    const event = {
      attributes: { id: 'e', source: '/s', flag: true, count: -2_147_483_648, empty: '' },
      json: '{"n":1.50}',
      bytes: null,
      ref: { topic: 'ingress.webhook', partition: 3, offset: Number.MAX_SAFE_INTEGER - 1 },
    }
    assert.deepEqual(codec.decode('event', codec.encode('event', event)), event)
  })

  test('writes Uint8Arrays as bytes, also views into larger buffers', () => {
    const bytes = new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4)
    const event = { attributes: {}, json: null, bytes, ref: null }
    const read = codec.decode('event', codec.encode('event', event))
    assert.deepEqual([...(read.bytes ?? [])], [1, 2, 3])
  })

  test('a record larger than the scratch space is whole, and the next one too', () => {
    const large = 'x'.repeat(3_000_000)
    const first = codec.encode('table-document', document(large))
    const second = codec.encode('table-document', document('small'))
    assert.equal(codec.decode('table-document', first).doc, large)
    assert.equal(codec.decode('table-document', second).doc, 'small')
  })

  test('a value that does not fit is refused by its place, without its content', () => {
    const wrong = { ...document(1), version: 'secret' as unknown as number }
    assert.throws(
      () => codec.encode('table-document', wrong),
      error =>
        isAmbitError(error) &&
        error.code === 'internal' &&
        error.facts.pointer === '/version' &&
        !error.message.includes('secret'),
    )
  })

  test('anything else than a whole record is invalid', () => {
    const good = codec.encode('table-document', document({ a: 1 }))
    const cases = [
      new Uint8Array(),
      new Uint8Array([1, 2, 3, 4, 5, 6]),
      new TextEncoder().encode('{"specversion":"1.0"}'),
      good.subarray(0, good.length - 1),
      new Uint8Array([...good, 0]),
    ]
    for (const bytes of cases) {
      assert.throws(
        () => codec.decode('table-document', bytes),
        error => isAmbitError(error) && error.code === 'invalid',
      )
    }
  })

  test('a record of another schema is not taken for this one', () => {
    const bytes = codec.encode('table-document', document(null))
    assert.throws(() => codec.decode('usage', bytes), isAmbitError)
  })
})

describe('record codec with a registry', () => {
  const schemas = new Map<number, SchemaJson>()
  const subjects: string[] = []
  const registry: SchemaRegistry = {
    async register(subject, schema) {
      subjects.push(subject)
      schemas.set(1000 + schemas.size, schema)
      return 999 + schemas.size
    },
    async schemaOf(id) {
      const schema = schemas.get(id)
      assert.ok(schema)
      return schema
    },
  }

  test('nothing is written before the registry has given ids', () => {
    const codec = createRecordCodec({ registry })
    assert.throws(
      () => codec.encode('table-document', document(null)),
      error => isAmbitError(error) && error.code === 'not-ready',
    )
  })

  test('writes with the ids of the registry', async () => {
    const codec = createRecordCodec({ registry, subjectPrefix: 'x.' })
    await codec.ready()
    const bytes = codec.encode('table-document', document(5))
    assert.ok(new DataView(bytes.buffer, bytes.byteOffset).getUint32(1) >= 1000)
    assert.equal(codec.decode('table-document', bytes).doc, 5)
    assert.ok(subjects.includes('x.table-document-value'))
  })

  test('a newer writer is learnt from the registry, and read on the next attempt', async () => {
    const codec = createRecordCodec({ registry })
    await codec.ready()
    const bytes = Buffer.from(codec.encode('table-document', document('kept')))
    const written = schemas.get(bytes.readUInt32BE(1))
    assert.ok(written)
    schemas.set(7777, written)
    bytes.writeUInt32BE(7777, 1)
    assert.throws(
      () => codec.decode('table-document', bytes),
      error => isAmbitError(error) && error.code === 'not-ready',
    )
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(codec.decode('table-document', bytes).doc, 'kept')
  })

  test('an id that the registry does not know is refused, not waited for', async () => {
    const gone = new AmbitError('not-found', 'no such id')
    const codec = createRecordCodec({
      registry: { ...registry, schemaOf: () => Promise.reject(gone) },
    })
    await codec.ready()
    const bytes = Buffer.alloc(5)
    const hasCode = (code: string) => (error: unknown) => isAmbitError(error) && error.code === code
    assert.throws(() => codec.decode('usage', bytes), hasCode('not-ready'))
    await new Promise(resolve => setImmediate(resolve))
    assert.throws(() => codec.decode('usage', bytes), hasCode('invalid'))
  })

  test('without a registry only ids a little above ours are waited for', () => {
    const codec = createRecordCodec()
    const withId = (id: number) => Buffer.from([0, 0, 0, id >> 8, id & 255])
    const ours = Buffer.from(codec.encode('table-document', document(1))).readUInt32BE(1)
    for (const [id, code] of [
      [0, 'invalid'],
      [60_000, 'invalid'],
      [ours + 50, 'not-ready'],
    ] as const) {
      assert.throws(
        () => codec.decode('table-document', withId(id)),
        error => isAmbitError(error) && error.code === code,
      )
    }
  })
})
