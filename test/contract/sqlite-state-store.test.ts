/** The SQLite state store keeps the contract, and what only it promises. */
import { createSqliteEventLog } from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { createSqliteStateStore } from '#kernel/adapters/sqlite/sqlite-state-store.ts'
import { dataDirectory, openDatabase, systemClock } from './sqlite-world.ts'
import { type StateStoreWorld, stateStoreContract, waitForStoreTime } from './state-store.ts'

async function makeWorld(): Promise<StateStoreWorld> {
  const { directory, remove } = dataDirectory()
  const database = openDatabase(directory)
  const partitionsOf = (topic: string) => (topic === 't' ? 2 : undefined)
  const events = createSqliteEventLog({ database, clock: systemClock, partitionsOf })
  const store = createSqliteStateStore({ database, log: events })
  return {
    store,
    open: async () => createSqliteStateStore({ database, log: events }),
    advance: ms => waitForStoreTime(store, ms),
    log: { events, topic: 't' },
    async stop() {
      await store.stop()
      await events.stop()
      database.close()
      remove()
    },
  }
}

stateStoreContract('sqlite state store', makeWorld)
