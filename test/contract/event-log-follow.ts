/** L5: `follow` from every start, the barrier, retries, compaction, stop. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAmbitError } from '#kernel/errors.ts'
import type { EventLog, Following, FollowOptions, LogRecord } from '#kernel/ports/event-log.ts'
import {
  assertOrdered,
  gate,
  inWorld,
  keyIn,
  type MakeWorld,
  record,
  records,
  textOf,
  texts,
  until,
} from './event-log-world.ts'

/** Tests of `follow` and `barrier`. */
export function followContract(makeWorld: MakeWorld): void {
  describe('follow', () => {
    startTests(makeWorld)
    positionTests(makeWorld)
    barrierTests(makeWorld)
    deliveryTests(makeWorld)
    compactionTests(makeWorld)
  })
}

type Start = Omit<FollowOptions, 'onRecords'>

async function collect(
  log: EventLog,
  start: Start,
): Promise<{ got: LogRecord[]; following: Following }> {
  const got: LogRecord[] = []
  const following = await log.follow({
    ...start,
    onRecords: list => {
      got.push(...list)
    },
  })
  return { got, following }
}

function startTests(makeWorld: MakeWorld): void {
  test('L5 from the beginning: everything in order, then what comes', () =>
    inWorld(makeWorld, { a: { partitions: 3 }, b: { partitions: 1 } }, async ({ log }) => {
      await log.append([...records('a', 50), ...records('b', 5)])
      const { got, following } = await collect(log, { topics: ['a', 'b'], from: 'beginning' })
      await following.barrier()
      assert.equal(got.length, 55)
      await log.append(records('a', 10))
      await following.barrier()
      assert.equal(got.length, 65)
      assertOrdered(got)
    }))

  test('L5 from the end: only what is appended after follow resolved', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      await log.append(records('a', 20))
      const { got, following } = await collect(log, { topics: ['a'], from: 'end' })
      await log.append([record('a', 'x', 'new'), record('a', 'y', 'new')])
      await following.barrier()
      assert.deepEqual(texts(got), ['new', 'new'])
    }))

  test('L5 followers see everything each, whatever else reads', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      await log.append(records('a', 20))
      const one = await collect(log, { topics: ['a'], from: 'beginning' })
      const two = await collect(log, { topics: ['a'], from: 'beginning' })
      await Promise.all([one.following.barrier(), two.following.barrier()])
      assert.deepEqual([one.got.length, two.got.length], [20, 20])
    }))

  test('withExtIngress follows outside producers, also topics created later', () =>
    inWorld(makeWorld, { 'ingress.ext.t1': { partitions: 1 } }, async ({ log, createTopic }) => {
      await log.append(records('ingress.ext.t1', 2))
      const { got } = await collect(log, { topics: [], withExtIngress: true, from: 'beginning' })
      await until('the first tenant', () => got.length >= 2)
      await createTopic('ingress.ext.t2', { partitions: 1 })
      await log.append(records('ingress.ext.t2', 3))
      await until('the new tenant', () => got.length >= 5)
      assertOrdered(got)
    }))
}

function positionTests(makeWorld: MakeWorld): void {
  test('L5 from offsets; partitions without one start at the beginning', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      const [p0, p1] = [keyIn(0, 2), keyIn(1, 2)]
      await log.append([p0, p0, p0, p1].map((key, at) => record('a', key, String(at))))
      const { got, following } = await collect(log, {
        topics: ['a'],
        from: { offsets: [{ topic: 'a', partition: 0, offset: 2 }] },
      })
      await following.barrier()
      assert.deepEqual(texts(got).sort(), ['2', '3'])
    }))

  test('L5 from offsets at the end waits for what comes', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 4))
      const { got, following } = await collect(log, {
        topics: ['a'],
        from: { offsets: await log.endOffsets(['a']) },
      })
      await following.barrier()
      assert.equal(got.length, 0)
      await log.append([record('a', 'k', 'new')])
      await following.barrier()
      assert.deepEqual(texts(got), ['new'])
    }))

  test('L5 sinceMs starts at records of that instant or later', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      await log.append(records('a', 10))
      await sleep(20)
      const positions = await log.append([record('a', 'x', 'late'), record('a', 'y', 'late')])
      const [late] = await log.readAt(positions)
      assert.ok(late)
      const since = late.timestamp - 5
      const { got, following } = await collect(log, { topics: ['a'], from: { sinceMs: since } })
      await following.barrier()
      assert.deepEqual(texts(got), ['late', 'late'])
    }))

  test('L5 sinceMs in the future delivers what is appended from now on', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 3))
      await sleep(20)
      const { got, following } = await collect(log, {
        topics: ['a'],
        from: { sinceMs: Date.now() + 1000 },
      })
      await log.append([record('a', 'k', 'new')])
      await following.barrier()
      assert.ok(got.every(each => textOf(each.value) === 'new'))
    }))

  test('only the partitions asked for are delivered', () =>
    inWorld(makeWorld, { a: { partitions: 3 } }, async ({ log }) => {
      await log.append([0, 1, 2].map(at => record('a', keyIn(at, 3), String(at))))
      const { got, following } = await collect(log, {
        topics: ['a'],
        partitions: [0, 2],
        from: 'beginning',
      })
      await following.barrier()
      assert.deepEqual(texts(got).sort(), ['0', '2'])
      await log.append([0, 1, 2].map(at => record('a', keyIn(at, 3), String(at))))
      await following.barrier()
      assert.deepEqual(texts(got).sort(), ['0', '0', '2', '2'])
    }))
}

function barrierTests(makeWorld: MakeWorld): void {
  test('L5 barrier resolves at once on empty topics', () =>
    inWorld(makeWorld, { a: { partitions: 3 } }, async ({ log }) => {
      const { following } = await collect(log, { topics: ['a'], from: 'beginning' })
      await following.barrier()
    }))

  test('L5 after a barrier, an append that had resolved before it was delivered', () =>
    inWorld(makeWorld, { a: { partitions: 3 } }, async ({ log }) => {
      const { got, following } = await collect(log, { topics: ['a'], from: 'beginning' })
      for (let round = 1; round <= 10; round += 1) {
        await log.append(records('a', 5))
        await following.barrier()
        assert.equal(got.length, round * 5)
      }
    }))

  test('L5 a barrier waits for onRecords to finish', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 3))
      const held = gate()
      let finished = 0
      const following = await log.follow({
        topics: ['a'],
        from: 'beginning',
        onRecords: async list => {
          await held.opened
          finished += list.length
        },
      })
      setTimeout(held.open, 100)
      await following.barrier()
      assert.equal(finished, 3)
    }))

  test('L5 a barrier that takes too long rejects with log-unavailable', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 3))
      const held = gate()
      const following = await log.follow({
        topics: ['a'],
        from: 'beginning',
        onRecords: () => held.opened,
      })
      await assert.rejects(
        following.barrier(300),
        error => isAmbitError(error) && error.code === 'log-unavailable',
      )
      held.open()
      await following.barrier()
    }))
}

function deliveryTests(makeWorld: MakeWorld): void {
  test('L5 a rejection is retried with the same records', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 5))
      const calls: (string | null)[][] = []
      const got: LogRecord[] = []
      const following = await log.follow({
        topics: ['a'],
        from: 'beginning',
        onRecords: list => {
          calls.push(texts(list))
          if (calls.length < 3) throw new Error('not yet')
          got.push(...list)
        },
      })
      await following.barrier()
      assert.deepEqual(texts(got), ['0', '1', '2', '3', '4'])
      assert.deepEqual(calls[1], calls[0])
      assert.deepEqual(calls[2], calls[0])
    }))

  test('nothing is delivered after stop, and stopping twice is harmless', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      const { got, following } = await collect(log, { topics: ['a'], from: 'beginning' })
      await log.append(records('a', 3))
      await following.barrier()
      await Promise.all([following.stop(), following.stop()])
      await log.append(records('a', 3))
      const other = await collect(log, { topics: ['a'], from: 'beginning' })
      await other.following.barrier()
      assert.deepEqual([got.length, other.got.length], [3, 6])
    }))

  test('tombstones, headers and keys are delivered as they lie in the log', () =>
    inWorld(makeWorld, { a: { partitions: 1, cleanup: 'compact' } }, async ({ log }) => {
      await log.append([
        { ...record('a', 'k', 'v'), headers: { kind: 'x' } },
        record('a', 'k', null),
      ])
      const { got, following } = await collect(log, { topics: ['a'], from: 'beginning' })
      await following.barrier()
      assert.deepEqual(texts(got), ['v', null])
      assert.equal(textOf(got[0]?.headers.kind ?? null), 'x')
      assert.equal(textOf(got[1]?.key ?? null), 'k')
      assert.ok(got.every(each => Number.isSafeInteger(each.offset) && each.timestamp > 0))
    }))
}

function compactionTests(makeWorld: MakeWorld): void {
  test('L5 follow delivers what compaction left and its barrier passes the gaps', t =>
    inWorld(makeWorld, { a: { partitions: 1, cleanup: 'compact' } }, async world => {
      if (!world.compact) return t.skip('the adapter cannot compact on demand')
      const { log } = world
      for (let round = 0; round < 5; round += 1) {
        await log.append([0, 1, 2].map(at => record('a', `k${at}`, `${at}-${round}`)))
      }
      await world.compact('a')
      const { got, following } = await collect(log, { topics: ['a'], from: 'beginning' })
      await following.barrier()
      assert.deepEqual(new Set(texts(got).slice(-3)), new Set(['0-4', '1-4', '2-4']))
      assertOrdered(got)
    }))

  test('L5 a barrier passes a tail that compaction removed altogether', t =>
    inWorld(makeWorld, { a: { partitions: 1, cleanup: 'compact' } }, async world => {
      if (!world.compact) return t.skip('the adapter cannot compact on demand')
      const { log } = world
      await log.append([record('a', 'k', '1'), record('a', 'k', null)])
      await world.compact('a')
      const { got, following } = await collect(log, { topics: ['a'], from: 'beginning' })
      await following.barrier()
      await log.append([record('a', 'k', '2')])
      await following.barrier()
      assert.equal(texts(got).at(-1), '2')
    }))
}
