/** Deleting from the log: by age, and by key. Always in bites, so that nobody waits long. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LogStreams } from './log-streams.ts'
import type { Stream } from './log-topics.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

export interface RetentionContext {
  database: SqliteDatabase
  streams: LogStreams
}

export interface CompactSettings {
  /** Younger records stay, so that a reader who keeps up sees each. Default one hour, in ms. */
  lagMs?: number
  /** A key's last record without a value goes after this. Default one day, in ms. */
  tombstoneMs?: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Rows per transaction: about 3 ms of work. */
const BITE_ROWS = 1_000

const PRUNE =
  'delete from log where seq in (select seq from log ' +
  'where stream = ? and "offset" < ? order by "offset" limit ?)'
const DELETE = 'delete from log where stream = ? and "offset" = ?'
const SCAN =
  'select "offset", ts, key, value is null as empty from log ' +
  'where stream = ? and "offset" >= ? and "offset" < ? order by "offset" limit ?'

interface ScannedRow {
  offset: number
  ts: number
  key: string
  isTombstone: boolean
}

/** Deletes what is older than each topic's retention; -1 keeps all. Resolves with the count. */
export async function pruneTopics(
  { database, streams }: RetentionContext,
  nowMs: number,
  retentionOf: (topic: string) => number,
): Promise<number> {
  let deleted = 0
  for (const topic of streams.storedTopics()) {
    const retentionMs = retentionOf(topic)
    if (retentionMs < 0) continue
    for (const stream of streams.of(topic)) {
      const end = streams.firstSince(stream, nowMs - retentionMs)
      deleted += await pruneStream({ database, streams }, stream, end)
    }
  }
  return deleted
}

async function pruneStream(
  { database, streams }: RetentionContext,
  stream: Stream,
  end: number,
): Promise<number> {
  if (streams.firstOffset(stream) >= end) return 0
  let deleted = 0
  for (let bite = BITE_ROWS; bite === BITE_ROWS; deleted += bite) {
    bite = await database.write('log-unavailable', 0, () =>
      Number(database.statement(PRUNE).run(stream.id, end, BITE_ROWS).changes),
    )
    await nextTurn()
  }
  streams.dropTail(stream)
  return deleted
}

/** Of each key only the newest record stays, once older ones have reached `lagMs`. */
export async function compactTopic(
  context: RetentionContext,
  topic: string,
  settings: CompactSettings = {},
): Promise<number> {
  const { lagMs = HOUR_MS, tombstoneMs = DAY_MS } = settings
  const nowMs = context.database.now()
  let deleted = 0
  for (const stream of context.streams.of(topic)) {
    const newest = new Map<string, number>()
    for await (const rows of scan(context, stream)) {
      for (const { key, offset } of rows) newest.set(key, offset)
    }
    for await (const rows of scan(context, stream)) {
      const old = rows.filter(({ key, offset, ts, isTombstone }) => {
        if (ts > nowMs - lagMs) return false
        if (offset < (newest.get(key) ?? 0)) return true
        return isTombstone && ts <= nowMs - tombstoneMs
      })
      deleted += await deleteRows(context, stream, old)
    }
  }
  return deleted
}

/** The records that were durable at the start, a bite at a time. */
async function* scan({ database }: RetentionContext, stream: Stream) {
  const end = stream.durableEnd
  for (let from = 0; from < end; ) {
    const rows = database.read('log-unavailable', () =>
      database.statement(SCAN).all(stream.id, from, end, BITE_ROWS).map(scannedRow),
    )
    const last = rows.at(-1)
    if (!last) return
    yield rows
    from = last.offset + 1
    await nextTurn()
  }
}

function scannedRow(row: Record<string, unknown>): ScannedRow {
  const { offset, ts, key, empty } = row
  const text = key instanceof Uint8Array ? Buffer.from(key).toString('latin1') : ''
  return { offset: Number(offset), ts: Number(ts), key: text, isTombstone: empty === 1 }
}

async function deleteRows(
  { database, streams }: RetentionContext,
  stream: Stream,
  rows: ScannedRow[],
): Promise<number> {
  if (rows.length === 0) return 0
  await database.write('log-unavailable', 0, () => {
    for (const { offset } of rows) database.statement(DELETE).run(stream.id, offset)
  })
  streams.dropTail(stream)
  return rows.length
}
