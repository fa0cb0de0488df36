/** What subscriptions still need of a calendar: meetings that were over long ago may be theirs. */
import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { CalendarPlace } from './calendar-store.ts'

export interface AnchorNeeds {
  /** The longest time after a meeting at which somebody wants to be told of it, ms; 0 for none. */
  longestAfterMs(place: CalendarPlace): number
  /** Is the meeting the one that a subscription names, whatever state that is in? */
  isNamed(place: CalendarPlace, uid: string): boolean
  /** Waits until everything appended before the call counts. */
  barrier(): Promise<void>
}

interface Need {
  afterMs: number
  uid: string | undefined
}

/** Follows the table `subscriptions`. */
export function followAnchorNeeds(tables: LiveTables): AnchorNeeds {
  /** By calendar, then by subscription. */
  const needs = new Map<string, Map<string, Need>>()
  const places = new Map<string, string>()
  const forget = (key: string) => {
    const place = places.get(key)
    const own = place === undefined ? undefined : needs.get(place)
    own?.delete(key)
    if (place !== undefined && own?.size === 0) needs.delete(place)
    places.delete(key)
  }
  tables.onChange(({ key, document }) => {
    if (document.kind !== 'subscription') return
    forget(key)
    const { schedule, state } = document.doc as Subscription
    if (!schedule || !('anchor' in schedule) || state.operation === 'deleted') return
    const { calendar, uid, offsetMs } = schedule.anchor
    const [tenant = ''] = splitTenantKey(key)
    const place = tenantKey(tenant, calendar)
    const own = needs.get(place) ?? new Map<string, Need>()
    needs.set(place, own.set(key, { afterMs: Math.max(0, offsetMs), uid }))
    places.set(key, place)
  })
  const of = ({ tenant, calendar }: CalendarPlace) => [
    ...(needs.get(tenantKey(tenant, calendar))?.values() ?? []),
  ]
  return {
    longestAfterMs: place => of(place).reduce((most, { afterMs }) => Math.max(most, afterMs), 0),
    isNamed: (place, uid) => of(place).some(need => need.uid === uid),
    barrier: () => tables.barrier(),
  }
}
