import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogRecord } from '../../ports/event-log.ts'
import type { Chunk } from './log-record.ts'
import { createRecordPump } from './record-pump.ts'

const logger = { debug() {}, info() {}, warn() {} }

function chunk(from: number, count: number, next = from + count): Chunk {
  const records = Array.from({ length: count }, (_, at): LogRecord => {
    const offset = from + at
    return { topic: 't', partition: 0, offset, timestamp: 1, key: null, value: null, headers: {} }
  })
  return { topic: 't', partition: 0, records, next, bytes: 10 * count }
}

function start(batchMax: number, deliver: (offsets: number[]) => void | Promise<void>) {
  const passed: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const until = { next: Number.POSITIVE_INFINITY }
  const pump = createRecordPump({
    batchMax,
    logger,
    deliver: records => deliver(records.map(record => record.offset)),
    onDelivered(_topic, _partition, next) {
      passed.push(next)
      if (next >= until.next) resolve()
    },
  })
  const reach = (next: number) => {
    until.next = next
    if ((passed.at(-1) ?? 0) >= next) resolve()
    return promise
  }
  return { pump, passed, reach }
}

test('joins small chunks and cuts large ones, in order', async () => {
  const batches: number[][] = []
  const { pump, reach } = start(4, offsets => {
    batches.push(offsets)
  })
  for (const each of [chunk(0, 1), chunk(1, 2), chunk(3, 6), chunk(9, 1)]) pump.push(each)
  await reach(10)
  assert.deepEqual(batches, [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
    [8, 9],
  ])
})

test('a gap advances without a delivery', async () => {
  const batches: number[][] = []
  const { pump, passed, reach } = start(10, offsets => {
    batches.push(offsets)
  })
  pump.push(chunk(0, 0, 7))
  pump.push(chunk(7, 1, 20))
  await reach(20)
  assert.deepEqual([batches, passed], [[[7]], [7, 20]])
})

test('never delivers twice at the same time, also when pushed from a delivery', async () => {
  let running = 0
  let most = 0
  const { pump, reach } = start(1, async ([offset = 0]) => {
    running += 1
    most = Math.max(most, running)
    if (offset < 5) pump.push(chunk(offset + 1, 1))
    await new Promise(resolve => setImmediate(resolve))
    running -= 1
  })
  pump.push(chunk(0, 1))
  await reach(6)
  assert.equal(most, 1)
})

test('a chunk pushed at the very moment the queue runs dry is delivered', async () => {
  for (let depth = 0; depth < 12; depth += 1) {
    const seen: number[] = []
    const { pump, reach } = start(10, offsets => {
      seen.push(...offsets)
      // Reaches every microtask between the end of this delivery and the end of the run.
      let waiting = Promise.resolve()
      for (let step = 0; step < depth; step += 1) waiting = waiting.then(() => {})
      if (offsets.includes(0)) void waiting.then(() => pump.push(chunk(1, 1)))
    })
    pump.push(chunk(0, 1))
    await reach(2)
    assert.deepEqual(seen, [0, 1])
  }
})

test('stop waits for the delivery in hand, and nothing follows', async () => {
  const { promise: held, resolve: open } = Promise.withResolvers<void>()
  const steps: string[] = []
  const { pump } = start(1, async ([offset]) => {
    steps.push(`begin ${offset}`)
    await held
    steps.push(`end ${offset}`)
  })
  pump.push(chunk(0, 3))
  await new Promise(resolve => setImmediate(resolve))
  const stopping = pump.stop().then(() => steps.push('stopped'))
  open()
  await stopping
  pump.push(chunk(3, 1))
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(steps, ['begin 0', 'end 0', 'stopped'])
})

test('stop does not wait for the next attempt at a refused batch', async () => {
  let attempts = 0
  const { pump } = start(1, () => {
    attempts += 1
    throw new Error('no')
  })
  pump.push(chunk(0, 1))
  await new Promise(resolve => setImmediate(resolve))
  await pump.stop()
  assert.equal(attempts, 1)
})

test('is full when enough waits, and has room again after deliveries', async () => {
  const { promise: held, resolve: open } = Promise.withResolvers<void>()
  const { pump, reach } = start(5, () => held)
  for (let at = 0; at < 10; at += 1) pump.push(chunk(at * 5, 5))
  assert.ok(pump.isFull())
  open()
  await reach(50)
  assert.ok(!pump.isFull())
})
