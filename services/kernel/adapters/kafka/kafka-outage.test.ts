/** What the contract cannot show: a broker that goes away, bad neighbours, outside transactions. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { isAmbitError } from '#kernel/errors.ts'
import {
  gate,
  keyIn,
  record,
  records,
  startMember,
  textOf,
  texts,
  until,
} from '#test/contract/event-log-world.ts'
import { type CuttableLog, openKafkaLog, TIMES } from '#test/contract/kafka-world.ts'
import { liveInfra, skipWithoutInfra } from '#test/support/live-infra.ts'

interface World extends CuttableLog {
  kafka: Kafka
  brokers: string[]
  prefix: string
}

async function withTopic(partitions: number, body: (world: World) => Promise<void>): Promise<void> {
  const brokers = liveInfra().AMBIT_KAFKA_BROKERS.split(',')
  const prefix = `outage-${randomBytes(6).toString('hex')}.`
  const kafka = new Kafka({ brokers, clientId: 'outage', logLevel: logLevel.NOTHING })
  const admin: Admin = kafka.admin()
  await admin.connect()
  const topic = `${prefix}a`
  await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] })
  const opened = openKafkaLog(brokers, prefix)
  try {
    await body({ ...opened, kafka, brokers, prefix })
  } finally {
    opened.mend()
    await opened.log.stop()
    await admin.deleteTopics({ topics: [topic] })
    await admin.disconnect()
  }
}

const isUnavailable = (error: unknown) => isAmbitError(error) && error.code === 'log-unavailable'

describe('Kafka log in trouble', { skip: skipWithoutInfra }, () => {
  test('an append without brokers is refused within seconds, and works again with them', () =>
    withTopic(1, async ({ log, cut, mend }) => {
      await log.append(records('a', 1))
      cut()
      const since = performance.now()
      await assert.rejects(log.append(records('a', 1)), isUnavailable)
      const took = performance.now() - since
      assert.ok(took < 8000, `took ${took} ms`)
      mend()
      await log.append([record('a', 'k', 'after')])
      const ends = await log.endOffsets(['a'])
      assert.ok((ends[0]?.offset ?? 0) >= 2)
    }))

  test('an append survives a short interruption', () =>
    withTopic(1, async ({ log, cut, mend }) => {
      await log.append(records('a', 1))
      cut()
      const appended = log.append([record('a', 'k', 'through')])
      setTimeout(mend, 500)
      const found = await log.readAt(await appended)
      assert.equal(textOf(found[0]?.value ?? null), 'through')
    }))

  test('a log that never reaches a broker says so', async () => {
    const { log } = openKafkaLog(['127.0.0.1:1'], 'nowhere.')
    await assert.rejects(log.append(records('a', 1)), isUnavailable)
    await assert.rejects(log.endOffsets(['a']), isUnavailable)
    await log.stop()
  })

  test('a topic that does not exist is refused at once', () =>
    withTopic(1, async ({ log }) => {
      await log.append(records('a', 1))
      const since = performance.now()
      await assert.rejects(log.append(records('nowhere', 1)), isUnavailable)
      assert.ok(performance.now() - since < 2000)
    }))

  test('members and followers go on after an interruption, without a gap', () =>
    withTopic(2, async ({ log, cut, mend }) => {
      await log.append(records('a', 10))
      const member = await startMember(log, { group: 'g', topics: ['a'] })
      const seen: string[] = []
      const following = await log.follow({
        topics: ['a'],
        from: 'beginning',
        onRecords: list => {
          seen.push(...texts(list).map(String))
        },
      })
      await until('both have ten', () => member.got.length >= 10 && seen.length >= 10)
      cut()
      setTimeout(mend, 1500)
      await until('the brokers answer', async () => {
        return log.append(records('a', 10)).then(
          () => true,
          () => false,
        )
      })
      await following.barrier()
      const positions = () => new Set(member.got.map(each => `${each.partition}@${each.offset}`))
      await until('the member has all', () => positions().size >= 20)
      assert.ok(seen.length >= 20)
    }))
})

describe('Kafka log in doubt', { skip: skipWithoutInfra }, () => {
  test('what was left undone while the owner was in doubt comes again before what is after it', t =>
    withTopic(1, async world => {
      const done: (string | null)[] = []
      const outside = openKafkaLog(world.brokers, world.prefix).log
      t.after(() => outside.stop())
      await world.log.consume({
        group: 'g',
        topics: ['a'],
        async handle(batch) {
          if (!batch.isOwned()) return
          await batch.commit((batch.records.at(-1)?.offset ?? 0) + 1)
          done.push(...texts(batch.records))
        },
      })
      await outside.append([record('a', 'k', 'before')])
      await until('it owns', () => done.length === 1)
      world.hold()
      await outside.append([record('a', 'k', 'in doubt')])
      // Longer than a member trusts its last heartbeat, shorter than the broker keeps it.
      await sleep((TIMES.rebalanceMs + TIMES.sessionMs) / 2)
      world.release()
      await sleep(2 * TIMES.heartbeatMs)
      await outside.append([record('a', 'k', 'after')])
      await until('the last one', () => done.includes('after'))
      assert.deepEqual(done, ['before', 'in doubt', 'after'])
    }))
})

describe('Kafka log with large records', { skip: skipWithoutInfra }, () => {
  test('a record that is too large fails alone', () =>
    withTopic(1, async ({ log }) => {
      await log.append(records('a', 1))
      const large = { ...record('a', 'k', null), value: new Uint8Array(2 * 1024 * 1024) }
      const [before, bad, after] = await Promise.allSettled([
        log.append([record('a', 'k', 'before')]),
        log.append([large]),
        log.append([record('a', 'k', 'after')]),
      ])
      assert.equal(before.status, 'fulfilled')
      assert.equal(after.status, 'fulfilled')
      assert.ok(bad.status === 'rejected' && isAmbitError(bad.reason))
      assert.equal(bad.reason.code, 'too-large')
    }))

  test('an append of more than a request may hold arrives whole and in order', () =>
    withTopic(1, async ({ log }) => {
      const value = new Uint8Array(200_000)
      const many = Array.from({ length: 40 }, (_, at) => ({ topic: 'a', key: `k${at}`, value }))
      const positions = await log.append(many)
      assert.deepEqual(
        positions.map(position => position.offset),
        many.map((_, at) => at),
      )
    }))
})

describe('Kafka log with others', { skip: skipWithoutInfra }, () => {
  test('a partition whose handler is stuck does not hold up another one', () =>
    withTopic(2, async ({ log }) => {
      const held = gate()
      const member = await startMember(
        log,
        { group: 'g', topics: ['a'] },
        { handle: async batch => (batch.partition === 0 ? held.opened : undefined) },
      )
      await log.append([record('a', keyIn(0, 2), 'stuck')])
      await until('the stuck batch', () => member.batches.length > 0)
      for (let at = 0; at < 20; at += 1) await log.append([record('a', keyIn(1, 2), String(at))])
      await until('twenty others', () => member.got.length >= 20)
      held.open()
      await until('the stuck one', () => member.got.length >= 21)
    }))

  test('what an outside transaction aborted is never seen, and barriers pass it', () =>
    withTopic(1, async ({ log, kafka, prefix }) => {
      const producer = kafka.producer({ transactionalId: `${prefix}tx`, maxInFlightRequests: 1 })
      await producer.connect()
      for (const [value, isKept] of [
        ['lost', false],
        ['kept', true],
        ['gone', false],
      ] as const) {
        const transaction = await producer.transaction()
        await transaction.send({ topic: `${prefix}a`, messages: [{ key: 'k', value }] })
        await (isKept ? transaction.commit() : transaction.abort())
      }
      await producer.disconnect()
      const seen: (string | null)[] = []
      const following = await log.follow({
        topics: ['a'],
        from: 'beginning',
        onRecords: list => {
          seen.push(...texts(list))
        },
      })
      await following.barrier()
      const member = await startMember(log, { group: 'g', topics: ['a'] })
      await until('the member', () => member.got.length > 0)
      assert.deepEqual([seen, texts(member.got)], [['kept'], ['kept']])
    }))
})
