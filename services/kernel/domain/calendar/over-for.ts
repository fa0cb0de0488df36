/** How long a meeting had been over when it was taken out of its calendar. */
import type { CalendarObject } from './calendar-object.ts'
import { type Edge, nextInstances } from './expand-object.ts'

/** Ms since its last start and its last end; absent where one was still to come. */
export type OverFor = Partial<Record<Edge, number>>

/** Nobody anchors farther from a meeting than a leap year, so nothing older makes a difference. */
export const OVER_FOR_MAX_MS = 366 * 86_400_000
/** To the minute, and never more than it was. */
const PRECISION_MS = 60_000

/** Of both edges; cancelled instances count too. */
export function overFor(object: CalendarObject, atMs: number): OverFor {
  const start = overSince(object, 'start', atMs)
  const end = overSince(object, 'end', atMs)
  return { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) }
}

function overSince(object: CalendarObject, edge: Edge, atMs: number): number | undefined {
  const isOver = (ms: number) => {
    const query = { edge, afterMs: atMs - ms, limit: 1, accept: () => true }
    return nextInstances(object, query).length === 0
  }
  if (!isOver(0)) return undefined
  if (isOver(OVER_FOR_MAX_MS)) return OVER_FOR_MAX_MS
  let [over, notYet] = [0, OVER_FOR_MAX_MS]
  while (notYet - over > PRECISION_MS) {
    const middle = Math.floor((over + notYet) / 2)
    if (isOver(middle)) over = middle
    else notYet = middle
  }
  return over
}
