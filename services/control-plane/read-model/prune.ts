/** Forgetting what is older than the window, a bite at a time: writing never waits for it. */
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import { IS_ASKED } from './read-model-schema.ts'

/** Rows looked at, per table and bite. */
const BITE = 500

/** A settled message never changes again, so only its age speaks for keeping it. */
const SETTLED = "('done', 'dead', 'cancelled', 'expired')"

/** Instants before which rows may go, ms since the epoch. */
export interface Cutoffs {
  /** Events, decisions, settled messages. */
  recentMs: number
  /** What is kept as long as its topic keeps it: notices, dead letters, questions, usage. */
  longMs: number
}

interface Aged {
  table: string
  /** Instant of a row, in SQL. */
  at: string
  cutoff: keyof Cutoffs
  /** Rows that stay whatever their age, in SQL. */
  keep?: string
}

/** What waits for a person is listed as long as it waits. */
const AGED: readonly Aged[] = [
  { table: 'events', at: 'accepted_at', cutoff: 'recentMs' },
  { table: 'decisions', at: 'coalesce(at, matched_at)', cutoff: 'recentMs', keep: IS_ASKED },
  { table: 'notices', at: 'at', cutoff: 'longMs' },
  { table: 'deadletters', at: 'at', cutoff: 'longMs' },
  { table: 'approvals', at: 'coalesce(asked_at, answered_at)', cutoff: 'longMs' },
  { table: 'usage_seen', at: 'at', cutoff: 'longMs' },
]

/** Records between two bites: half a bite, so that old rows go faster than new ones come. */
const EVERY_RECORDS = 250

/** Call it with every batch written, and its size; most calls do nothing. */
export type Pruner = (cutoffs: Cutoffs, written: number) => void

export function createPruner(database: ProjectionDatabase): Pruner {
  let place = 0
  let sinceBite = 0

  /** Old messages that are still open stay, so the bites walk through the whole table. */
  function pruneMessages(cutoff: number): void {
    const bite = database.all<{ row: number; id: string; is_old: number }>(
      `select row, id, state in ${SETTLED} and changed_at < ? as is_old
       from messages where row > ? order by row limit ${BITE}`,
      cutoff,
      place,
    )
    place = bite.length < BITE ? 0 : (bite.at(-1)?.row ?? 0)
    for (const { row, id, is_old } of bite) {
      if (!is_old) continue
      database.run('delete from messages where row = ?', row)
      database.run('delete from transitions where message_id = ?', id)
    }
  }

  return (cutoffs, written) => {
    sinceBite += written
    if (sinceBite < EVERY_RECORDS) return
    sinceBite = 0
    pruneMessages(cutoffs.recentMs)
    for (const aged of AGED) pruneAged(database, aged, cutoffs[aged.cutoff])
    const day = new Date(cutoffs.longMs).toISOString().slice(0, 10)
    database.run('delete from usage_sums where day < ?', day)
  }
}

/** Rows arrive nearly in the order of time, so the old ones are at the beginning. */
function pruneAged(database: ProjectionDatabase, { table, at, keep }: Aged, cutoff: number): void {
  const mayGo = keep ? `(${keep}) is not true` : 'true'
  const oldestOf = (limit: number) =>
    database.all<{ row: number; at: number }>(
      `select row, ${at} as at from ${table} where ${mayGo} order by row limit ${limit}`,
    )
  // Most times nothing is old enough, and one row tells.
  const [first] = oldestOf(1)
  if (!first || first.at >= cutoff) return
  const oldest = oldestOf(BITE)
  const kept = oldest.findIndex(row => row.at >= cutoff)
  const last = kept < 0 ? oldest.at(-1) : oldest[kept - 1]
  if (last) database.run(`delete from ${table} where row <= ? and ${mayGo}`, last.row)
}
