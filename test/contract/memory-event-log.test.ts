import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as realSleep } from 'node:timers/promises'
import { assignPartitions } from '#kernel/adapters/memory/assign-partitions.ts'
import {
  createMemoryEventLog,
  type MemoryEventLogInstance,
} from '#kernel/adapters/memory/memory-event-log.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { LogRecord, RecordBatch } from '#kernel/ports/event-log.ts'
import { eventLogContract } from './event-log.ts'
import { gate, record, records, startMember, texts } from './event-log-world.ts'

const realClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => realSleep(ms, undefined, { signal }),
}

eventLogContract('memory', async topics => {
  const world = createMemoryEventLog({ clock: realClock })
  for (const [topic, { partitions }] of Object.entries(topics)) world.createTopic(topic, partitions)
  const opened: MemoryEventLogInstance[] = []
  const open = () => {
    const log = world.open()
    opened.push(log)
    return log
  }
  const log = open()
  return {
    log,
    createTopic: async (topic, { partitions }) => world.createTopic(topic, partitions),
    close: async () => void (await Promise.all(opened.map(each => each.stop()))),
    another: async () => open(),
    crash: async () => {
      log.crash()
      return open()
    },
    seize: async (group, held) => world.seize(group, held),
    compact: async topic => world.compact(topic),
  }
})

/** Time that moves only when a test says so, and microtasks that run until nothing is left. */
function manualClock() {
  let now = 1_000
  let sleepers: { at: number; resolve(): void }[] = []
  const settle = () => new Promise<void>(resolve => setImmediate(resolve))
  const clock: Clock = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        sleepers.push({ at: now + ms, resolve })
        signal?.addEventListener('abort', () => reject(signal.reason))
      }),
  }
  const advance = async (ms: number) => {
    now += ms
    const due = sleepers.filter(({ at }) => at <= now)
    sleepers = sleepers.filter(({ at }) => at > now)
    for (const { resolve } of due) resolve()
    await settle()
  }
  return { clock, advance, settle }
}

describe('the simulated log', () => {
  test('a pause ends only when the clock moves', async () => {
    const { clock, advance, settle } = manualClock()
    const log = createMemoryEventLog({ clock, partitions: () => 1 }).open()
    await log.append(records('a', 3))
    let calls = 0
    await log.consume({
      group: 'g',
      topics: ['a'],
      handle: async () => {
        calls += 1
        throw new Error('no')
      },
    })
    await settle()
    assert.equal(calls, 1)
    await advance(99)
    assert.equal(calls, 1)
    await advance(1)
    assert.equal(calls, 2)
    await log.stop()
  })

  test('F7 an old owner that goes on owns nothing; the new one starts at the commit', async () => {
    const { clock, settle } = manualClock()
    const world = createMemoryEventLog({ clock, partitions: () => 1 })
    const [one, two] = [world.open('one'), world.open('two')]
    const held = gate()
    await one.append(records('a', 4))
    const options = { group: 'g', topics: ['a'] }
    const first = await startMember(one, options, {
      handle: async batch => {
        await batch.commit(2)
        await held.opened
        await assert.rejects(batch.commit(4))
      },
      commit: false,
    })
    const second = await startMember(two, options)
    await settle()
    assert.equal(second.got.length, 0)
    world.seize('g', { topic: 'a', partition: 0 })
    await settle()
    assert.equal(first.batches[0]?.isOwned(), false)
    assert.deepEqual(texts(second.got), ['2', '3'])
    held.open()
    await settle()
    assert.equal((await two.lag('g', ['a']))[0]?.lag, 0)
  })

  test('F1 after a crash others take over at once, the dead handler gets no answer', async () => {
    const { clock, settle } = manualClock()
    const world = createMemoryEventLog({ clock, partitions: () => 2 })
    const [one, two] = [world.open('one'), world.open('two')]
    const held = gate()
    let afterCrash = false
    await startMember(
      one,
      { group: 'g', topics: ['a'] },
      {
        handle: async batch => {
          await held.opened
          await batch.commit(100).catch(() => {})
          afterCrash = true
        },
      },
    )
    await two.append(records('a', 10))
    await settle()
    one.crash()
    const second = await startMember(two, { group: 'g', topics: ['a'] })
    held.open()
    await settle()
    assert.equal(second.got.length, 10)
    assert.equal(afterCrash, false)
  })
})

describe('faults of the simulated log', () => {
  test('F9 a group that forgot its offsets reads from the start', async () => {
    const { clock, settle } = manualClock()
    const world = createMemoryEventLog({ clock, partitions: () => 1 })
    const log = world.open()
    await log.append(records('a', 2))
    const member = await startMember(log, { group: 'g', topics: ['a'] })
    await settle()
    world.forgetOffsets('g')
    await settle()
    assert.deepEqual(texts(member.got), ['0', '1', '0', '1'])
  })

  test('retention leaves what is younger, and readers go on there', async () => {
    const { clock, settle } = manualClock()
    const world = createMemoryEventLog({ clock, partitions: () => 1 })
    const log = world.open()
    await log.append(records('a', 5))
    world.dropBelow({ topic: 'a', partition: 0, offset: 3 })
    const member = await startMember(log, { group: 'g', topics: ['a'] })
    await settle()
    assert.deepEqual(texts(member.got), ['3', '4'])
    const oldest = { topic: 'a', partition: 0, offset: 0 }
    assert.deepEqual(await log.readAt([oldest]), [undefined])
  })

  test('F4 F5 hooks fail an append before or after it was written', async () => {
    const { clock } = manualClock()
    let fail = 'before'
    const failAt = (when: string) => () => {
      if (fail === when) throw new Error('a planted fault')
    }
    const hooks = { before: failAt('before'), after: failAt('after') }
    const world = createMemoryEventLog({ clock, partitions: () => 1, hooks })
    const log = world.open()
    await assert.rejects(log.append([record('a', 'k', '1')]))
    fail = 'after'
    await assert.rejects(log.append([record('a', 'k', '2')]))
    assert.deepEqual(texts(world.records('a')), ['2'])
  })

  test('I20 the same calls give the same order of everything', async () => {
    const runs = [await traceOf(), await traceOf()]
    assert.deepEqual(runs[0], runs[1])
    assert.ok(runs[0]!.length > 100)
  })
})

/** Two members, a follower, a crash and a seizure, told as one list. */
async function traceOf(): Promise<string[]> {
  const { clock, advance, settle } = manualClock()
  const world = createMemoryEventLog({ clock, partitions: topic => (topic === 'a' ? 4 : 2) })
  const [one, two] = [world.open('one'), world.open('two')]
  const trace: string[] = []
  const tell = (who: string, list: LogRecord[]) => {
    trace.push(...list.map(each => `${who} ${each.topic}/${each.partition}@${each.offset}`))
  }
  const handler = (who: string) => async (batch: RecordBatch) => {
    tell(who, batch.records)
    await log(who).append([record('b', `${who}${batch.partition}`, 'out')])
    if (batch.isOwned()) await batch.commit(batch.records.at(-1)!.offset + 1)
  }
  const log = (who: string) => (who === 'one' ? one : two)
  await two.follow({ topics: ['b'], from: 'end', onRecords: list => tell('follower', list) })
  for (const who of ['one', 'two']) {
    const options = { group: 'g', topics: ['a'], batchMax: 3 }
    await log(who).consume({ ...options, handle: handler(who) })
  }
  for (let round = 0; round < 6; round += 1) {
    await two.append(records('a', 20))
    if (round === 2) world.seize('g', { topic: 'a', partition: 1 })
    if (round === 4) one.crash()
    await advance(10)
  }
  await settle()
  return [
    ...trace,
    ...world
      .owners('g')
      .entries()
      .map(([place, id]) => `${place}=${id}`),
  ]
}

describe('partitions are assigned', () => {
  const wants = Array.from({ length: 12 }, (_, at) => `a/${at}`)
  const members = (...ids: string[]) => ids.map(id => ({ id, wants }))
  const loads = (assigned: Map<string, string>) =>
    [...Map.groupBy(assigned, ([, id]) => id).values()].map(each => each.length).sort()
  const moved = (from: Map<string, string>, to: Map<string, string>) =>
    wants.filter(place => from.get(place) !== to.get(place)).length

  test('evenly, completely, and with as few moves as the balance needs', () => {
    const one = assignPartitions(members('x'), new Map())
    assert.deepEqual(loads(one), [12])
    const three = assignPartitions(members('x', 'y', 'z'), one)
    assert.deepEqual([loads(three), moved(one, three)], [[4, 4, 4], 8])
    const two = assignPartitions(members('x', 'z'), three)
    assert.deepEqual([loads(two), moved(three, two)], [[6, 6], 4])
    const five = assignPartitions(members('x', 'z', 'p', 'q', 'r'), two)
    assert.deepEqual(loads(five), [2, 2, 2, 3, 3])
    assert.equal(moved(five, assignPartitions(members('x', 'z', 'p', 'q', 'r'), five)), 0)
  })

  test('only to members that read the topic', () => {
    const mixed = [
      { id: 'x', wants: ['a/0', 'a/1', 'b/0'] },
      { id: 'y', wants: ['b/0'] },
    ]
    const assigned = assignPartitions(mixed, new Map([['a/0', 'y']]))
    assert.deepEqual([assigned.get('a/0'), assigned.get('a/1')], ['x', 'x'])
    assert.equal(assigned.get('b/0'), 'y')
    assert.deepEqual(assignPartitions([], assigned), new Map())
  })
})
