/** An import into a calendar: only what changed is written. */
import {
  CALENDAR_OBJECT_KIND,
  type CalendarObject,
} from '#kernel/domain/calendar/calendar-object.ts'
import { compareObjects } from '#kernel/domain/calendar/compare-objects.ts'
import { nextInstances } from '#kernel/domain/calendar/expand-object.ts'
import type { ParsedIcs } from '#kernel/domain/calendar/parse-ics.ts'
import type { CalendarPlace, CalendarStore, CalendarWrite } from './calendar-store.ts'

/** How long a meeting is kept after its last instance ended, ms. */
export const PAST_KEPT_MS = 31 * 86_400_000

/** What an import did; `changed` counts new objects too. */
export interface ImportResult {
  objects: number
  changed: number
  removed: number
  skipped: ParsedIcs['skipped']
}

/** Left-out components that an answer lists. */
const SKIPPED_SHOWN_MAX = 100

export interface ImportOptions {
  /** Leaves out new objects that were over before this instant, ms since the epoch. */
  overBeforeMs?: number
}

/**
 * Makes the calendar hold what was parsed, no less and no more. Objects of which a component could
 * not be read stay as they were. The caller holds the calendar exclusively.
 */
export async function importObjects(
  store: CalendarStore,
  place: CalendarPlace,
  parsed: ParsedIcs,
  { overBeforeMs }: ImportOptions = {},
): Promise<ImportResult> {
  await store.barrier()
  const stored = store.objects(place)
  const kept = new Set(parsed.skipped.flatMap(({ uid }) => uid ?? []))
  const present = parsed.objects.filter(
    object => overBeforeMs === undefined || stored.has(object.uid) || !isOver(object, overBeforeMs),
  )
  const { changed, removed } = compareObjects(stored, present, kept)
  const writes: CalendarWrite[] = [
    ...changed.map(({ object }) => objectWrite(object.uid, object)),
    ...removed.map(uid => objectWrite(uid, null)),
  ]
  await store.write(place, writes)
  return {
    objects: store.objects(place).size,
    changed: changed.length,
    removed: removed.length,
    skipped: parsed.skipped.slice(0, SKIPPED_SHOWN_MAX),
  }
}

export function objectWrite(uid: string, doc: CalendarObject | null): CalendarWrite {
  return { kind: CALENDAR_OBJECT_KIND, uid, doc }
}

/** Did its last instance, cancelled ones included, end before an instant? */
export function isOver(object: CalendarObject, beforeMs: number): boolean {
  const query = { edge: 'end' as const, afterMs: beforeMs, limit: 1, accept: () => true }
  return nextInstances(object, query).length === 0
}
