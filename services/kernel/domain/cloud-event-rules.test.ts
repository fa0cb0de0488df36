import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AmbitError, type ErrorCode } from '../errors.ts'
import { cloudEventFrom, refuseOversized, refuseReserved } from './cloud-event-rules.ts'
import { parseStrictJson } from './lossless-json.ts'

const plain = { specversion: '1.0', id: 'o-1', source: '/shop/eu', type: 'com.shop.placed' }

function refusal(run: () => unknown): AmbitError {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof AmbitError, String(error))
    return error
  }
  return assert.fail('was taken')
}

const refused = (members: unknown, pointer: string, code: ErrorCode = 'bad-event') => {
  const error = refusal(() => cloudEventFrom(members))
  assert.deepEqual([error.code, error.facts.pointer], [code, pointer], error.message)
  assert.ok(error.facts.expected && error.facts.actual)
}

describe('cloudEventFrom', () => {
  test('takes an event as sent and drops null attributes only', () => {
    const members = { ...plain, subject: null, dataschema: null, retries: -1, urgent: false }
    assert.deepEqual(cloudEventFrom(members), { ...plain, retries: -1, urgent: false })
    assert.deepEqual(cloudEventFrom({ ...plain, data: null }), { ...plain, data: null })
    assert.deepEqual(cloudEventFrom({ ...plain, data_base64: null }), plain)
    assert.deepEqual(cloudEventFrom({ ...plain, constructor: 'x' }), { ...plain, constructor: 'x' })
  })

  test('names the missing attribute', () => {
    for (const name of Object.keys(plain)) {
      refused({ ...plain, [name]: undefined }, `/${name}`)
      refused({ ...plain, [name]: null }, `/${name}`)
      refused({ ...plain, [name]: '' }, `/${name}`)
      refused({ ...plain, [name]: 1 }, `/${name}`)
    }
  })

  test('refuses values outside the type system', () => {
    const long = parseStrictJson('12345678901234567890')
    for (const value of [1.5, 2 ** 31, -(2 ** 31) - 1, {}, [], long, 'a\nb', 'a\u0085', '\ufffe']) {
      refused({ ...plain, ext: value }, '/ext')
    }
  })

  test('refuses malformed optional attributes', () => {
    const bad: [string, unknown][] = [
      ['subject', ''],
      ['time', '2023-02-29T00:00:00Z'],
      ['time', 5],
      ['dataschema', '/relative'],
      ['datacontenttype', 'json'],
      ['datacontenttype', ''],
      ['source', 'not a reference'],
      ['data_base64', 'AB'],
      ['data_base64', 'A-_='],
      ['data_base64', 'A==='],
      ['data_base64', 5],
    ]
    for (const [name, value] of bad) refused({ ...plain, [name]: value }, `/${name}`)
  })

  test('refuses names other than a-z and 0-9, with an escaped pointer', () => {
    for (const name of ['MyExt', 'my-ext', 'my_ext', '__proto__', 'é', '']) {
      refused(Object.fromEntries([...Object.entries(plain), [name, 'v']]), `/${name}`)
    }
    refused({ ...plain, 'a/b': 'v' }, '/a~1b')
  })

  test('refuses both forms of data, also when data is null', () => {
    refused({ ...plain, data: null, data_base64: 'AA==' }, '/data_base64')
  })

  test('refuses what is no object, with the place in the batch', () => {
    for (const value of [null, [], 'x', 1]) refused(value, '')
    assert.equal(refusal(() => cloudEventFrom([], '/3')).facts.pointer, '/3')
  })

  test('bounds the attributes', () => {
    refused({ ...plain, subject: 'x'.repeat(70_000) }, '/subject', 'too-large')
    const many = Array.from({ length: 70 }, (_, i) => [`x${i}`, 'x'.repeat(1000)])
    refused({ ...plain, ...Object.fromEntries(many) }, '/attributes', 'too-large')
  })

  test('never shows a value in the error', () => {
    const error = refusal(() => cloudEventFrom({ ...plain, time: 'hunter2' }))
    assert.doesNotMatch(JSON.stringify([error.message, error.facts]), /hunter2/)
  })
})

describe('refuseReserved', () => {
  const reserved = (event: Record<string, unknown>, platform = false) => {
    const error = refusal(() => refuseReserved(cloudEventFrom(event), { platform }))
    assert.equal(error.code, 'reserved-attribute')
    return error.facts.pointer
  }

  test('keeps tenant, onbehalfof and lineage to credentials and handles', () => {
    for (const name of ['tenant', 'onbehalfof', 'lineage']) {
      assert.equal(reserved({ ...plain, [name]: 'x' }), `/${name}`)
      assert.equal(reserved({ ...plain, [name]: 'x' }, true), `/${name}`)
    }
  })

  test('keeps reserved types, but two of them for the role platform', () => {
    const types = ['time.once', 'calendar.anchor', 'mcp.a.b', 'webhook.a', 'platform.run.finished']
    for (const type of types) {
      assert.equal(reserved({ ...plain, type }), '/type')
      assert.equal(reserved({ ...plain, type }, true), '/type')
    }
    for (const type of ['platform.flow.milestone', 'platform.workspace.changed']) {
      assert.equal(reserved({ ...plain, type }), '/type')
      refuseReserved(cloudEventFrom({ ...plain, type }), { platform: true })
    }
    refuseReserved(cloudEventFrom({ ...plain, type: 'timer.done' }), { platform: false })
  })
})

test('refuseOversized measures data only, and only in large bodies', () => {
  const fits = cloudEventFrom({ ...plain, data: 'x'.repeat(256 * 1024) })
  refuseOversized(fits, 2 ** 20)
  const large = cloudEventFrom({ ...plain, data: 'é'.repeat(128 * 1024 + 1) })
  assert.equal(refusal(() => refuseOversized(large, 2 ** 20, '/2')).facts.pointer, '/2/data')
  const bytes = Buffer.alloc(256 * 1024 + 3).toString('base64')
  const binary = cloudEventFrom({ ...plain, data_base64: bytes })
  assert.equal(refusal(() => refuseOversized(binary, 2 ** 20)).code, 'too-large')
  refuseOversized(cloudEventFrom(plain), 2 ** 20)
})
