/** What waits for a judge, and whether judging works, over all tenants. */
import type { ReadView } from './read-model.ts'
import { IS_ASKED } from './read-model-schema.ts'

/** Newest candidates that are looked at for failures. */
const LOOKED_AT_MAX = 500
const LATELY_MS = 10 * 60_000

export interface JudgingState {
  /** Candidates that were put to a person and wait for the answer. */
  asked: number
  /** Of the newest 500 candidates: evaluations that failed in the last ten minutes. */
  failedLately: number
}

const ASKED = `select count(*) as n from decisions where ${IS_ASKED}`

const FAILED = `
select count(*) as n from (select * from decisions order by row desc limit ${LOOKED_AT_MAX})
where fate = 'evaluation-failed' and at >= ?`

/** `nowMs`: ms since the epoch. */
export function judgingState(
  { database }: Pick<ReadView, 'database'>,
  nowMs: number,
): JudgingState {
  const count = (sql: string, ...values: number[]) =>
    database.get<{ n: number }>(sql, ...values)?.n ?? 0
  return { asked: count(ASKED), failedLately: count(FAILED, nowMs - LATELY_MS) }
}
