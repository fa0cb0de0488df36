/** What schedules missed, as their `time.missed` events tell it. */
import { type EventRow, eventBody } from './event-query.ts'
import type { ReadView } from './read-model.ts'

/** One gap: due instants of a subscription that were not fired. */
export interface MissedGap {
  subscription: string
  /** First and last of them, RFC 3339. */
  from: string
  to: string
  count: number
  reason: string
}

/** Gaps looked at for one question. */
const GAPS_MAX = 1000

/** The newest gaps that were told since an instant, ms since the epoch. */
export async function missedSince(
  view: ReadView,
  tenant: string,
  sinceMs: number,
): Promise<MissedGap[]> {
  const rows = view.database.all<EventRow>(
    `select * from events where type = 'time.missed' and tenant = ? and accepted_at >= ?
     order by row desc limit ${GAPS_MAX}`,
    ...[tenant, sinceMs],
  )
  const events = await Promise.all(rows.map(row => eventBody(view, row)))
  // The body is the scheduler's own; one that retention took has no data.
  return events.flatMap(({ data }) => (data ? [data as MissedGap] : []))
}
