/** The coming instants of schedules, as people read them. Pure. */

import type { CalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { comingInstants } from '#kernel/domain/schedule/coming-instants.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'

/** Instants shown with a subscription. */
const SHOWN = 10

/**
 * Up to ten coming instants, RFC 3339. Those of a subscription that waits for approval too: they
 * are what is approved. Empty for one that is not active, and for a schedule that is over.
 */
export function nextInstants(
  { tenant, schedule, state }: Subscription,
  nowMs: number,
  book: Pick<CalendarBook, 'find'>,
): string[] {
  if (!schedule || state.operation !== 'active' || state.approval === 'rejected') return []
  const coming = comingInstants(schedule, nowMs, SHOWN, book.find(tenant))
  return coming.map(({ atMs }) => new Date(atMs).toISOString())
}
