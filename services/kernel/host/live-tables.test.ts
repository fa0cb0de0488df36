import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { isAmbitError } from '#kernel/errors.ts'
import type { EventLog, Following } from '#kernel/ports/event-log.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type { TableDocument } from '#schemas/generated/records.ts'
import { createStepBench, START, type StepBench } from '#test/support/step-bench.ts'
import {
  awaitPolicy,
  HEARTBEAT_KIND,
  type LiveTables,
  openLiveTables,
  type TableChange,
} from './live-tables.ts'

const TOPIC = 'policies'
const codec = createRecordCodec()

let bench: StepBench
let tables: LiveTables
let changes: string[]

beforeEach(() => {
  bench = createStepBench({ partitions: 2 })
  changes = []
})
afterEach(() => tables?.stop())

const open = async (log: EventLog = bench.log.open('reader')) => {
  tables = await openLiveTables({ log, codec, clock: bench.clock, topics: [TOPIC, 'sources'] })
  tables.onChange(({ key, document }: TableChange) => {
    changes.push(`${key}@${document.version}`)
  })
  return tables
}

function document(id: string, version: number, over: Partial<TableDocument> = {}): TableDocument {
  return {
    ...{ tenant: 'acme', kind: 'agent', id, version, deleted: false, updatedAt: START },
    doc: { says: `${id} ${version}` },
    ...over,
  }
}

async function write(
  id: string,
  version: number,
  over: Partial<TableDocument> = {},
  topic = TOPIC,
) {
  const value = codec.encode('table-document', document(id, version, over))
  await append(id, value, topic)
}

async function append(key: string, value: Uint8Array | null, topic = TOPIC): Promise<void> {
  await bench.log.open('writer').append([{ topic, key, value }])
}

const beat = () => write('control-plane', 0, { kind: HEARTBEAT_KIND })
const saying = (id: string, topic = TOPIC) => tables.get(topic, id)?.doc

describe('a table', () => {
  it('holds what was written before it was opened, and what comes', async () => {
    await write('a', 1)
    await open()
    assert.deepEqual(saying('a'), { says: 'a 1' })
    await write('b', 1)
    await tables.barrier()
    assert.deepEqual(saying('b'), { says: 'b 1' })
    assert.deepEqual([...tables.keys(TOPIC)].sort(), ['a', 'b'])
  })
  it('keeps topics apart, and knows nothing of others', async () => {
    await open()
    await write('a', 1, {}, 'sources')
    await tables.barrier()
    assert.equal(saying('a'), undefined)
    assert.deepEqual(saying('a', 'sources'), { says: 'a 1' })
    assert.equal(tables.get('subscriptions', 'a'), undefined)
    assert.deepEqual([...tables.keys('subscriptions')], [])
  })
  it('the highest version wins; a late append of an old owner changes nothing', async () => {
    await open()
    for (const version of [1, 3, 2, 3]) await write('a', version)
    await tables.barrier()
    assert.deepEqual(saying('a'), { says: 'a 3' })
    assert.deepEqual(changes, ['a@1', 'a@3'])
  })
  it('gives the newest although it gave an older one before', async () => {
    await write('a', 1)
    await open()
    assert.deepEqual(saying('a'), { says: 'a 1' })
    await write('a', 2)
    await tables.barrier()
    assert.deepEqual(saying('a'), { says: 'a 2' })
  })
  it('keeps a deleted document until its tombstone', async () => {
    await open()
    await write('a', 1)
    await write('a', 2, { deleted: true })
    await tables.barrier()
    assert.equal(tables.get(TOPIC, 'a')?.deleted, true)
    await append('a', null)
    await tables.barrier()
    assert.equal(tables.get(TOPIC, 'a'), undefined)
    assert.deepEqual([...tables.keys(TOPIC)], [])
  })
  it('passes over a record that nobody can read (I18)', async () => {
    await append('bad', Buffer.from('no Avro'))
    await write('a', 1)
    await open()
    assert.deepEqual(saying('a'), { says: 'a 1' })
    assert.equal(tables.get(TOPIC, 'bad'), undefined)
  })
  it('tells a listener what is there, then every newer version', async () => {
    await write('a', 4)
    await open()
    assert.deepEqual(changes, ['a@4'])
    await write('a', 5)
    await tables.barrier()
    assert.deepEqual(changes, ['a@4', 'a@5'])
  })
  it('holds more documents than it keeps decoded', async () => {
    const records = Array.from({ length: 5200 }, (_, at) => ({
      ...{ topic: TOPIC, key: `k${at}` },
      value: codec.encode('table-document', document(`k${at}`, 1)),
    }))
    await bench.log.open('writer').append(records)
    await open()
    for (let at = 0; at < records.length; at++) {
      assert.deepEqual(saying(`k${at}`), { says: `k${at} 1` })
    }
    assert.deepEqual(saying('k0'), { says: 'k0 1' })
  })
})

describe('the heartbeat', () => {
  it('has no age before the first, then ages with the clock', async () => {
    await open()
    assert.equal(tables.heartbeatAgeMs(), Number.POSITIVE_INFINITY)
    await beat()
    await tables.barrier()
    assert.equal(tables.heartbeatAgeMs(), 0)
    await bench.clock.advance(7000)
    assert.equal(tables.heartbeatAgeMs(), 7000)
    await beat()
    await tables.barrier()
    assert.equal(tables.heartbeatAgeMs(), 0)
  })
  it('is no document', async () => {
    await open()
    await beat()
    await tables.barrier()
    assert.deepEqual([[...tables.keys(TOPIC)], changes], [[], []])
  })
  it('of a control plane whose clock is ahead is not from the future', async () => {
    await beat()
    const memory = bench.log.open('reader')
    const ahead: EventLog = {
      ...memory,
      follow: options =>
        memory.follow({
          ...options,
          onRecords: records =>
            options.onRecords(records.map(r => ({ ...r, timestamp: r.timestamp + 60_000 }))),
        }),
    }
    await open(ahead)
    assert.equal(tables.heartbeatAgeMs(), 0)
  })
})

/** A log whose barriers end when a test says so. */
function slowBarriers(): { log: EventLog; begun: PromiseWithResolvers<void>[] } {
  const memory = bench.log.open('slow')
  const begun: PromiseWithResolvers<void>[] = []
  let isOpen = false
  const log: EventLog = {
    ...memory,
    async follow(options): Promise<Following> {
      const following = await memory.follow(options)
      return {
        ...following,
        barrier() {
          if (!isOpen) {
            isOpen = true
            return following.barrier()
          }
          const one = Promise.withResolvers<void>()
          begun.push(one)
          return one.promise
        },
      }
    },
  }
  return { log, begun }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

describe('barriers', () => {
  it('that come while one is under way share the next, which begins after them', async () => {
    const { log, begun } = slowBarriers()
    await open(log)
    const ended: string[] = []
    const wait = (name: string) => tables.barrier().then(() => ended.push(name))
    void wait('first')
    void wait('second')
    void wait('third')
    await turn()
    assert.equal(begun.length, 1, 'the one under way is too old for the others')
    begun[0]?.resolve()
    await turn()
    assert.deepEqual([ended, begun.length], [['first'], 2])
    void wait('fourth')
    await turn()
    assert.equal(begun.length, 2)
    begun[1]?.resolve()
    await turn()
    assert.deepEqual([ended, begun.length], [['first', 'second', 'third'], 3])
    begun[2]?.resolve()
    await turn()
    assert.equal(ended.at(-1), 'fourth')
  })
  it('that fail are failures of those who waited for them alone', async () => {
    const { log, begun } = slowBarriers()
    await open(log)
    const first = assert.rejects(tables.barrier(), /away/)
    const second = tables.barrier()
    begun[0]?.reject(new Error('away'))
    await first
    await turn()
    begun[1]?.resolve()
    await second
  })
})

describe('waiting for policy', () => {
  const rule = (over: { isStopped?: () => boolean } = {}) => ({
    continuityMs: 10_000,
    isStopped: over.isStopped ?? (() => false),
    onWaiting: (isWaiting: boolean) => void waiting.push(isWaiting),
  })
  let waiting: boolean[]
  beforeEach(() => {
    waiting = []
  })

  it('does not wait while the control plane was heard of', async () => {
    await beat()
    await open()
    await bench.clock.advance(10_000)
    await awaitPolicy(tables, bench.clock, rule())
    assert.deepEqual(waiting, [])
  })
  it('waits, and says so, until it is heard of again', async () => {
    await beat()
    await open()
    await bench.clock.advance(10_001)
    let isOver = false
    const gate = awaitPolicy(tables, bench.clock, rule()).then(() => {
      isOver = true
    })
    await bench.clock.advance(60_000)
    assert.deepEqual([isOver, waiting], [false, [true]])
    await beat()
    await bench.clock.until(() => isOver)
    await gate
    assert.deepEqual(waiting, [true, false])
  })
  it('gives up with not-ready when the process stops', async () => {
    await open()
    let isStopped = false
    const gate = awaitPolicy(tables, bench.clock, rule({ isStopped: () => isStopped }))
    const refused = assert.rejects(gate, error => isAmbitError(error) && error.code === 'not-ready')
    await bench.clock.advance(1000)
    isStopped = true
    await bench.clock.advance(1000)
    await refused
  })
})
