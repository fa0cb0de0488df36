import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import avsc from 'avsc'
import { parseKafkaEvent } from '#kernel/domain/cloud-events-kafka.ts'
import { AmbitError } from '#kernel/errors.ts'
import { avroEventMembers } from './avro-events.ts'

/** The schema as the specification prints it, so that the reader is not the judge. */
const specified = avsc.Type.forSchema(
  JSON.parse(`{
  "namespace": "io.cloudevents", "type": "record", "name": "CloudEvent", "fields": [
    {"name": "attribute",
     "type": {"type": "map", "values": ["null", "boolean", "int", "string", "bytes"]}},
    {"name": "data", "type": ["bytes", "null", "boolean",
      {"type": "map", "values": ["null", "boolean",
        {"type": "record", "name": "CloudEventData", "fields": [
          {"name": "value", "type": {"type": "map", "values": ["null", "boolean",
            {"type": "map", "values": "CloudEventData"},
            {"type": "array", "items": "CloudEventData"}, "double", "string"]}}]},
        "double", "string"]},
      {"type": "array", "items": "CloudEventData"}, "double", "string"]}]}`),
  { wrapUnions: 'always' },
)

const required = {
  specversion: { string: '1.0' },
  id: { string: 'o-1' },
  source: { string: '/shop' },
  type: { string: 'com.shop.placed' },
}
const plain = { specversion: '1.0', id: 'o-1', source: '/shop', type: 'com.shop.placed' }

const encode = (data: unknown, more: object = {}) =>
  specified.toBuffer({ attribute: { ...required, ...more }, data })

const read = (bytes: Buffer) =>
  parseKafkaEvent(
    { headers: { 'content-type': 'application/cloudevents+avro' }, value: bytes },
    { decodeEvent: avroEventMembers },
  )

const refused = (bytes: Buffer) => {
  try {
    read(bytes)
  } catch (error) {
    assert.ok(error instanceof AmbitError && error.status < 500, String(error))
    return error.code
  }
  return assert.fail('was taken')
}

describe('avroEventMembers', () => {
  test('reads attributes of every type', () => {
    const more = {
      retries: { int: -3 },
      urgent: { boolean: true },
      digest: { bytes: Buffer.from([0, 255]) },
      subject: null,
    }
    const event = { ...plain, retries: -3, urgent: true, digest: 'AP8=' }
    assert.deepEqual(read(encode(null, more)), event)
  })

  test('reads data of every branch as JSON', () => {
    const nested = { value: { deep: { string: 'x' }, list: { array: [{ value: {} }] }, no: null } }
    const data = {
      map: {
        total: { double: 12.5 },
        ok: { boolean: true },
        none: null,
        customer: { 'io.cloudevents.CloudEventData': nested },
      },
    }
    const json = {
      total: 12.5,
      ok: true,
      none: null,
      customer: { deep: 'x', list: [{}], no: null },
    }
    assert.deepEqual(read(encode(data)), { ...plain, data: json })
    const list = [{ value: { a: { map: { b: { value: { c: { double: 1 } } } } } } }]
    assert.deepEqual(read(encode({ array: list })), { ...plain, data: [{ a: { b: { c: 1 } } }] })
    assert.deepEqual(read(encode({ string: 'text' })), { ...plain, data: 'text' })
    assert.deepEqual(read(encode({ boolean: false })), { ...plain, data: false })
  })

  test('reads bytes by the content type, so JSON as JSON', () => {
    const typed = (bytes: string, datacontenttype: string) =>
      read(encode({ bytes: Buffer.from(bytes) }, { datacontenttype: { string: datacontenttype } }))
    const json = { datacontenttype: 'application/json', data: { n: 1 } }
    assert.deepEqual(typed('{"n":1}', 'application/json'), { ...plain, ...json })
    const png = { datacontenttype: 'image/png', data_base64: 'eA==' }
    assert.deepEqual(typed('x', 'image/png'), { ...plain, ...png })
  })
})

describe('avroEventMembers on hostile bytes', () => {
  test('refuses what is no such event, and never crashes', () => {
    const good = encode({ string: 'text' })
    for (let end = 0; end < good.length; end += 1) {
      assert.equal(refused(good.subarray(0, end)), 'bad-event')
    }
    assert.equal(refused(Buffer.concat([good, Buffer.from([0])])), 'bad-event')
    assert.equal(refused(Buffer.from('{"specversion":"1.0"}')), 'bad-event')
    assert.equal(refused(encode({ double: Number.NaN })), 'bad-event')
    assert.equal(refused(encode(null, { tenant: { string: 'x' } })), 'reserved-attribute')
    assert.equal(refused(encode(null, { data: { string: 'x' } })), 'bad-event')
  })

  test('refuses announced lengths and counts that are not there, at once', () => {
    const billion = [0xfe, 0xff, 0xff, 0xff, 0x0f]
    const began = performance.now()
    for (const hostile of [billion, [0xff, 0xff, 0xff, 0xff, 0x0f, 2], [2, ...billion]]) {
      assert.equal(refused(Buffer.from([...hostile, 0, 0, 0, 0])), 'bad-event')
    }
    assert.equal(refused(Buffer.alloc(64, 0xff)), 'bad-event')
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, null]))
    assert.equal(refused(encode({ map: many })), 'bad-event')
    assert.ok(performance.now() - began < 1000)
  })

  test('keeps a key __proto__ as data and refuses the same key twice', () => {
    const name = Buffer.from('__proto__')
    const field = Buffer.from([2 * name.length, ...name, 2, 1])
    const head = encode(null).subarray(0, -1)
    const event = read(Buffer.concat([head, Buffer.from([6, 2]), field, Buffer.from([0])]))
    assert.ok(!(event instanceof Promise))
    assert.equal(JSON.stringify(event.data), '{"__proto__":true}')
    const twice = Buffer.concat([head, Buffer.from([6, 4]), field, field, Buffer.from([0])])
    assert.equal(refused(twice), 'bad-event')
  })

  test('refuses deep nesting', () => {
    let value: object = { value: {} }
    for (let depth = 0; depth < 100; depth += 1) value = { value: { a: { array: [value] } } }
    assert.equal(refused(encode({ array: [value] })), 'bad-event')
    // Arrays of one record whose map has one entry `a` that is an array, for ever.
    const level = Buffer.from([2, 2, 2, 97, 6])
    const bytes = [encode(null).subarray(0, -1), Buffer.from([8]), ...Array(40_000).fill(level)]
    assert.equal(refused(Buffer.concat(bytes)), 'bad-event')
  })
})
