/** L2 and L3 for one member: start, order, commits, retries, stop, lag. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  assertOrdered,
  gate,
  inWorld,
  keyIn,
  type MakeWorld,
  record,
  records,
  startMember,
  texts,
  until,
} from './event-log-world.ts'

/** Tests of `consume` with one member, and of `lag`. */
export function consumeContract(makeWorld: MakeWorld): void {
  describe('consume', () => {
    startTests(makeWorld)
    assignmentTests(makeWorld)
    rejectionTests(makeWorld)
    stopTests(makeWorld)
    lagTests(makeWorld)
    topicTests(makeWorld)
  })
}

function startTests(makeWorld: MakeWorld): void {
  test('L2 a new group starts at the first record, in offset order, and goes on', () =>
    inWorld(makeWorld, { a: { partitions: 3 }, b: { partitions: 1 } }, async ({ log }) => {
      await log.append([...records('a', 100), ...records('b', 10)])
      const member = await startMember(log, { group: 'g', topics: ['a', 'b'] })
      await until('110 records', () => member.got.length >= 110)
      await log.append(records('a', 10))
      await until('120 records', () => member.got.length >= 120)
      assertOrdered(member.got)
      for (const { topic, partition, records: inBatch } of member.batches) {
        assert.ok(inBatch.length > 0)
        assert.ok(inBatch.every(each => each.topic === topic && each.partition === partition))
      }
    }))

  test('a batch holds at most batchMax records', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 25))
      const member = await startMember(log, { group: 'g', topics: ['a'], batchMax: 10 })
      await until('25 records', () => member.got.length === 25)
      assertOrdered(member.got)
      assert.ok(member.batches.every(batch => batch.records.length <= 10))
    }))

  test('L2 the next member starts at the committed offset', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 10))
      const first = await startMember(
        log,
        { group: 'g', topics: ['a'] },
        { commit: false, handle: batch => batch.commit(4) },
      )
      await until('all ten', () => first.got.length >= 10)
      await first.consumption.stop()
      const second = await startMember(log, { group: 'g', topics: ['a'] })
      await until('the rest', () => second.got.length >= 6)
      assert.deepEqual(texts(second.got), ['4', '5', '6', '7', '8', '9'])
    }))

  test('L2 after a crash the group starts at the committed offset again', t =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async world => {
      if (!world.crash) return t.skip('the adapter keeps nothing over a crash')
      await world.log.append(records('a', 10))
      const first = await startMember(
        world.log,
        { group: 'g', topics: ['a'] },
        { commit: false, handle: batch => batch.commit(7) },
      )
      await until('all ten', () => first.got.length >= 10)
      const log = await world.crash()
      const second = await startMember(log, { group: 'g', topics: ['a'] })
      await until('the rest', () => second.got.length >= 3, 60_000)
      assert.deepEqual(texts(second.got), ['7', '8', '9'])
    }))
}

function assignmentTests(makeWorld: MakeWorld): void {
  test('groups do not disturb each other', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      await log.append(records('a', 20))
      const one = await startMember(log, { group: 'one', topics: ['a'] })
      await until('one has all', () => one.got.length >= 20)
      const two = await startMember(log, { group: 'two', topics: ['a'] })
      await until('two has all', () => two.got.length >= 20)
      assert.equal(one.got.length, 20)
    }))

  test('onAssigned names the partitions and is awaited before their first batch', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      await log.append(records('a', 20))
      const assigned = gate()
      const steps: string[] = []
      await log.consume({
        group: 'g',
        topics: ['a'],
        onAssigned: async partitions => {
          steps.push(
            partitions
              .map(each => `${each.topic}/${each.partition}`)
              .sort()
              .join(' '),
          )
          await assigned.opened
          steps.push('ready')
        },
        handle: async () => {
          steps.push('batch')
        },
      })
      await until('onAssigned was called', () => steps.length > 0)
      // A wrong adapter hands out a batch here: the fetch runs while onAssigned still waits.
      await new Promise(resolve => setTimeout(resolve, 300))
      assert.deepEqual(steps, ['a/0 a/1'])
      assigned.open()
      await until('a batch', () => steps.includes('batch'))
      assert.deepEqual(steps.slice(0, 3), ['a/0 a/1', 'ready', 'batch'])
    }))
}

function rejectionTests(makeWorld: MakeWorld): void {
  test('L3 a handler that rejects gets the same records again, and nothing is skipped', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 30))
      let rejections = 0
      const member = await startMember(
        log,
        { group: 'g', topics: ['a'], batchMax: 10 },
        {
          handle: async batch => {
            if (batch.records[0]?.offset !== 10 || rejections >= 3) return
            rejections += 1
            throw new Error('the handler says no')
          },
        },
      )
      await until('all thirty', () => member.got.length >= 30)
      assertOrdered(member.got)
      const starts = member.batches.map(batch => batch.records[0]?.offset)
      assert.deepEqual(starts.slice(0, 5), [0, 10, 10, 10, 10])
      assert.equal(rejections, 3)
    }))

  test('L3 a handler that throws at once is treated like one that rejects', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 3))
      let calls = 0
      await log.consume({
        group: 'g',
        topics: ['a'],
        handle() {
          calls += 1
          if (calls === 1) throw new Error('thrown, not rejected')
          return Promise.resolve()
        },
      })
      await until('the second call', () => calls >= 2)
    }))

  test('L3 onAssigned is repeated until it succeeds, and only then batches come', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 3))
      const steps: string[] = []
      await log.consume({
        group: 'g',
        topics: ['a'],
        onAssigned: async () => {
          steps.push('assigned')
          if (steps.length < 3) throw new Error('not yet')
        },
        handle: async () => {
          steps.push('batch')
        },
      })
      await until('a batch', () => steps.includes('batch'))
      assert.deepEqual(steps.slice(0, 4), ['assigned', 'assigned', 'assigned', 'batch'])
    }))
}

function stopTests(makeWorld: MakeWorld): void {
  test('stop finishes the batch in hand, which may still commit', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 5))
      const held = gate()
      const steps: string[] = []
      const member = await startMember(
        log,
        { group: 'g', topics: ['a'] },
        {
          handle: async () => {
            steps.push('in hand')
            await held.opened
            steps.push('done')
          },
        },
      )
      await until('a batch in hand', () => steps.length > 0)
      const stopping = member.consumption.stop().then(() => steps.push('stopped'))
      setTimeout(held.open, 100)
      await stopping
      assert.deepEqual(steps, ['in hand', 'done', 'stopped'])
      const lag = await log.lag('g', ['a'])
      assert.equal(lag[0]?.lag, 5 - member.got.length)
    }))

  test('nothing is handed over after stop, and stopping twice is harmless', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 5))
      const member = await startMember(log, { group: 'g', topics: ['a'] })
      await until('all five', () => member.got.length >= 5)
      await Promise.all([member.consumption.stop(), member.consumption.stop()])
      await log.append(records('a', 5))
      const next = await startMember(log, { group: 'g', topics: ['a'] })
      await until('the next member has them', () => next.got.length >= 5)
      assert.equal(member.got.length, 5)
    }))

  test('stopping the log stops its members', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async world => {
      await world.log.append(records('a', 5))
      const member = await startMember(world.log, { group: 'g', topics: ['a'] })
      await until('all five', () => member.got.length >= 5)
      await world.log.stop()
      assert.ok(member.batches.every(batch => !batch.isOwned()))
    }))
}

function lagTests(makeWorld: MakeWorld): void {
  test('lag counts what a group has not committed, per partition', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      const [p0, p1] = [keyIn(0, 2), keyIn(1, 2)]
      await log.append([p0, p0, p0, p1].map(key => record('a', key, 'x')))
      const counts = async () =>
        (await log.lag('g', ['a']))
          .toSorted((x, y) => x.partition - y.partition)
          .map(({ topic, partition, lag }) => `${topic}/${partition}=${lag}`)
      assert.deepEqual(await counts(), ['a/0=3', 'a/1=1'])
      const member = await startMember(
        log,
        { group: 'g', topics: ['a'], batchMax: 1 },
        {
          commit: false,
          handle: async batch => {
            if (batch.partition === 0) await batch.commit(2)
          },
        },
      )
      await until('all four', () => member.got.length >= 4)
      assert.deepEqual(await counts(), ['a/0=1', 'a/1=1'])
    }))
}

function topicTests(makeWorld: MakeWorld): void {
  test('withExtIngress reads outside producers, also topics created later', () =>
    inWorld(
      makeWorld,
      { a: { partitions: 1 }, 'ingress.ext.t1': { partitions: 2 } },
      async ({ log, createTopic }) => {
        await log.append([...records('a', 1), ...records('ingress.ext.t1', 3)])
        const member = await startMember(log, { group: 'g', topics: ['a'], withExtIngress: true })
        await until('the first tenant', () => member.got.length >= 4)
        await createTopic('ingress.ext.t2', { partitions: 1 })
        await log.append(records('ingress.ext.t2', 2))
        await until('the new tenant', () => member.got.length >= 6)
        await log.append([...records('ingress.ext.t1', 1), ...records('ingress.ext.t2', 1)])
        await until('both go on', () => member.got.length >= 8)
        assertOrdered(member.got)
      },
    ))
}
