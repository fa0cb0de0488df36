/** The SQLite event log keeps the contract, and what only it promises. */
import { join } from 'node:path'
import { createSqliteEventLog } from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { eventLogContract } from './event-log.ts'
import type { EventLogWorld, TopicSettings } from './event-log-world.ts'
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
