/** What the calendars of a finished seed held at every moment, read from their records. */

import type { AnchorInstant } from '#kernel/domain/calendar/anchors-of.ts'
import { anchorsOf } from '#kernel/domain/calendar/anchors-of.ts'
import {
  CALENDAR_OBJECT_KIND,
  type CalendarObject,
} from '#kernel/domain/calendar/calendar-object.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { Anchor } from '#kernel/domain/trigger.ts'
import type { ScheduleRun } from './schedule-state.ts'

/** What one name stood for from an instant to another, in the order of the log. */
export interface ObjectPeriod {
  fromMs: number
  toMs: number
  /** `null` while it was not there. */
  object: CalendarObject | null
}

/** One meeting's edge and the distance from it. */
export type Instance = Pick<AnchorInstant, 'uid' | 'recurrenceId' | 'atMs'>

export interface CalendarTimeline {
  /** Names that a calendar ever had. */
  uids(calendar: string): string[]
  /** In order and without holes up to the end of time; empty for what never was. */
  periods(calendar: string, uid: string): ObjectPeriod[]
}

/**
 * Of two versions with one number the first that lies in the log has won, as for every reader of
 * the table.
 */
export function calendarTimeline({ history, codec }: ScheduleRun): CalendarTimeline {
  const periods = new Map<string, ObjectPeriod[]>()
  const newest = new Map<string, number>()
  for (const { record } of history.of('calendar.objects')) {
    const { key, value, timestamp } = record
    const name = Buffer.from(key ?? []).toString()
    // What was forgotten begins anew.
    if (!value) newest.delete(name)
    const document = value && readable(() => codec.decode('table-document', value))
    if (!document || document.kind !== CALENDAR_OBJECT_KIND) continue
    if ((newest.get(name) ?? 0) >= document.version) continue
    newest.set(name, document.version)
    const { calendar, uid } = document.doc as CalendarObject
    const own = periods.get(`${calendar}/${uid}`) ?? []
    periods.set(`${calendar}/${uid}`, own)
    const last = own.at(-1)
    if (last) last.toMs = timestamp
    const object = document.deleted ? null : (document.doc as CalendarObject)
    own.push({ fromMs: timestamp, toMs: Number.POSITIVE_INFINITY, object })
  }
  return {
    uids: calendar =>
      [...periods.keys()].flatMap(name =>
        name.startsWith(`${calendar}/`) ? [name.slice(calendar.length + 1)] : [],
      ),
    periods: (calendar, uid) => periods.get(`${calendar}/${uid}`) ?? [],
  }
}

/** Most instances of one object that may share an instant. */
const TOGETHER_MAX = 20

/** Does the object, as it was in a period, make this instance due then? */
export function stands(
  anchor: Anchor['anchor'],
  { object }: ObjectPeriod,
  { recurrenceId, atMs }: Instance,
): boolean {
  if (!object) return false
  return anchorsOf(anchor, [object], atMs - 1, TOGETHER_MAX).some(
    found => found.atMs === atMs && found.recurrenceId === recurrenceId,
  )
}
