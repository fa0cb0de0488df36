/** Where the instants of an anchor lie: an edge of a meeting, and a signed distance from it. */
import type { Anchor } from '../trigger.ts'
import type { CalendarObject, Meeting } from './calendar-object.ts'
import { type Edge, type Instance, nextInstances } from './expand-object.ts'

/** An anchored instant. */
export interface AnchorInstant {
  /** When it is due, ms since the epoch: the edge and the offset together. */
  atMs: number
  uid: string
  /** See `Instance`. */
  recurrenceId: string | null
  edge: Edge
  /** The instant of the edge itself. */
  anchorMs: number
  summary: string
}

/**
 * The next instants of an anchor after `afterMs`, ascending, at most `limit`. `objects` may be all
 * of a calendar, or of several; cancelled instances give none. Pure: the same objects give the
 * same instants, whatever was asked before.
 */
export function anchorsOf(
  anchor: Anchor['anchor'],
  objects: Iterable<CalendarObject>,
  afterMs: number,
  limit: number,
): AnchorInstant[] {
  const { edge, offsetMs } = anchor
  const found: AnchorInstant[] = []
  for (const object of objects) {
    if (!concerns(anchor, object)) continue
    const accept = (meeting: Meeting) =>
      meeting.status !== 'cancelled' && matchesAnchor(anchor, meeting)
    const query = { edge, afterMs: afterMs - offsetMs, limit, accept }
    for (const instance of nextInstances(object, query)) found.push(anchored(instance, anchor))
  }
  found.sort((a, b) => a.atMs - b.atMs || (a.uid < b.uid ? -1 : 1))
  return found.slice(0, limit)
}

function anchored(instance: Instance, { edge, offsetMs }: Anchor['anchor']): AnchorInstant {
  const { uid, recurrenceId, startMs, endMs, meeting } = instance
  const anchorMs = edge === 'start' ? startMs : endMs
  return { atMs: anchorMs + offsetMs, uid, recurrenceId, edge, anchorMs, summary: meeting.summary }
}

/** May an object give instants of the anchor: right calendar, and its UID or a fitting meeting? */
export function concerns(anchor: Anchor['anchor'], object: CalendarObject): boolean {
  if (object.calendar !== anchor.calendar) return false
  if (anchor.uid !== undefined) return object.uid === anchor.uid
  const { main, exceptions } = object
  return [main, ...exceptions].some(part => part !== null && matchesAnchor(anchor, part))
}

/** Members of a query hold together; letters are compared without case, as CalDAV does. */
function matchesAnchor({ query }: Anchor['anchor'], meeting: Meeting): boolean {
  if (!query) return true
  const { attendee, category, summaryPrefix } = query
  const has = (list: readonly string[], wanted: string) =>
    list.some(item => item.toLowerCase() === wanted.toLowerCase())
  const address = attendee?.replace(/^mailto:/i, '')
  return (
    (address === undefined || has(meeting.attendees, address)) &&
    (category === undefined || has(meeting.categories, category)) &&
    (summaryPrefix === undefined ||
      meeting.summary.toLowerCase().startsWith(summaryPrefix.toLowerCase()))
  )
}

/**
 * Why an anchor to one object will never be due again: it is not in the calendar, or it was
 * cancelled as a whole. `null` while it stands; a query is never lost.
 */
export function lostAnchor(
  anchor: Anchor['anchor'],
  object: CalendarObject | undefined,
): 'deleted' | 'cancelled' | null {
  if (anchor.uid === undefined) return null
  if (!object) return 'deleted'
  const { main, exceptions } = object
  if (main) return main.status === 'cancelled' ? 'cancelled' : null
  return exceptions.every(({ status }) => status === 'cancelled') ? 'cancelled' : null
}
