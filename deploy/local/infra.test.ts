import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { liveInfra, skipWithoutInfra } from '#test/support/live-infra.ts'
import {
  type InfraSettings,
  killKafka,
  killRedis,
  privateInfraSettings,
  restartKafka,
  restartRedis,
  startKafka,
  startRedis,
  stopKafka,
  stopRedis,
} from './infra.ts'

// Chaos tests stand on these promises: a restart that silently made a new broker, or a kill that
// was in truth a clean stop, would let every one of them pass for nothing.
describe('local services that a test may break', { skip: skipWithoutInfra }, () => {
  let folder: string
  let settings: InfraSettings

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ambit-infra-'))
    settings = privateInfraSettings(join(folder, 'run'))
  })
  after(async () => {
    await Promise.all([killKafka(settings), killRedis(settings)])
    rmSync(folder, { recursive: true, force: true })
  })

  it('a private broker keeps address and records over a clean stop and a kill', async () => {
    const broker = await startKafka(settings)
    assert.notEqual(broker, liveInfra().AMBIT_KAFKA_BROKERS)
    const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING })
    await withAdmin(kafka, admin => admin.createTopics({ topics: [{ topic: 'kept' }] }))
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({ topic: 'kept', messages: [{ value: 'a' }] })
    await producer.disconnect()
    await restartKafka(settings, 'clean')
    await restartKafka(settings, 'kill')
    assert.equal(await startKafka(settings), broker)
    const [end] = await withAdmin(kafka, admin => admin.fetchTopicOffsets('kept'))
    assert.equal(end?.high, '1')
    await stopKafka(settings)
  })

  it('a private Redis comes back on its address, empty', async () => {
    const url = await startRedis(settings)
    for (const how of ['clean', 'kill'] as const) {
      const redis = new Redis(url)
      assert.equal(await redis.get('key'), null)
      await redis.set('key', how)
      redis.disconnect()
      await restartRedis(settings, how)
      assert.equal(await startRedis(settings), url)
    }
    await stopRedis(settings)
  })
})

async function withAdmin<T>(
  kafka: Kafka,
  work: (admin: ReturnType<Kafka['admin']>) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}
