/**
 * A process that is killed by its test: appends and commits without end, and prints an
 * acknowledgement line for each only after it resolved. Argument: the data directory.
 */
import { writeSync } from 'node:fs'
import { createSqliteEventLog } from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { createSqliteStateStore } from '#kernel/adapters/sqlite/sqlite-state-store.ts'
import { openDatabase, systemClock } from './sqlite-world.ts'

const database = openDatabase(process.argv[2] ?? '')
const log = createSqliteEventLog({ database, clock: systemClock, partitionsOf: () => 4 })
const store = createSqliteStateStore({ database, log })
const ROUNDS_MAX = 200_000
const WRITERS = 8

async function write(writer: number): Promise<void> {
  const key = `w${writer}`
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const value = new TextEncoder().encode(`${key}/${round}`)
    const [position] = await log.append([{ topic: 'direct', key, value }])
    writeSync(1, `append ${JSON.stringify({ ...position, text: `${key}/${round}` })}\n`)
    await store.commit({
      tenant: 't',
      expect: { [key]: round - 1 },
      put: [{ key, version: round, body: '{}' }],
      append: [{ topic: 'output', key, value }],
    })
    writeSync(1, `commit ${JSON.stringify({ key, round })}\n`)
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
