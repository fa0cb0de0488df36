import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { AmbitError } from '#kernel/errors.ts'
import type { RecordBatch } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { createOffsetKeeper, type OffsetKeeper } from './offset-keeper.ts'

let clock: ManualClock
let keeper: OffsetKeeper
/** `topic/partition:offset` of every commit that was asked for. */
let commits: string[]
let isOwned: boolean
let commit: () => Promise<void>

beforeEach(() => {
  clock = createManualClock(0)
  keeper = createOffsetKeeper({ clock, logger: silentLogger })
  commits = []
  isOwned = true
  commit = async () => {}
})

function batch(partition = 0, topic = 'in'): RecordBatch {
  return {
    ...{ topic, partition, records: [] },
    isOwned: () => isOwned,
    commit: offset => {
      commits.push(`${topic}/${partition}:${offset}`)
      return commit()
    },
    heartbeat: async () => {},
  }
}

describe('offsets', () => {
  it('of many batches are stored with one request, within a fifth of a second', async () => {
    for (let next = 1; next <= 10; next++) {
      await keeper.finished(batch(), next)
      await clock.advance(15)
    }
    assert.deepEqual(commits, [])
    await clock.advance(50)
    assert.deepEqual(commits, ['in/0:10'])
    await clock.advance(1000)
    assert.deepEqual(commits, ['in/0:10'], 'nothing new, no request')
  })
  it('of every partition and topic are kept apart', async () => {
    await keeper.finished(batch(0), 5)
    await keeper.finished(batch(1), 7)
    await keeper.finished(batch(0, 'other'), 9)
    await keeper.finished(batch(1), 8)
    await clock.advance(200)
    assert.deepEqual(commits.sort(), ['in/0:5', 'in/1:8', 'other/0:9'])
  })
  it('go on being stored later', async () => {
    await keeper.finished(batch(), 1)
    await clock.advance(200)
    await keeper.finished(batch(), 2)
    await clock.advance(200)
    assert.deepEqual(commits, ['in/0:1', 'in/0:2'])
  })
  it('finishing a batch does not wait for the request', async () => {
    commit = () => new Promise(() => {})
    await keeper.finished(batch(), 1)
    await clock.advance(200)
    await keeper.finished(batch(), 2)
    await clock.advance(200)
    assert.deepEqual(commits, ['in/0:1', 'in/0:2'])
  })
  it('of a partition that was taken away are not stored', async () => {
    await keeper.finished(batch(), 1)
    isOwned = false
    await clock.advance(200)
    assert.deepEqual(commits, [])
  })
  it('that cannot be stored stop nobody: the records come again', async () => {
    commit = async () => {
      throw new AmbitError('conflict', 'not the owner')
    }
    await keeper.finished(batch(0), 1)
    await keeper.finished(batch(1), 2)
    await clock.advance(200)
    commit = async () => {}
    await keeper.finished(batch(0), 3)
    await clock.advance(200)
    assert.deepEqual(commits, ['in/0:1', 'in/1:2', 'in/0:3'])
  })
})

describe('a log that is away', () => {
  it('gets the offset when it is back, and never an older one after a newer one', async () => {
    commit = async () => {
      throw new AmbitError('log-unavailable', 'away')
    }
    await keeper.finished(batch(), 1)
    await clock.advance(200)
    commit = async () => {}
    await clock.advance(200)
    assert.deepEqual(commits, ['in/0:1', 'in/0:1'])
    await clock.advance(1000)
    assert.equal(commits.length, 2, 'once is enough')
  })
})

describe('stopping', () => {
  it('stores what is left at once, and nothing afterwards', async () => {
    await keeper.finished(batch(), 4)
    await keeper.stop()
    assert.deepEqual(commits, ['in/0:4'])
    await clock.advance(1000)
    assert.deepEqual(commits, ['in/0:4'])
  })
  it('a batch that ends while its consumer stops is stored too', async () => {
    await keeper.stop()
    await keeper.finished(batch(), 5)
    assert.deepEqual(commits, ['in/0:5'])
  })
})
