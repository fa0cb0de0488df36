/**
 * The floor of the embedded host: a loop that appends the rows which the pipeline wrote, with the
 * same flush (`synchronous=FULL` behind a group commit), and does nothing else.
 * `bare-loop.ts FILE EVENTS BATCH WRITERS`; prints events per second.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqliteDatabase } from '#kernel/adapters/sqlite/sqlite-database.ts'
import { createSqliteEventLog } from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { systemClock } from '#kernel/adapters/system/system-clock.ts'

/** Mean bytes of a row and rows of an event, as the pipeline's own file shows them. */
export interface RowShape {
  rowsPerEvent: number
  bytesPerRow: number
}

/** Reads the shape from the file of a run of `events` events. */
export function readShape(directory: string, events: number): RowShape {
  const database = new DatabaseSync(join(directory, 'ambit.sqlite'), { readOnly: true })
  try {
    const row = database
      .prepare('select count(*) as rows, sum(length(value) + length(headers)) as bytes from log')
      .get() as { rows: number; bytes: number }
    return { rowsPerEvent: row.rows / events, bytesPerRow: row.bytes / row.rows }
  } finally {
    database.close()
  }
}

/** Events per second of the bare loop. */
export async function runBareLoop(
  shape: RowShape,
  load: { events: number; batch: number; writers: number },
): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'ambit-floor-'))
  const database = openSqliteDatabase({ directory, clock: systemClock })
  const log = createSqliteEventLog({ database, clock: systemClock, partitionsOf: () => 4 })
  const value = Buffer.alloc(Math.round(shape.bytesPerRow), 'x')
  let left = load.events
  const write = async () => {
    while (left > 0) {
      const events = Math.min(load.batch, left)
      left -= events
      const rows = Math.round(events * shape.rowsPerEvent)
      await log.append(
        Array.from({ length: rows }, (_, n) => ({ topic: 'floor', key: `key-${n}`, value })),
      )
    }
  }
  const begin = performance.now()
  await Promise.all(Array.from({ length: load.writers }, write))
  const seconds = (performance.now() - begin) / 1000
  await log.stop()
  database.close()
  rmSync(directory, { recursive: true, force: true })
  return load.events / seconds
}
