/** What the scheduler tells people, and asks of the registry. Pure. */
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Change, Notice } from '#schemas/generated/records.ts'
import type { Gap } from './decide-due.ts'
import type { ScheduleEntry } from './schedule-entry.ts'

/** Who a notice is for. */
export interface Told {
  owner: string
  agent: string
  name: string
}

/** A one-shot that nobody was there for within a day. */
export function missedNotice(
  entry: ScheduleEntry,
  at: Told & { gaps: Gap[]; nowMs: number },
): Output {
  const [gap] = at.gaps
  const due = new Date(gap?.fromMs ?? 0).toISOString()
  return notice(entry, at, {
    kind: 'schedule-missed',
    severity: 'warning',
    cause: `schedule-missed/${entry.id}/${entry.revision}`,
    text: `${at.name}: was due once at ${due} and was missed; give it a new time if it is wanted.`,
    details: { due, reason: gap?.reason },
  })
}

/** An anchor to one meeting that is gone: the subscription is suspended, its owner told. */
export function lostAnchorOutputs(
  entry: ScheduleEntry,
  at: Told & { why: 'deleted' | 'cancelled'; nowMs: number },
): Output[] {
  const { tenant, id, version, key, schedule } = entry
  const { calendar, uid } = 'anchor' in schedule ? schedule.anchor : { calendar: '', uid: '' }
  const reason = `lost anchor: the meeting ${uid} of the calendar ${calendar} was ${at.why}`
  const changeId = hashId('x', tenant, 'scheduler', 'suspend', id, version, 'lost-anchor')
  const value: Change = {
    changeId,
    ...{ tenant, id, reason },
    kind: 'subscription',
    action: 'suspend',
    body: { kind: 'lost-anchor' },
    by: { tenant, kind: 'system', id: 'scheduler', roles: [] },
    ifVersion: version,
    at: at.nowMs,
  }
  return [
    { topic: 'registry.changes', key, id: changeId, tenant, value },
    notice(entry, at, {
      kind: 'lost-anchor',
      severity: 'warning',
      cause: `lost-anchor/${id}/${version}`,
      text: `${at.name}: ${reason}. It is suspended until a person gives it another one.`,
      details: { calendar, uid, why: at.why },
    }),
  ]
}

function notice(
  entry: ScheduleEntry,
  { owner, agent, nowMs }: Told & { nowMs: number },
  told: Pick<Notice, 'kind' | 'severity' | 'cause' | 'text' | 'details'>,
): Output {
  const { tenant, id: subscription } = entry
  const id = hashId('n', tenant, told.cause)
  const value: Notice = {
    ...{ id, tenant, ...told, owner, subscription, agent },
    messageId: null,
    at: nowMs,
  }
  return { topic: 'notices', key: tenantKey(tenant, owner), id, tenant, value }
}
