import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type { TableDocument } from '#schemas/generated/records.ts'
import { createRecordWriter } from './record-writer.ts'

const codec = createRecordCodec()
const writer = createRecordWriter(codec, 'guard')
const value: TableDocument = {
  ...{ tenant: 'acme', kind: 'agent', id: 'a', version: 1, deleted: false, updatedAt: 5 },
  doc: { name: 'ñ' },
}
const output: Output = {
  topic: 'policies',
  key: 'acme/agent/a',
  id: 'doc-1',
  tenant: 'acme',
  value,
}

describe('a record', () => {
  it('is a CloudEvent in binary mode, with an Avro value of its topic', () => {
    const { topic, key, value: bytes, headers } = writer.encode(output)
    assert.deepEqual([topic, key], ['policies', 'acme/agent/a'])
    assert.deepEqual(headers, {
      ce_specversion: '1.0',
      ce_id: 'doc-1',
      ce_source: '/ambit/guard',
      ce_type: 'ambit.table-document',
      ce_tenant: 'acme',
      'content-type': 'application/avro',
    })
    assert.deepEqual(codec.decode('table-document', bytes ?? new Uint8Array()), value)
  })
  it('carries the trace of its cause, and what the host adds', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const { headers } = writer.encode({ ...output, traceparent }, { 'x-fence': 'i 1 2 n' })
    assert.equal(headers?.ce_traceparent, traceparent)
    assert.equal(headers?.['x-fence'], 'i 1 2 n')
  })
  it('without a value is a tombstone with the same headers', () => {
    const record = writer.encode({ ...output, value: null })
    assert.equal(record.value, null)
    assert.equal(record.headers?.ce_id, 'doc-1')
  })
  it('that does not fit its schema is refused before it can be written', () => {
    const broken = { ...output, value: { ...value, version: 'one' } }
    const isRefused = (error: unknown) =>
      isAmbitError(error) && error.code === 'internal' && /version/.test(error.message)
    assert.throws(() => writer.encode(broken), isRefused)
  })
  it('is the same bytes whenever it is made again', () => {
    const [one, two] = [writer.encode(output), writer.encode(structuredClone(output))]
    assert.deepEqual(Buffer.from(one.value ?? []), Buffer.from(two.value ?? []))
  })
})
