import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import { decodeOutbox, encodeOutbox } from './outbox.ts'

const plain = (records: OutgoingRecord[]) =>
  records.map(({ value, ...rest }) => ({ ...rest, value: value && [...value] }))

it('a drain appends byte for byte what was committed', () => {
  const records: OutgoingRecord[] = [
    { topic: 'decisions', key: 'a', value: new Uint8Array(256).map((_, at) => at) },
    { topic: 'mailbox', key: 'ñ 🦊 "\\\n', partitionKey: 'b', value: new Uint8Array() },
    { topic: 'notices', key: '', value: null, headers: { ce_id: 'ü', 'x-fence': 'i 1 2 n' } },
  ]
  assert.deepEqual(plain(decodeOutbox(encodeOutbox(records))), plain(records))
})

it('a value that is a part of a larger buffer is stored alone', () => {
  const value = new Uint8Array([1, 2, 3, 4]).subarray(1, 3)
  const [record] = decodeOutbox(encodeOutbox([{ topic: 't', key: 'k', value }]))
  assert.deepEqual([...(record?.value ?? [])], [2, 3])
})

it('an empty value and a tombstone stay different', () => {
  const encoded = encodeOutbox([
    { topic: 't', key: 'k', value: new Uint8Array() },
    { topic: 't', key: 'k', value: null },
  ])
  const [empty, tombstone] = decodeOutbox(encoded)
  assert.equal(empty?.value?.length, 0)
  assert.equal(tombstone?.value, null)
})
