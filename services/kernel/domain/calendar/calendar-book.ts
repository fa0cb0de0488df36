/**
 * Calendar objects by calendar, ready to be asked for the next meetings of an anchor.
 *
 * - B1 Of each object the highest version counts, and of two with one number the first, as in the
 *   live tables: a late write changes nothing (F28).
 * - B2 An instance was told of when the first of the versions was that had it without a break, so
 *   another title, or another instance of its series, makes nothing of it new.
 */

import type { AnchorInstant } from '#kernel/domain/calendar/anchors-of.ts'
import { anchorsOf, lostAnchor } from '#kernel/domain/calendar/anchors-of.ts'
import {
  CALENDAR_OBJECT_KIND,
  type CalendarObject,
} from '#kernel/domain/calendar/calendar-object.ts'
import { type OverFor, overFor } from '#kernel/domain/calendar/over-for.ts'
import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'
import type { FindAnchors } from '#kernel/domain/schedule/coming-instants.ts'
import type { Anchor } from '#kernel/domain/trigger.ts'
import type { TableDocument } from '#schemas/generated/records.ts'

export interface CalendarBook {
  /**
   * Takes a document of `calendar.objects`; other kinds, and versions that are not news, are
   * ignored. Answers its calendar. `toldMs` is when it was appended, by the log's clock: those of
   * the processes that write may be hours off.
   */
  apply(document: TableDocument, toldMs: number): { tenant: string; calendar: string } | undefined
  /** Forgets an object by its key in the table: what comes under it next is another one. */
  forget(key: string): void
  /** The anchors of one tenant. */
  find(tenant: string): FindAnchors
  /**
   * Why an anchor to one object is over; `null` while it stands, for queries, and where nothing was
   * left of it when its object went: that meeting was cleared away, and lost nothing.
   */
  lost(tenant: string, anchor: Anchor['anchor']): 'deleted' | 'cancelled' | null
}

interface Version {
  /** `null` once it is deleted. */
  object: CalendarObject | null
  toldMs: number
}

interface Held extends Version {
  version: number
  /** Former versions, newest first, as far as somebody may have missed them. */
  before: Version[]
  /** Of a deleted object that was over: for how long. */
  overFor: OverFor
}

/** Nobody catches up on what is older. */
const BEFORE_MS = 7 * 86_400_000
const BEFORE_MAX = 10
/** Most instances of one object that share an instant. */
const TOGETHER_MAX = 100

export function createCalendarBook(): CalendarBook {
  const calendars = new Map<string, Map<string, Held>>()
  const of = (tenant: string, calendar: string) => calendars.get(tenantKey(tenant, calendar))
  return {
    apply(document, toldMs) {
      if (document.kind !== CALENDAR_OBJECT_KIND) return undefined
      const { tenant } = document
      const { calendar, uid } = document.doc as CalendarObject
      const objects = of(tenant, calendar) ?? new Map<string, Held>()
      const held = objects.get(uid)
      if (held && held.version >= document.version) return undefined
      calendars.set(tenantKey(tenant, calendar), objects)
      objects.set(uid, heldOf(document, toldMs, held))
      return { tenant, calendar }
    },
    forget(key) {
      const [tenant = '', kind, calendar = '', uid = ''] = splitTenantKey(key)
      const objects = of(tenant, calendar)
      if (kind !== CALENDAR_OBJECT_KIND || !objects) return
      objects.delete(uid)
      if (objects.size === 0) calendars.delete(tenantKey(tenant, calendar))
    },
    find: tenant => (anchor, afterMs, limit) => {
      const objects = of(tenant, anchor.calendar)
      if (!objects) return []
      const { calendar, uid } = anchor
      const asked = uid === undefined ? [...objects.values()] : [objects.get(uid)]
      const present = asked.flatMap(held => held?.object ?? [])
      return anchorsOf(anchor, present, afterMs, limit).map(found => ({
        calendar,
        uid: found.uid,
        recurrenceId: found.recurrenceId,
        edgeMs: found.anchorMs,
        toldMs: toldMsOf(anchor, objects.get(found.uid), found),
        summary: found.summary,
      }))
    },
    lost(tenant, anchor) {
      const { calendar, uid = '', edge, offsetMs } = anchor
      const held = of(tenant, calendar)?.get(uid)
      const why = lostAnchor(anchor, held?.object ?? undefined)
      if (why !== 'deleted') return why
      const over = held?.overFor[edge]
      return over !== undefined && offsetMs <= over ? null : why
    },
  }
}

function heldOf({ version, deleted, doc }: TableDocument, toldMs: number, held?: Held): Held {
  const object = doc as CalendarObject
  const versions = held ? [held, ...held.before] : []
  // One that was followed by another long ago is nobody's any more.
  const before = versions
    .filter((_, n) => (versions[n - 1]?.toldMs ?? toldMs) > toldMs - BEFORE_MS)
    .slice(0, BEFORE_MAX)
    .map(each => ({ object: each.object, toldMs: each.toldMs }))
  return {
    ...{ version, toldMs, before },
    object: deleted ? null : object,
    overFor: deleted && isWhole(object) ? overFor(object, toldMs) : {},
  }
}

/** Deletions hold what was deleted, if it was there. */
const isWhole = (object: CalendarObject) => Array.isArray(object.exceptions)

/** When an instance was told of (B2); looked up only where that was too late for it. */
function toldMsOf(anchor: Anchor['anchor'], held: Held | undefined, found: AnchorInstant): number {
  if (!held) return 0
  let { toldMs } = held
  for (const { object, toldMs: earlierMs } of held.before) {
    if (toldMs < found.atMs || !object || !has(anchor, object, found)) break
    toldMs = earlierMs
  }
  return toldMs
}

function has(anchor: Anchor['anchor'], object: CalendarObject, wanted: AnchorInstant): boolean {
  return anchorsOf(anchor, [object], wanted.atMs - 1, TOGETHER_MAX).some(
    ({ atMs, recurrenceId }) => atMs === wanted.atMs && recurrenceId === wanted.recurrenceId,
  )
}
