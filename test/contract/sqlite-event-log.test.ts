/** The SQLite event log keeps the contract, and what only it promises. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSqliteDatabase, type SqliteDatabase } from '#kernel/adapters/sqlite/sqlite-database.ts'
import {
  createSqliteEventLog,
  type SqliteEventLog,
  type SqliteEventLogOptions,
} from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import { eventLogContract } from './event-log.ts'
import {
  assertOrdered,
  type EventLogWorld,
  gate,
  inWorld,
  keyIn,
  record,
  records,
  startMember,
  type TopicSettings,
  texts,
  until,
} from './event-log-world.ts'
import { copyAsKilled, dataDirectory, openDatabase, systemClock } from './sqlite-world.ts'

async function makeWorld(
  settings: Record<string, TopicSettings>,
  tailBytesMax?: number,
): Promise<EventLogWorld> {
  const topics = new Map(Object.entries(settings))
  const { directory, remove } = dataDirectory()
  const partitionsOf = (topic: string) => topics.get(topic)?.partitions
  const open = (at: string) => {
    const database = openDatabase(at)
    const options = { database, clock: systemClock, partitionsOf, tailBytesMax }
    return { database, log: createSqliteEventLog(options) }
  }
  const opened = [open(directory)]
  const current = () => opened.at(-1)!
  return {
    log: opened[0]!.log,
    async createTopic(topic, topicSettings) {
      topics.set(topic, topicSettings)
    },
    async close() {
      for (const { log, database } of opened) {
        await log.stop()
        database.close()
      }
      remove()
    },
    async crash() {
      const to = join(directory, `life-${opened.length}`)
      copyAsKilled(directory, to)
      opened.push(open(to))
      return current().log
    },
    async compact(topic) {
      await current().log.compact(topic, { lagMs: 0, tombstoneMs: 0 })
    },
  }
}

eventLogContract('sqlite event log', makeWorld)
eventLogContract('sqlite event log that reads from the table', topics => makeWorld(topics, 0))

describe('sqlite event log', () => {
  test('L4 a newcomer takes its share; the batch in hand of the old owner knows it', () =>
    inWorld(makeWorld, { a: { partitions: 2 } }, async ({ log }) => {
      await log.append([record('a', keyIn(0, 2), 'x'), record('a', keyIn(1, 2), 'x')])
      const held = gate()
      const options = { group: 'g', topics: ['a'] }
      const handle = () => held.opened
      const old = await startMember(log, options, { commit: false, handle })
      await until('both in hand', () => old.batches.length === 2)
      const young = await startMember(log, options)
      const lost = old.batches.filter(batch => !batch.isOwned())
      assert.equal(lost.length, 1)
      await assert.rejects(lost[0]!.commit(1), error => isAmbitError(error))
      await assert.rejects(lost[0]!.heartbeat())
      await old.batches.find(batch => batch.isOwned())!.commit(1)
      assert.equal(young.batches.length, 0, 'the old batch is still in hand')
      held.open()
      await until('the young member repeats it', () => young.got.length === 1)
      assert.equal(young.got[0]?.partition, lost[0]?.partition)
    }))

  test('records and offsets survive a restart in which nothing was cached', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log, crash }) => {
      await log.append(records('a', 1_200))
      const first = await startMember(log, { group: 'g', topics: ['a'] })
      await until('all', () => first.got.length === 1_200)
      const again = await crash!()
      const got: LogRecord[] = []
      const following = await again.follow({
        topics: ['a'],
        from: 'beginning',
        onRecords: list => void got.push(...list),
      })
      // The reader goes over from the table to the cache in the middle.
      await again.append(records('a', 700))
      await following.barrier()
      assert.equal(got.length, 1_900)
      assertOrdered(got)
      assert.deepEqual(await again.lag('g', ['a']), [{ topic: 'a', partition: 0, lag: 700 }])
    }))

  test('another partition count than at creation is refused', () =>
    withFile(async open => {
      const { log, database } = open({ partitionsOf: () => 3 })
      await log.append([record('a', 'k', 'v')])
      database.close()
      assert.throws(
        () => open({ partitionsOf: () => 4 }),
        error => isAmbitError(error) && error.code === 'conflict',
      )
    }))
})

describe('sqlite event log retention', () => {
  const HOUR = 3_600_000

  test('prune deletes what outlived the retention of its topic, and gives no offset again', () =>
    withFile(async open => {
      const at = { ms: 0 }
      const { log, database } = open({ monotonicMs: () => at.ms })
      await log.append([...records('short', 2_500), ...records('kept', 3)])
      at.ms += 2 * HOUR
      await log.append(records('short', 2))
      const deleted = await log.prune(database.now(), topic => (topic === 'kept' ? -1 : HOUR))
      assert.equal(deleted, 2_500)
      const left = await log.readAt([
        { topic: 'short', partition: 0, offset: 2_499 },
        { topic: 'short', partition: 0, offset: 2_500 },
        { topic: 'kept', partition: 0, offset: 0 },
      ])
      assert.deepEqual(texts(left.flatMap(each => each ?? [])), ['0', '0'])
      at.ms += 2 * HOUR
      assert.equal(await log.prune(database.now(), () => HOUR), 5)
      assert.equal((await log.append(records('short', 1)))[0]?.offset, 2_502)
      database.close()
      const again = open({})
      assert.equal((await again.log.append(records('short', 1)))[0]?.offset, 2_503)
      assert.deepEqual(again.database.check(), [])
    }))

  test('compact keeps the newest of each key, all of the last hour, tombstones for a day', () =>
    withFile(async open => {
      const at = { ms: 0 }
      const { log } = open({ monotonicMs: () => at.ms })
      const put = (key: string, text: string | null) => log.append([record('c', key, text)])
      await put('a', '1')
      await put('b', '1')
      await put('a', '2')
      await put('b', null)
      assert.equal(await log.compact('c'), 0)
      at.ms += 2 * HOUR
      await put('a', '3')
      await put('a', '4')
      assert.equal(await log.compact('c'), 3)
      const got: LogRecord[] = []
      const following = await log.follow({
        topics: ['c'],
        from: 'beginning',
        onRecords: list => void got.push(...list),
      })
      await following.barrier()
      assert.deepEqual(texts(got), [null, '3', '4'])
      at.ms += 25 * HOUR
      assert.equal(await log.compact('c'), 2)
    }))
})

type OpenFile = (
  options: Partial<Pick<SqliteEventLogOptions, 'partitionsOf'>> & { monotonicMs?(): number },
) => { database: SqliteDatabase; log: SqliteEventLog }

async function withFile(body: (open: OpenFile) => Promise<void>): Promise<void> {
  const { directory, remove } = dataDirectory()
  const opened: SqliteDatabase[] = []
  try {
    await body(({ partitionsOf = () => 1, monotonicMs }) => {
      const database = openSqliteDatabase({ directory, clock: systemClock, monotonicMs })
      opened.push(database)
      const log = createSqliteEventLog({ database, clock: systemClock, partitionsOf })
      return { database, log }
    })
  } finally {
    for (const database of opened) database.close()
    remove()
  }
}
