import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecordBatch } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createManualClock } from '#test/support/manual-clock.ts'
import { createLaneBook } from './lane-book.ts'
import type { LaneBatch, StepItem } from './step.ts'

/** A book over one partition whose work a test lets end. */
function open(more: { batchMax?: number; waitMs?: number } = {}) {
  const clock = createManualClock(0)
  const stored: number[] = []
  const begun: { lane: string; offsets: number[]; end(error?: Error): void }[] = []
  const book = createLaneBook<string>({
    clock,
    logger: silentLogger,
    offsets: { finished: async (_batch, next) => void stored.push(next), stop: async () => {} },
    commit: async () => {},
    lanes: {
      laneOf: ({ value }) => value,
      batchMax: more.batchMax ?? 2,
      waitMs: more.waitMs ?? 0,
      work: ({ items }: LaneBatch<string>) =>
        new Promise((resolve, reject) => {
          const offsets = items.map(({ record }) => record.offset)
          const end = (error?: Error) => (error ? reject(error) : resolve())
          begun.push({ lane: items[0]?.value ?? '', offsets, end })
        }),
    },
  })
  const take = (from: number, lanes: string[], isOwned = true) => {
    const records = lanes.map((_, at) => ({
      ...{ topic: 't', partition: 0, offset: from + at, timestamp: 0 },
      ...{ key: null, value: null, headers: {} },
    }))
    const items: StepItem<string>[] = records.flatMap((record, at) => {
      const value = lanes[at] ?? ''
      return value === '-' ? [] : [{ tenant: 'a', value, record }]
    })
    const batch: RecordBatch = {
      ...{ topic: 't', partition: 0, records, isOwned: () => isOwned },
      ...{ commit: async () => {}, heartbeat: async () => {} },
    }
    return book.take(batch, items)
  }
  const seen = () => begun.map(({ lane, offsets }) => `${lane}:${offsets.join()}`)
  return { clock, book, take, begun, seen, stored }
}

test('lanes run side by side, each in its order, one batch at a time (N1)', async () => {
  const { take, begun, seen, clock } = open()
  await take(0, ['a', 'b', 'a', 'a', 'a'])
  await clock.advance(0)
  assert.deepEqual(seen(), ['a:0,2', 'b:1'])
  begun[0]?.end()
  await clock.advance(0)
  assert.deepEqual(seen(), ['a:0,2', 'b:1', 'a:3,4'])
})

test('an offset is stored up to the lowest unfinished record (N2)', async () => {
  const { take, begun, stored, clock } = open()
  await take(0, ['a', 'b', '-', 'b'])
  await clock.advance(0)
  begun[1]?.end()
  await clock.advance(0)
  assert.equal(stored.at(-1), 0)
  begun[0]?.end()
  await clock.advance(0)
  assert.equal(stored.at(-1), 4)
})

test('work that fails comes again with the same records (N3)', async () => {
  const { take, begun, seen, clock } = open()
  await take(0, ['a'])
  await clock.advance(0)
  begun[0]?.end(new Error('away'))
  await clock.advance(500)
  assert.deepEqual(seen(), ['a:0', 'a:0'])
})

test('records handed over again are not worked off twice (N4)', async () => {
  const { take, seen, clock } = open()
  await take(0, ['a', 'b'])
  await take(0, ['a', 'b', 'c'])
  await clock.advance(0)
  assert.deepEqual(seen(), ['a:0', 'b:1', 'c:2'])
})

test('a partition that is gone is repeated for nobody; one that returns begins anew', async () => {
  const { book, take, begun, seen, clock } = open()
  await take(0, ['a'])
  await clock.advance(0)
  book.keep(new Set())
  begun[0]?.end(new Error('not the owner'))
  await clock.advance(10_000)
  assert.deepEqual(seen(), ['a:0'])
  await take(0, ['a'])
  await clock.advance(0)
  assert.deepEqual(seen(), ['a:0', 'a:0'])
})

test('before a hand-over work in hand ends, and none begins until it is over (N5)', async () => {
  const { book, take, begun, seen, stored, clock } = open()
  await take(0, ['a', 'a', 'a', 'b'])
  await clock.advance(0)
  let isPaused = false
  const pausing = book.pause().then(() => {
    isPaused = true
  })
  begun[0]?.end()
  await take(4, ['c'])
  await clock.advance(1000)
  assert.deepEqual([isPaused, seen()], [false, ['a:0,1', 'b:3']])
  begun[1]?.end()
  await pausing
  assert.equal(stored.at(-1), 2)
  book.keep(new Set([0]))
  await clock.advance(0)
  assert.deepEqual(seen().slice(2).sort(), ['a:2', 'c:4'])
})

test('a paused book leaves a partition that went alone, and can be stopped', async () => {
  const { book, take, begun, seen, clock } = open()
  await take(0, ['a', 'a', 'a'])
  await clock.advance(0)
  const pausing = book.pause()
  begun[0]?.end()
  await pausing
  book.keep(new Set())
  await clock.advance(1000)
  assert.deepEqual(seen(), ['a:0,1'])
  await book.pause()
  await take(2, ['a'])
  await book.stop()
  assert.deepEqual(seen(), ['a:0,1'])
})

test('a record waits a little for others of its lane', async () => {
  const { take, seen, clock } = open({ waitMs: 50, batchMax: 8 })
  await take(0, ['a'])
  await clock.advance(20)
  await take(1, ['a'])
  await clock.advance(40)
  assert.deepEqual(seen(), ['a:0,1'])
})

test('who waits for room is let go when the process stops, with nothing taken', async () => {
  const { book, take, begun, seen, stored, clock } = open()
  await take(0, new Array(1002).fill('a'))
  let isLetGo = false
  const waiting = take(1002, ['b']).then(() => {
    isLetGo = true
  })
  await clock.advance(1000)
  assert.equal(isLetGo, false)
  let isStopped = false
  const stopping = book.stop().then(() => {
    isStopped = true
  })
  begun[0]?.end()
  await clock.advance(1000)
  assert.deepEqual([isLetGo, isStopped], [true, true])
  await Promise.all([waiting, stopping])
  assert.deepEqual([seen(), stored.at(-1)], [['a:0,1'], 2])
})

test('a batch of a tenure that is over begins nothing and hides nothing (N6)', async () => {
  const { take, seen, clock, stored } = open()
  await take(10, ['late', 'late'], false)
  await take(5, ['a', 'a', 'a', 'a', 'a', 'a'])
  await clock.advance(0)
  assert.deepEqual(seen(), ['a:5,6'])
  assert.deepEqual(stored, [5])
})
