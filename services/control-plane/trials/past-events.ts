/** The events of the last hours that a subscription's declarative condition takes. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { compileFilters } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { TRIAL_BYTES_MAX } from '#kernel/domain/trial.ts'
import { type EventRow, eventBody } from '../read-model/event-query.ts'
import type { ReadView } from '../read-model/read-model.ts'

export interface PastEvents {
  /** Events looked at. */
  scanned: number
  /** Those that matched, oldest first, with the time at which they were accepted, ms. */
  matched: { event: CloudEvent; at: number }[]
  /** True when there were more than one backtest takes: the newest are kept. */
  isCut: boolean
}

const PAGE = 200
const SCANNED_MAX = 50_000
const MATCHED_MAX = 1000

/** Reads from the newest back to `fromMs`; events accepted after `untilMs` are left out. */
export async function pastEvents(
  view: ReadView,
  subscription: Subscription,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Promise<PastEvents> {
  const filters = compileFilters(matchSpecOf(subscription))
  const found: PastEvents = { scanned: 0, matched: [], isCut: false }
  let bytes = 0
  for await (const rows of pagesOf(view, subscription.tenant, fromMs)) {
    const inWindow = rows.filter(row => row.accepted_at >= fromMs && row.accepted_at <= untilMs)
    found.scanned += inWindow.length
    const bodies = await Promise.all(inWindow.map(row => eventBody(view, row)))
    for (const [at, event] of bodies.entries()) {
      if (!filters.test(event)) continue
      bytes += stringifyLossless(event).length
      found.isCut = found.matched.length >= MATCHED_MAX || bytes > TRIAL_BYTES_MAX
      if (found.isCut) return { ...found, matched: found.matched.reverse() }
      found.matched.push({ event, at: inWindow[at]?.accepted_at ?? 0 })
    }
    found.isCut = found.scanned >= SCANNED_MAX
    if (found.isCut) break
  }
  return { ...found, matched: found.matched.reverse() }
}

/** Pages from the newest row back; rows lie nearly in the order of time. */
async function* pagesOf({ database }: ReadView, tenant: string, fromMs: number) {
  let below = Number.MAX_SAFE_INTEGER
  for (;;) {
    const rows = database.all<EventRow & { row: number }>(
      'select * from events where row < ? and tenant = ? order by row desc limit ?',
      ...[below, tenant, PAGE],
    )
    if (rows.length > 0) yield rows
    if (rows.length < PAGE || rows.every(row => row.accepted_at < fromMs)) return
    below = rows.at(-1)?.row ?? 0
    await nextTurn()
  }
}
