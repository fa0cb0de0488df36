/** Subscriptions and meetings for tests of the scheduler. */

import { type CalendarBook, createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { calendarObjectKey } from '#kernel/domain/calendar/calendar-object.ts'
import { resolveLimits } from '#kernel/domain/limits.ts'
import { scheduleRevision } from '#kernel/domain/schedule/schedule-identity.ts'
import type { Operation, Subscription } from '#kernel/domain/subscription.ts'
import { type Schedule, scheduleSchema } from '#kernel/domain/trigger.ts'
import { meetingIn } from './meeting-sample.ts'

export interface Given {
  tenant?: string
  id?: string
  version?: number
  operation?: Operation
  /** From when on the schedule counts, ms since the epoch. */
  since: number
  schedule: unknown
}

/** A stored subscription with a schedule. */
export function scheduled(given: Given): Subscription {
  const { tenant = 'acme', id = 's1', version = 1, operation = 'active', since } = given
  const schedule: Schedule = scheduleSchema.parse(given.schedule)
  const at = new Date(since).toISOString()
  return {
    ...{ id, tenant, version, schedule, on: null, observe: null },
    ...{ name: id, agent: 'helper', owner: 'user:ana', onBehalfOf: null, instruction: 'Do it.' },
    ...{ session: null, workspace: null, managedBy: null, filters: [], condition: null },
    limits: resolveLimits(undefined, {}),
    origin: { kind: 'person', id: 'ana' },
    state: { approval: 'not-required', operation, reason: '', by: 'user:ana', at, version },
    startsAt: {},
    scheduled: { revision: scheduleRevision(schedule), since: at },
    ...{ createdAt: at, updatedAt: at },
  }
}

/** A calendar `work` of the tenant acme, with meetings of one hour in UTC. */
export function anchorBook(): {
  book: CalendarBook
  put(uid: string, start: string | null, toldMs: number): void
} {
  const book = createCalendarBook()
  let version = 0
  return {
    book,
    put(uid, start, toldMs) {
      version += 1
      const doc = meetingIn('work', uid, start ?? '2026-01-01T00:00:00')
      const id = calendarObjectKey('acme', 'work', uid)
      const deleted = start === null
      const kind = 'calendar-object'
      book.apply({ tenant: 'acme', kind, id, version, deleted, updatedAt: 0, doc }, toldMs)
    },
  }
}
