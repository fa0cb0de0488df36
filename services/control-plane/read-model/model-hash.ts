/** A digest of everything the read model says, for comparing it with a rebuilt one (I18). */
import { createHash } from 'node:crypto'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { Cutoffs } from './prune.ts'

/** Content of each table in an order of its own, without the order of arrival. */
const CONTENTS = [
  ['events', 'hash, tenant, source, id', 'accepted_at >= :recent'],
  ['decisions', 'candidate_id', 'coalesce(at, matched_at) >= :recent'],
  ['last_fates', 'tenant, subscription', 'at >= :long'],
  ['messages', 'id', 'changed_at >= :recent'],
  [
    'transitions',
    'message_id, version',
    'message_id in (select id from messages where changed_at >= :recent)',
  ],
  ['notices', 'id', 'at >= :long'],
  ['acknowledgements', 'tenant, id', 'true'],
  ['erasures', 'tenant, source, id', 'true'],
  ['approvals', 'id', 'coalesce(asked_at, answered_at) >= :long'],
  ['deadletters', 'id', 'at >= :long'],
  ['audit', 'change_id', 'true'],
  ['usage_sums', 'tenant, day, subscription, owner, agent', "day >= ':day'"],
] as const

/** Columns that say when this copy saw a row, or what was done with it here alone. */
const OWN_COLUMNS = new Set(['row', 'redriven_at'])

/** SHA-256 over all rows inside the windows. Reads everything; for tests and `doctor`. */
export function hashModel(database: ProjectionDatabase, cutoffs: Cutoffs): string {
  const hash = createHash('sha256')
  const day = new Date(cutoffs.longMs).toISOString().slice(0, 10)
  for (const [table, order, condition] of CONTENTS) {
    const where = condition
      .replaceAll(':recent', String(cutoffs.recentMs))
      .replaceAll(':long', String(cutoffs.longMs))
      .replaceAll(':day', day)
    const sql = `select * from ${table} where ${where} order by ${order}`
    for (const row of database.all<Record<string, unknown>>(sql)) {
      const shown = Object.entries(row).filter(([column]) => !OWN_COLUMNS.has(column))
      hash.update(`${table}${JSON.stringify(shown)}\n`)
    }
  }
  return hash.digest('hex')
}
