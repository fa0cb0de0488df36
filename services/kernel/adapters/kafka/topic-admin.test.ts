import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { Kafka, logLevel } from 'kafkajs'
import { isAmbitError } from '#kernel/errors.ts'
import { liveInfra, skipWithoutInfra } from '#test/support/live-infra.ts'
import { EXT_INGRESS, TOPICS } from '#topologies/topics.ts'
import { createTopicAdmin, topicSettings } from './topic-admin.ts'

const HOUR_MS = 3_600_000

test('a deleting topic keeps its retention and rolls segments within a day', () => {
  const settings = topicSettings({ cleanup: 'delete', retentionMs: 7 * 24 * HOUR_MS })
  assert.equal(settings['cleanup.policy'], 'delete')
  assert.equal(settings['retention.ms'], String(7 * 24 * HOUR_MS))
  assert.equal(settings['segment.ms'], String(24 * HOUR_MS))
})

test('an hour of retention means segments of an hour', () => {
  const settings = topicSettings({ cleanup: 'delete', retentionMs: HOUR_MS })
  assert.equal(settings['segment.ms'], String(HOUR_MS))
})

test('a compacted topic leaves records alone for an hour', () => {
  const settings = topicSettings({ cleanup: 'compact', retentionMs: -1 })
  assert.equal(settings['min.compaction.lag.ms'], String(HOUR_MS))
  assert.equal(settings['retention.ms'], '-1')
})

describe('topic admin', { skip: skipWithoutInfra }, () => {
  const prefix = `admin-${randomBytes(4).toString('hex')}.`
  const plan = { partitions: 2, replicationFactor: 1 }
  const connect = () => createTopicAdmin({ brokers: brokers(), prefix })
  const brokers = () => liveInfra().AMBIT_KAFKA_BROKERS.split(',')

  after(async () => {
    const kafka = new Kafka({ brokers: brokers(), logLevel: logLevel.NOTHING })
    const admin = kafka.admin()
    await admin.connect()
    const mine = (await admin.listTopics()).filter(topic => topic.startsWith(prefix))
    await admin.deleteTopics({ topics: mine })
    await admin.disconnect()
  })

  test('creates the whole catalogue, and then there is nothing to do', async () => {
    const admin = connect()
    const catalogue = { ...TOPICS, 'ingress.ext.acme': EXT_INGRESS }
    const planned = await admin.diff(catalogue, plan)
    assert.deepEqual(new Set(planned.map(({ action }) => action)), new Set(['create']))
    assert.equal(planned.length, Object.keys(catalogue).length)
    assert.deepEqual(await admin.apply(catalogue, plan), planned)
    assert.deepEqual(await admin.diff(catalogue, plan), [])
    assert.deepEqual(await admin.apply(catalogue, plan), [])
    await admin.stop()
  })

  test('alters what differs, names it, and leaves other settings alone', async () => {
    const admin = connect()
    const before = { probe: { cleanup: 'delete', retentionMs: HOUR_MS } } as const
    const after = { probe: { cleanup: 'delete', retentionMs: 2 * HOUR_MS } } as const
    await admin.apply(before, plan)
    const changed = await admin.apply(after, plan)
    assert.deepEqual(changed, [
      {
        topic: `${prefix}probe`,
        action: 'alter',
        was: { 'retention.ms': String(HOUR_MS), 'segment.ms': String(HOUR_MS) },
        want: { 'retention.ms': String(2 * HOUR_MS), 'segment.ms': String(2 * HOUR_MS) },
      },
    ])
    assert.deepEqual(await admin.diff(after, plan), [])
    await admin.stop()
  })

  test('refuses another partition count before it changes anything', async () => {
    const admin = connect()
    const row = { cleanup: 'delete', retentionMs: HOUR_MS } as const
    await admin.apply({ fixed: row }, plan)
    const wish = { fixed: row, other: row }
    await assert.rejects(
      admin.apply(wish, { ...plan, partitions: 3 }),
      error =>
        isAmbitError(error) &&
        error.code === 'conflict' &&
        error.facts.expected === '3' &&
        error.facts.actual === '2',
    )
    const left = await admin.diff(wish, plan)
    assert.deepEqual(
      left.map(({ topic, action }) => [topic, action]),
      [[`${prefix}other`, 'create']],
    )
    await admin.stop()
  })
})

test('a cluster that is away is log-unavailable', async () => {
  const admin = createTopicAdmin({ brokers: ['127.0.0.1:1'] })
  await assert.rejects(
    admin.diff(TOPICS, { partitions: 1, replicationFactor: 1 }),
    error => isAmbitError(error) && error.code === 'log-unavailable',
  )
  await admin.stop()
})
