/** `GET /v1/schedule`: what comes and what was missed. */
import { z } from 'zod'
import { hashId } from '#kernel/domain/ids.ts'
import { comingInstants, type DueInstant } from '#kernel/domain/schedule/coming-instants.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Calendars } from '#kernel/host/follow-calendars.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { type MissedGap, missedSince } from '../read-model/missed-query.ts'
import { pageOf, pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import { subscriptionsOf } from './subscription-routes.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

const DAY_MS = 86_400_000
/** Instants of one subscription in one answer; a page that ends goes on with the next question. */
const EACH_MAX = 200

const instant = z.iso
  .datetime({ offset: true })
  .transform(text => Date.parse(text))
  .optional()

const scheduleQuery = pageQuery.extend({ from: instant, to: instant })

export interface ScheduleRoutesWorld
  extends Pick<WhatHappenedWorld, 'authenticate' | 'model' | 'tables' | 'clock' | 'directory'> {
  calendars: Pick<Calendars, 'book'>
}

export interface ScheduleRow {
  state: 'coming' | 'missed'
  /** The instant; of a gap its last one. RFC 3339. */
  at: string
  subscription: string
  name: string
  agent: string
  /** Of an instant anchored in a calendar: the meeting. */
  meeting?: { calendar: string; uid: string; recurrenceId: string | null; summary: string }
  /** Of a gap: its first instant, how many they are, and why. */
  from?: string
  count?: number
  reason?: string
}

/**
 * In order of time, `from` (default a day ago) to `to` (default in a week), both inclusive. Of one
 * subscription at most 200 coming instants: a person narrows the range for more.
 */
export function scheduleRoutes(app: HttpApp, world: ScheduleRoutesWorld): void {
  app.get('/v1/schedule', { schema: { querystring: scheduleQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const nowMs = world.clock.now()
    const { from = nowMs - DAY_MS, to = nowMs + 7 * DAY_MS, ...page } = request.query
    await world.model.fresh()
    const subscriptions = subscriptionsOf(world, tenant)
    const coming = subscriptions.flatMap(subscription =>
      comingOf(world, subscription, { fromMs: Math.max(from - 1, nowMs), toMs: to }),
    )
    const gaps = await missedSince(world.model, tenant, from)
    const names = new Map(subscriptions.map(each => [each.id, each]))
    const missed = gaps
      .filter(gap => Date.parse(gap.to) >= from && Date.parse(gap.from) <= to)
      .map(gap => missedRow(gap, names.get(gap.subscription)))
    const rows = [...missed, ...coming].sort((a, b) => (a.key < b.key ? -1 : 1))
    return pageOf(
      rows,
      page,
      ({ key }) => key,
      ({ row }) => row,
    )
  })
}

/**
 * A row with its place in the list. The place is its own: pages go on after a place, and of two
 * rows that shared one the second would be lost between two pages.
 */
interface Placed {
  key: string
  row: ScheduleRow
}

function placed(row: ScheduleRow, identity: string): Placed {
  const { at, state, subscription } = row
  return { key: [at, state, subscription, hashId('i', identity)].join('\n'), row }
}

function comingOf(
  { calendars }: { calendars: Pick<Calendars, 'book'> },
  { id, tenant, name, agent, schedule, state }: Subscription,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Placed[] {
  if (!schedule || state.operation !== 'active') return []
  if (state.approval === 'pending' || state.approval === 'rejected') return []
  const found: Placed[] = []
  // Two at a time first: most schedules have few instants in a range.
  for (const limit of [2, EACH_MAX]) {
    const coming = comingInstants(schedule, fromMs, limit, calendars.book.find(tenant))
    const inside = coming.filter(({ atMs }) => atMs <= toMs)
    if (inside.length === limit && limit < EACH_MAX) continue
    const row = { state: 'coming', subscription: id, name, agent } as const
    found.push(...inside.map(due => placed({ ...row, ...instantOf(due) }, due.nominal)))
    break
  }
  return found
}

function instantOf({ atMs, anchor }: DueInstant): Pick<ScheduleRow, 'at' | 'meeting'> {
  const at = new Date(atMs).toISOString()
  if (!anchor) return { at }
  const { calendar, uid, recurrenceId, summary } = anchor
  return { at, meeting: { calendar, uid, recurrenceId, summary } }
}

function missedRow(gap: MissedGap, subscription: Subscription | undefined): Placed {
  const { subscription: id, from, to, count, reason } = gap
  const { name = id, agent = '' } = subscription ?? {}
  const row = { state: 'missed', at: to, subscription: id, name, agent } as const
  return placed({ ...row, from, count, reason }, `${reason}\n${from}`)
}
