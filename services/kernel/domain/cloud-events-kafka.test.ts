import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CloudEvent, Kafka } from 'cloudevents'
import { AmbitError } from '../errors.ts'
import { type AvroDecoders, type KafkaEventRecord, parseKafkaEvent } from './cloud-events-kafka.ts'

const attributes = {
  id: 'o-1',
  source: '/shop',
  type: 'com.shop.placed',
  subject: 'café',
  time: '2026-01-02T03:04:05.678Z',
}
const plain = { specversion: '1.0', ...attributes }

/** What a kafkajs consumer sees of a message: every header and the value as bytes. */
function onTheWire(message: { headers: object; value?: unknown }): KafkaEventRecord {
  const headers = Object.entries(message.headers)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, Buffer.from(String(value))])
  const { value } = message
  const bytes = typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)
  return {
    headers: Object.fromEntries(headers),
    value: bytes === undefined ? null : Buffer.from(bytes),
  }
}

const binary = { ce_specversion: '1.0', ce_id: 'o-1', ce_source: '/s', ce_type: 'a.b' }
const taken = { specversion: '1.0', id: 'o-1', source: '/s', type: 'a.b' }

function refused(record: Partial<KafkaEventRecord>, decoders?: AvroDecoders) {
  try {
    parseKafkaEvent({ headers: {}, value: null, ...record }, decoders)
  } catch (error) {
    assert.ok(error instanceof AmbitError && error.status < 500, String(error))
    return error.code
  }
  return assert.fail('was taken')
}

describe('parseKafkaEvent reads what the official SDK sends', () => {
  const json = new CloudEvent({
    ...attributes,
    datacontenttype: 'application/json',
    data: { n: 1, s: 'é' },
    partitionkey: 'p',
  })
  const event = {
    ...plain,
    datacontenttype: 'application/json',
    partitionkey: 'p',
    data: { n: 1, s: 'é' },
  }

  test('in binary mode', () => {
    assert.deepEqual(parseKafkaEvent(onTheWire(Kafka.binary(json))), event)
  })

  test('in structured mode', () => {
    assert.deepEqual(parseKafkaEvent(onTheWire(Kafka.structured(json))), event)
  })

  test('in binary mode without a content type', () => {
    const bare = new CloudEvent({ ...attributes, data: { n: 1 } })
    assert.deepEqual(parseKafkaEvent(onTheWire(Kafka.binary(bare))), { ...plain, data: { n: 1 } })
  })

  test('without data', () => {
    const none = new CloudEvent(attributes)
    assert.deepEqual(parseKafkaEvent(onTheWire(Kafka.binary(none))), plain)
    assert.deepEqual(parseKafkaEvent(onTheWire(Kafka.structured(none))), plain)
  })
})

describe('parseKafkaEvent in binary mode', () => {
  test('takes plain headers and bytes, without percent-decoding', () => {
    const headers = { ...binary, ce_subject: Buffer.from('100%25 é'), 'Content-Type': 'text/plain' }
    assert.deepEqual(parseKafkaEvent({ headers, value: Buffer.from('hi') }), {
      ...taken,
      subject: '100%25 é',
      datacontenttype: 'text/plain',
      data: 'hi',
    })
    const value = Buffer.from([255])
    assert.deepEqual(parseKafkaEvent({ headers: binary, value }), { ...taken, data_base64: '/w==' })
  })

  test('refuses repeated, renamed, contradictory and missing headers', () => {
    assert.equal(refused({ headers: { ...binary, ce_id: ['1', '2'] } }), 'bad-event')
    assert.equal(refused({ headers: { ...binary, ce_Ext: 'x' } }), 'bad-event')
    assert.equal(refused({ headers: { ...binary, ce_id: Buffer.from([255]) } }), 'bad-json')
    assert.equal(refused({ headers: { ...binary, ce_data: 'x' } }), 'bad-event')
    const two = { ...binary, ce_datacontenttype: 'text/plain', 'content-type': 'image/png' }
    assert.equal(refused({ headers: two }), 'bad-event')
    assert.equal(refused({ value: Buffer.from('{"hello":"world"}') }), 'bad-event')
    assert.equal(refused({}), 'bad-event')
  })

  test('refuses what only credentials, topics and handles say', () => {
    assert.equal(refused({ headers: { ...binary, ce_tenant: 'x' } }), 'reserved-attribute')
    const type = { ...binary, ce_type: 'platform.flow.milestone' }
    assert.equal(refused({ headers: type }), 'reserved-attribute')
  })

  test('refuses data above the bound', () => {
    assert.equal(refused({ headers: binary, value: Buffer.alloc(256 * 1024 + 1) }), 'too-large')
  })

  test('gives Confluent Avro as JSON, at once or later', async () => {
    const headers = { ...binary, 'content-type': 'application/avro' }
    const record = { headers, value: Buffer.from([0, 0, 0, 0, 1, 2]) }
    const event = { ...taken, datacontenttype: 'application/json', data: { n: 1 } }
    const data = { n: 1 }
    assert.deepEqual(parseKafkaEvent(record, { decodeConfluent: () => data }), event)
    const later = { decodeConfluent: () => Promise.resolve(data) }
    assert.deepEqual(await parseKafkaEvent(record, later), event)
    assert.equal(refused(record), 'unsupported-media-type')
  })
})

describe('parseKafkaEvent in structured mode', () => {
  const headers = { 'content-type': 'Application/CloudEvents+JSON; charset=UTF-8' }

  test('lets the value decide, whatever the ce_ headers say', () => {
    const value = Buffer.from(JSON.stringify({ ...taken, data: null }))
    const both = { ...headers, ce_id: 'other', ce_tenant: 'x' }
    assert.deepEqual(parseKafkaEvent({ headers: both, value }), { ...taken, data: null })
  })

  test('refuses other formats, batches, an empty record and broken JSON', () => {
    const type = (value: string) => ({
      headers: { 'content-type': value },
      value: Buffer.from('{}'),
    })
    assert.equal(refused(type('application/cloudevents+xml')), 'unsupported-media-type')
    assert.equal(refused(type('application/cloudevents-batch+json')), 'unsupported-media-type')
    assert.equal(refused(type('application/cloudevents+avro')), 'unsupported-media-type')
    assert.equal(refused(type('application/cloudevents+json;charset=utf-16')).length > 0, true)
    assert.equal(refused({ headers }), 'bad-event')
    assert.equal(refused({ headers, value: Buffer.from('{') }), 'bad-json')
  })
})
