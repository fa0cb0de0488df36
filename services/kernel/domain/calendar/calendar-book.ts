/** Calendar objects by calendar, ready to be asked for the next meetings of an anchor. */
import { anchorsOf, lostAnchor } from '#kernel/domain/calendar/anchors-of.ts'
import {
  CALENDAR_OBJECT_KIND,
  type CalendarObject,
  calendarObjectKey,
} from '#kernel/domain/calendar/calendar-object.ts'
import { type OverFor, overFor } from '#kernel/domain/calendar/over-for.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import type { FindAnchors } from '#kernel/domain/schedule/coming-instants.ts'
import type { Anchor } from '#kernel/domain/trigger.ts'
import type { TableDocument } from '#schemas/generated/records.ts'

export interface CalendarBook {
  /** Takes a document of `calendar.objects`; other kinds are ignored. Answers its calendar. */
  apply(document: TableDocument): { tenant: string; calendar: string } | undefined
  /** The anchors of one tenant. */
  find(tenant: string): FindAnchors
  /**
   * Why an anchor to one object is over; `null` while it stands, for queries, and where nothing was
   * left of it when its object went: that meeting was cleared away, and lost nothing.
   */
  lost(tenant: string, anchor: Anchor['anchor']): 'deleted' | 'cancelled' | null
}

interface Told {
  object: CalendarObject
  toldMs: number
}

export function createCalendarBook(): CalendarBook {
  const calendars = new Map<string, Map<string, Told>>()
  /** Of deleted objects that were over: for how long. */
  const cleared = new Map<string, OverFor>()
  const of = (tenant: string, calendar: string) => calendars.get(tenantKey(tenant, calendar))
  return {
    apply({ tenant, kind, deleted, doc, updatedAt }) {
      if (kind !== CALENDAR_OBJECT_KIND) return undefined
      const object = doc as CalendarObject
      const { calendar, uid } = object
      const key = tenantKey(tenant, calendar)
      const objects = calendars.get(key) ?? new Map<string, Told>()
      cleared.delete(calendarObjectKey(tenant, calendar, uid))
      if (deleted) {
        objects.delete(uid)
        const over = isWhole(object) ? overFor(object, updatedAt) : {}
        if (over.start !== undefined) cleared.set(calendarObjectKey(tenant, calendar, uid), over)
      } else objects.set(uid, { object, toldMs: updatedAt })
      if (objects.size > 0) calendars.set(key, objects)
      else calendars.delete(key)
      return { tenant, calendar }
    },
    find: tenant => (anchor, afterMs, limit) => {
      const objects = of(tenant, anchor.calendar)
      if (!objects) return []
      const { calendar, uid } = anchor
      const asked = uid === undefined ? [...objects.values()] : [objects.get(uid)]
      const present = asked.flatMap(told => (told ? [told.object] : []))
      return anchorsOf(anchor, present, afterMs, limit).map(found => ({
        calendar,
        uid: found.uid,
        recurrenceId: found.recurrenceId,
        edgeMs: found.anchorMs,
        toldMs: objects.get(found.uid)?.toldMs ?? 0,
        summary: found.summary,
      }))
    },
    lost(tenant, anchor) {
      const { calendar, uid = '', edge, offsetMs } = anchor
      const why = lostAnchor(anchor, of(tenant, calendar)?.get(uid)?.object)
      if (why !== 'deleted') return why
      const over = cleared.get(calendarObjectKey(tenant, calendar, uid))?.[edge]
      return over !== undefined && offsetMs <= over ? null : why
    },
  }
}

/** Deletions hold what was deleted, if it was there. */
const isWhole = (object: CalendarObject) => Array.isArray(object.exceptions)
