/** L1 and the readers without a group: `endOffsets`, `readAt`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { partitionOf } from '#kernel/domain/ids.ts'
import {
  inWorld,
  keyIn,
  type MakeWorld,
  record,
  records,
  textOf,
  texts,
} from './event-log-world.ts'

/** Tests of `append`, `endOffsets` and `readAt`. */
export function appendContract(makeWorld: MakeWorld): void {
  describe('append', () => {
    placementTests(makeWorld)
    contentTests(makeWorld)
  })
  describe('read', () => readTests(makeWorld))
}

function placementTests(makeWorld: MakeWorld): void {
  test('L1 answers positions in the order of the records, by the one partitioner', () =>
    inWorld(makeWorld, { a: { partitions: 3 }, b: { partitions: 1 } }, async ({ log }) => {
      const batch = [...records('a', 20), ...records('b', 3), ...records('a', 5)]
      const positions = await log.append(batch)
      assert.equal(positions.length, batch.length)
      const next = new Map<string, number>()
      for (const [at, { topic, partition, offset }] of positions.entries()) {
        const sent = batch[at]
        assert.equal(topic, sent?.topic)
        assert.equal(partition, partitionOf(sent?.key ?? '', topic === 'a' ? 3 : 1))
        const place = `${topic}/${partition}`
        assert.equal(offset, next.get(place) ?? 0, place)
        next.set(place, offset + 1)
      }
    }))

  test('L1 partitionKey chooses the partition and key stays the key', () =>
    inWorld(makeWorld, { a: { partitions: 5 } }, async ({ log }) => {
      const other = keyIn(4, 5)
      const positions = await log.append([{ ...record('a', 'k', 'v'), partitionKey: other }])
      assert.equal(positions[0]?.partition, 4)
      const [found] = await log.readAt(positions)
      assert.equal(textOf(found?.key ?? null), 'k')
    }))

  test('L1 appends made at the same time keep their order within a partition', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      const calls = Array.from({ length: 300 }, (_, at) =>
        log.append([record('a', `k${at % 7}`, String(at))]),
      )
      const positions = (await Promise.all(calls)).flat()
      for (let partition = 0; partition < 2; partition += 1) {
        const offsets = positions.filter(p => p.partition === partition).map(p => p.offset)
        assert.deepEqual(
          offsets,
          offsets.map((_, at) => at),
        )
      }
      const found = await log.readAt(positions)
      assert.deepEqual(
        found.map(each => textOf(each?.value ?? null)),
        calls.map((_, at) => String(at)),
      )
    }))

  test('L1 what was appended is there after a crash', t =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async world => {
      if (!world.crash) return t.skip('the adapter keeps nothing over a crash')
      const positions = await world.log.append(records('a', 50))
      const log = await world.crash()
      const found = await log.readAt(positions)
      assert.deepEqual(
        found.map(each => textOf(each?.value ?? null)),
        positions.map((_, at) => String(at)),
      )
    }))
}

function contentTests(makeWorld: MakeWorld): void {
  test('keeps key, value, headers and time exactly', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      const before = Date.now()
      const value = Uint8Array.from({ length: 256 }, (_, at) => at)
      const headers = { ce_type: 'com.shop.á', empty: '', traceparent: '00-1-2-01' }
      const positions = await log.append([
        { topic: 'a', key: 'ünï/2', value, headers },
        { topic: 'a', key: 'bare', value: new Uint8Array() },
      ])
      const [first, second] = await log.readAt(positions)
      assert.ok(first && second)
      assert.equal(textOf(first.key), 'ünï/2')
      assert.deepEqual(new Uint8Array(first.value ?? []), value)
      assert.deepEqual(
        Object.fromEntries(Object.entries(first.headers).map(([k, v]) => [k, textOf(v)])),
        headers,
      )
      assert.ok(Math.abs(first.timestamp - before) < 60_000, `timestamp ${first.timestamp}`)
      assert.deepEqual(Object.keys(second.headers), [])
      assert.equal(second.value?.length, 0)
    }))

  test('a tombstone is a null value, not an empty one', () =>
    inWorld(makeWorld, { a: { partitions: 1, cleanup: 'compact' } }, async ({ log }) => {
      const [found] = await log.readAt(await log.append([record('a', 'k', null)]))
      assert.equal(found?.value, null)
    }))

  test('carries a record of one mebibyte', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      const value = new Uint8Array(1024 * 1024).fill(7)
      const [found] = await log.readAt(await log.append([{ topic: 'a', key: 'k', value }]))
      assert.equal(found?.value?.length, value.length)
    }))

  test('an empty append resolves with no positions', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      assert.deepEqual(await log.append([]), [])
    }))
}

function readTests(makeWorld: MakeWorld): void {
  test('endOffsets names every partition and leaves unknown topics out', () =>
    inWorld(makeWorld, { a: { partitions: 3 }, b: { partitions: 1 } }, async ({ log }) => {
      await log.append(Array.from({ length: 4 }, () => record('a', keyIn(1, 3), 'x')))
      const ends = await log.endOffsets(['a', 'b', 'nowhere'])
      const sorted = ends.map(e => `${e.topic}/${e.partition}=${e.offset}`).sort()
      assert.deepEqual(sorted, ['a/0=0', 'a/1=4', 'a/2=0', 'b/0=0'])
    }))

  test('readAt answers in the order asked, also twice and out of order', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      const [p0, p1] = [keyIn(0, 2), keyIn(1, 2)]
      await log.append([p0, p1, p0, p1, p0].map((key, at) => record('a', key, String(at))))
      const found = await log.readAt([
        { topic: 'a', partition: 0, offset: 2 },
        { topic: 'a', partition: 1, offset: 0 },
        { topic: 'a', partition: 0, offset: 0 },
        { topic: 'a', partition: 0, offset: 2 },
      ])
      assert.deepEqual(texts(found.flatMap(each => each ?? [])), ['4', '1', '0', '4'])
    }))

  test('readAt answers undefined where there is no record', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      const [written] = await log.append([record('a', keyIn(0, 2), 'only')])
      assert.ok(written)
      const found = await log.readAt([
        { ...written, offset: 1 },
        { ...written, partition: 1 },
        { ...written, partition: 9 },
        { ...written, topic: 'nowhere' },
        written,
      ])
      assert.deepEqual(
        found.map(each => textOf(each?.value ?? null)),
        [null, null, null, null, 'only'],
      )
    }))

  test('readAt answers undefined where compaction removed a record', t =>
    inWorld(makeWorld, { a: { partitions: 1, cleanup: 'compact' } }, async world => {
      if (!world.compact) return t.skip('the adapter cannot compact on demand')
      const positions = await world.log.append([record('a', 'k', '1'), record('a', 'k', '2')])
      await world.compact('a')
      const found = await world.log.readAt(positions)
      assert.deepEqual(
        found.map(each => textOf(each?.value ?? null)),
        [null, '2'],
      )
    }))
}
