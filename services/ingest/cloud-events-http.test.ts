import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseRfc3339 } from '#kernel/domain/rfc3339.ts'
import { AmbitError } from '#kernel/errors.ts'
import { type BodyCase, bodyOf, readCases } from '#test/support/cases.ts'
import { parseHttpEvents } from './cloud-events-http.ts'

interface Line extends BodyCase {
  id: string
  why: string
  headers: Record<string, string | string[]>
  expect: { accept: boolean; events: (Record<string, unknown> | '<generated>')[] }
}

function refusal(headers: Line['headers'], body: string | Buffer, platform = false): AmbitError {
  try {
    parseHttpEvents({ headers, body: Buffer.from(body) }, { platform })
  } catch (error) {
    assert.ok(error instanceof AmbitError, String(error))
    return error
  }
  return assert.fail('was taken')
}

/** Attributes by canonical string, `time` by instant, data by value (see the case README). */
function comparable(event: Record<string, unknown>): Record<string, unknown> {
  const { data, time, ...rest } = event
  const attributes = Object.entries(rest).map(([name, value]) => [name, String(value)])
  return {
    ...Object.fromEntries(attributes),
    ...('data' in event && { data }),
    ...(time !== undefined && { time: parseRfc3339(String(time)) }),
  }
}

describe('every CloudEvents case has its right answer', () => {
  for (const line of readCases<Line>('cloudevents.jsonl')) {
    test(`${line.id} ${line.why}`, () => {
      const body = bodyOf(line)
      if (!line.expect.accept) {
        const { status } = refusal(line.headers, body)
        assert.ok(status >= 400 && status < 500)
        return
      }
      const expected = line.expect.events.map(event =>
        event === '<generated>' ? JSON.parse(body.toString()) : event,
      )
      const events = parseHttpEvents({ headers: line.headers, body })
      assert.deepEqual(events.map(comparable), expected.map(comparable))
    })
  }
})

const ce = { 'ce-specversion': '1.0', 'ce-type': 'a.b', 'ce-source': '/s', 'ce-id': '1' }
const json = { 'content-type': 'application/json' }
const batch = { 'content-type': 'application/cloudevents-batch+json' }
const structured = { 'content-type': 'application/cloudevents+json' }
const event = { specversion: '1.0', id: 'o-1', source: '/shop/eu', type: 'com.shop.placed' }

describe('parseHttpEvents', () => {
  test('refuses a header that came twice, in a list or in two spellings', () => {
    assert.equal(refusal({ ...ce, 'ce-id': ['1', '2'] }, '').facts.pointer, '/id')
    assert.equal(refusal({ ...ce, 'CE-Id': '1' }, '').facts.pointer, '/id')
    assert.equal(refusal({ ...ce, 'content-type': ['text/plain', 'text/html'] }, '').status, 400)
    const lists = Object.fromEntries(Object.entries(ce).map(([name, value]) => [name, [value]]))
    assert.equal(parseHttpEvents({ headers: lists, body: Buffer.alloc(0) }).length, 1)
  })

  test('refuses header values that are not encoded as the binding says', () => {
    for (const value of ['100%', '%zz', '%ff', 'España', '%ED%A0%80', 'a%00b']) {
      assert.equal(refusal({ ...ce, 'ce-subject': value }, '').facts.pointer, '/subject')
    }
  })

  test('refuses data smuggled through headers', () => {
    assert.equal(refusal({ ...ce, 'ce-data': 'x' }, '').code, 'bad-event')
    assert.equal(refusal({ ...ce, 'ce-data_base64': 'AA==' }, '').code, 'bad-event')
  })

  test('answers 415 to what it does not read', () => {
    const types = [
      'application/cloudevents+xml',
      'application/cloudevents',
      'application/cloudevents-batch+avro',
      'application/cloudevents+json; charset=utf-16',
      'application/json',
    ]
    for (const type of types) assert.equal(refusal({ 'content-type': type }, '{}').status, 415)
    assert.equal(refusal({}, '').status, 415)
  })

  test('takes a hundred events and refuses one more', () => {
    const events = (n: number) =>
      JSON.stringify(Array.from({ length: n }, (_, i) => ({ ...event, id: String(i) })))
    assert.equal(parseHttpEvents({ headers: batch, body: Buffer.from(events(100)) }).length, 100)
    assert.equal(refusal(batch, events(101)).status, 413)
  })

  test('points into the batch', () => {
    const body = JSON.stringify([event, { ...event, time: 'x' }])
    assert.equal(refusal(batch, body).facts.pointer, '/1/time')
    const own = JSON.stringify([event, { ...event, lineage: 'x' }])
    assert.equal(refusal(batch, own).facts.pointer, '/1/lineage')
  })

  test('keeps reserved attributes and types from producers in every form', () => {
    assert.equal(refusal({ ...ce, 'ce-tenant': 'x' }, '').status, 403)
    assert.equal(refusal({ ...ce, 'ce-type': 'time.once' }, '').status, 403)
    assert.equal(refusal(structured, JSON.stringify({ ...event, onbehalfof: 'x' })).status, 403)
    const milestone = { ...ce, 'ce-type': 'platform.flow.milestone' }
    assert.equal(refusal(milestone, '').status, 403)
    const taken = parseHttpEvents({ headers: milestone, body: Buffer.alloc(0) }, { platform: true })
    assert.equal(taken.length, 1)
  })

  test('bounds the data of one event, not the batch', () => {
    const data = 'x'.repeat(200 * 1024)
    const body = Buffer.from(JSON.stringify([event, event, event].map(e => ({ ...e, data }))))
    assert.equal(parseHttpEvents({ headers: batch, body }).length, 3)
    const over = JSON.stringify([{ ...event, data: 'x'.repeat(257 * 1024) }])
    assert.equal(refusal(batch, over).status, 413)
    const bytes = Buffer.alloc(256 * 1024 + 1)
    assert.equal(refusal({ ...ce, 'content-type': 'image/png' }, bytes).status, 413)
  })

  test('refuses JSON data that is no strict JSON, and text that is not its charset', () => {
    for (const body of ['{"a":1,"a":2}', '{', '"\\ud800"', '\ufeff{}']) {
      assert.equal(refusal({ ...ce, ...json }, body).code, 'bad-json')
    }
    const text = { ...ce, 'content-type': 'text/plain; charset=utf-8' }
    assert.equal(refusal(text, Buffer.from([0xff])).code, 'bad-json')
  })
})

describe('parseHttpEvents on payloads', () => {
  const dataOf = (type: string | undefined, body: string | Buffer) => {
    const headers = { ...ce, ...(type && { 'content-type': type }) }
    const [taken] = parseHttpEvents({ headers, body: Buffer.from(body) })
    return [taken?.data, taken?.data_base64]
  }

  test('reads each kind of payload as its type says', () => {
    assert.deepEqual(dataOf('application/vnd.a+json', '[1]'), [[1], undefined])
    assert.deepEqual(dataOf('application/json', 'null'), [null, undefined])
    assert.deepEqual(dataOf('application/xml', '<a/>'), ['<a/>', undefined])
    assert.deepEqual(dataOf('text/plain', Buffer.from([0xff])), [undefined, '/w=='])
    assert.deepEqual(dataOf('text/plain; charset=latin1', 'a'), [undefined, 'YQ=='])
    assert.deepEqual(dataOf('application/json', ''), [undefined, undefined])
    assert.deepEqual(dataOf(undefined, '{"a":1}'), [{ a: 1 }, undefined])
    assert.deepEqual(dataOf(undefined, 'hello'), [undefined, 'aGVsbG8='])
  })
})
