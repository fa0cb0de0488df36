/** All that a host has written, read past it: every record of every topic, and the whole store. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import type { HostProcess } from './host-process.ts'
import { liveInfra } from './live-infra.ts'

/**
 * A line of its own for every record (`topic decisions key value`) and every entry of the store
 * (`document …`, `counter …`), with what it holds. Not in it: signs of life, and who owns which
 * partition with what it may still have to append. A record that was appended twice is one line:
 * whoever takes a partition over repeats what it finds unconfirmed, and that changes nothing.
 */
export type StateDump = ReadonlyMap<string, string>

/** Reads everything. An embedded host must be stopped: its file is its own while it runs. */
export function dumpState(host: HostProcess): Promise<StateDump> {
  return host.kind === 'embedded' ? dumpFile(host.dataDir) : dumpLive(host.topicPrefix)
}

/** Names of lines that came, went, or hold something else. */
export function changesBetween(before: StateDump, after: StateDump): string[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter(name => before.get(name) !== after.get(name)).sort()
}

/** Marks, fences and outboxes of owners, and the store's clock. */
const isOwnership = (key: string) => /\bmark\/|:f:fence\/|:o:outbox\/|:clock$/.test(key)
const isSignOfLife = (key: string) => key.startsWith('heartbeat')

async function dumpFile(directory: string): Promise<StateDump> {
  const dump = new Map<string, string>()
  const file = new DatabaseSync(join(directory, 'ambit.sqlite'), { readOnly: true })
  const all = (sql: string) => file.prepare(sql).all() as Record<string, unknown>[]
  try {
    for (const row of all(`select topic.name, cast(key as text) as key,
      hex(value) as value from log join topic on topic.id = stream / 1024`)) {
      const { name, key, value } = row
      if (isSignOfLife(String(key))) continue
      dump.set(`topic ${name} ${key} ${value}`, '')
    }
    for (const { tenant, key, body } of all('select tenant, key, body from document'))
      if (!isOwnership(String(key))) dump.set(`document ${tenant} ${key}`, String(body))
    for (const { tenant, counter, field, amount } of all('select * from counter'))
      dump.set(`counter ${tenant} ${counter} ${field}`, String(amount))
    for (const { tenant, queue, id, at } of all('select * from due'))
      dump.set(`due ${tenant} ${queue} ${id}`, String(at))
    return dump
  } finally {
    file.close()
  }
}

async function dumpLive(prefix: string): Promise<StateDump> {
  const { AMBIT_KAFKA_BROKERS: brokers, AMBIT_REDIS_URL: redisUrl } = liveInfra()
  const dump = new Map<string, string>()
  await readTopics(brokers.split(','), prefix, dump)
  await readKeys(redisUrl, prefix.replace(/\.$/, ':'), dump)
  return dump
}

async function readTopics(brokers: string[], prefix: string, dump: Map<string, string>) {
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter(topic => topic.startsWith(prefix))
  const left = new Map<string, number>()
  for (const topic of topics) {
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
      if (Number(high) > Number(low)) left.set(`${topic}/${partition}`, Number(high))
  }
  const groupId = `${prefix}dump-${Date.now()}`
  const consumer = kafka.consumer({ groupId })
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachBatch: async ({ batch: { topic, partition, messages } }) => {
          const name = `${topic}/${partition}`
          for (const { offset, key, value } of messages) {
            if (isSignOfLife(String(key)) || Number(offset) >= (left.get(name) ?? Infinity))
              continue
            const text = value?.toString('hex')
            dump.set(`topic ${topic.slice(prefix.length)} ${key} ${text}`, '')
          }
          if (Number(messages.at(-1)?.offset) + 1 >= (left.get(name) ?? 0)) left.delete(name)
          if (left.size === 0) resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
  await admin.deleteGroups([groupId])
  await admin.disconnect()
}

async function readKeys(url: string, prefix: string, dump: Map<string, string>) {
  const redis = new Redis(url)
  for (const match of [`${prefix}*`, `{${prefix}*`]) {
    for await (const keys of redis.scanStream({ match, count: 1000 })) {
      for (const key of keys as string[]) {
        if (!isOwnership(key))
          dump.set(`key ${key}`, (await redis.dumpBuffer(key))?.toString('hex') ?? '')
      }
    }
  }
  await redis.quit()
}
