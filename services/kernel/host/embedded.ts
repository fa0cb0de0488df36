/** The embedded backbone: one SQLite file for log and store. */
import { openSqliteDatabase } from '#kernel/adapters/sqlite/sqlite-database.ts'
import { createSqliteEventLog } from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { createSqliteStateStore } from '#kernel/adapters/sqlite/sqlite-state-store.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { TOPICS, topicRow } from '#topologies/topics.ts'
import type { Backbone } from './backbone.ts'
import type { Configuration } from './configuration.ts'

/** Partitions of every topic in the embedded host; one process needs few. */
const PARTITIONS = 4
const MAINTENANCE_EVERY_MS = 60_000

/** Opens the file in the data folder; throws when another process has it. */
export function openEmbedded(configuration: Configuration, clock: Clock): Backbone {
  const partitions = configuration.AMBIT_PARTITIONS ?? PARTITIONS
  const database = openSqliteDatabase({ directory: configuration.AMBIT_DATA_DIR, clock })
  const log = createSqliteEventLog({
    database,
    clock,
    partitionsOf: topic => (topicRow(topic) ? partitions : undefined),
  })
  const store = createSqliteStateStore({ database, log })
  const maintenance = setInterval(() => {
    void maintain().catch(() => {
      // A busy or full disk: writers see it and say so; the next round tries again.
    })
  }, MAINTENANCE_EVERY_MS)
  maintenance.unref()
  const maintain = async () => {
    await log.prune(clock.now(), topic => {
      const row = topicRow(topic)
      return row && row.cleanup === 'delete' ? row.retentionMs : -1
    })
    for (const [topic, { cleanup }] of Object.entries(TOPICS)) {
      if (cleanup === 'compact') await log.compact(topic)
    }
    await store.sweep()
  }
  return {
    kind: 'embedded',
    log,
    store,
    codec: createRecordCodec(),
    async stop() {
      clearInterval(maintenance)
      await log.stop()
      await store.stop()
      database.close()
    },
  }
}
