/** What the scheduler writes: events of the clock, records of what was missed, and marks. Pure. */
import { hashId } from '#kernel/domain/ids.ts'
import { type DueInstant, SCHEDULE_EVENT_TYPE } from '#kernel/domain/schedule/coming-instants.ts'
import { dueIdOf } from '#kernel/domain/schedule/schedule-identity.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { EventRecord, ScheduleMark } from '#schemas/generated/records.ts'
import { type Decision, type Firing, type Gap, ON_TIME_MS } from './decide-due.ts'
import type { ScheduleEntry } from './schedule-entry.ts'

/** Floods share their instants, so a few texts are worth keeping. */
const TEXTS_KEPT = 100
const texts = new Map<number, string>()

function iso(ms: number): string {
  const known = texts.get(ms)
  if (known !== undefined) return known
  const text = new Date(ms).toISOString()
  if (texts.size >= TEXTS_KEPT) texts.clear()
  texts.set(ms, text)
  return text
}

/** All events of one decision; gaps come first, since they are older. */
export function eventsOf(entry: ScheduleEntry, decision: Decision, nowMs: number): Output[] {
  const { gaps, firings } = decision
  return [
    ...gaps.map(gap => missedOutput(entry, gap, nowMs)),
    ...firings.map(firing => firedOutput(entry, firing, nowMs)),
  ]
}

function firedOutput(entry: ScheduleEntry, firing: Firing, nowMs: number): Output {
  const { instant, lateMs, missedCount } = firing
  const { kind } = entry
  return output(entry, {
    topic: kind === 'anchor' ? 'ingress.calendar' : 'ingress.time',
    id: dueIdOf(entry, kind, instant.nominal),
    type: SCHEDULE_EVENT_TYPE[kind],
    timeMs: instant.atMs,
    nowMs,
    // An edit in the moment of the instant must not make two messages of it.
    dedupKey: occurrenceOf(instant),
    data: {
      scheduledTime: iso(instant.atMs),
      late: lateMs > ON_TIME_MS,
      lateMs,
      missedCount,
      ...meetingOf(instant),
    },
  })
}

/** Meetings may share an instant. */
function occurrenceOf({ atMs, anchor }: DueInstant): string {
  if (!anchor) return `due/${atMs}`
  const { calendar, uid, recurrenceId } = anchor
  return `due/${atMs}/${hashId('m', calendar, uid, recurrenceId ?? '')}`
}

function meetingOf({ anchor }: DueInstant) {
  if (!anchor) return {}
  const { calendar, uid, recurrenceId, summary, edgeMs } = anchor
  return { meeting: { calendar, uid, recurrenceId, summary, at: iso(edgeMs) } }
}

/** One for each gap; matched only by subscriptions that name its type. */
function missedOutput(entry: ScheduleEntry, gap: Gap, nowMs: number): Output {
  const { fromMs, toMs, count, reason } = gap
  const { tenant, id, revision } = entry
  return output(entry, {
    topic: 'ingress.time',
    id: hashId('tm', tenant, id, revision, fromMs, toMs, reason),
    type: 'time.missed',
    timeMs: toMs,
    nowMs,
    data: { subscription: id, from: iso(fromMs), to: iso(toMs), count, reason },
  })
}

interface EventParts {
  topic: 'ingress.time' | 'ingress.calendar'
  id: string
  type: string
  timeMs: number
  nowMs: number
  dedupKey?: string
  data: object
}

function output(entry: ScheduleEntry, parts: EventParts): Output {
  const { topic, id, type, timeMs, nowMs, dedupKey, data } = parts
  const { key, tenant, revision, sinceMs } = entry
  const value: EventRecord = {
    attributes: {
      specversion: '1.0',
      id,
      source: `/schedules/${encodeURIComponent(entry.id)}`,
      type,
      subject: entry.id,
      time: iso(timeMs),
      recordedtime: iso(nowMs),
      datacontenttype: 'application/json',
      tenant,
      ...(dedupKey === undefined ? {} : { dedupkey: dedupKey }),
      schedulerevision: revision,
      schedulesince: iso(sinceMs),
    },
    json: JSON.stringify(data),
    bytes: null,
    ref: null,
  }
  return { topic, key, id, tenant, value }
}

/** How far the entry's schedule is decided. */
export function markOutput(entry: ScheduleEntry, nowMs: number, tz: string): Output {
  const { key, tenant, id, version, revision, decidedMs, gaps = [] } = entry
  const facts = { tenant, subscription: id, version, revision, decidedMs }
  const value: ScheduleMark = { ...facts, tz, gaps, at: nowMs }
  return { topic: 'schedule.marks', key, id: `${id}/${decidedMs}`, tenant, value }
}
