/** Schedules as people have them, and the records they lie in. */
import { objectKey } from '#kernel/domain/object-key.ts'
import { scheduleRevision } from '#kernel/domain/schedule/schedule-identity.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { type Schedule, scheduleSchema } from '#kernel/domain/trigger.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { scheduled } from '#test/support/schedule-sample.ts'

const ZONES = ['Europe/Madrid', 'America/New_York', 'Asia/Kolkata', 'UTC', 'Australia/Lord_Howe']
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
const TENANTS = 20

const two = (value: number) => String(value).padStart(2, '0')

/** The n-th schedule: daily, weekly, monthly and hourly ones, in turns. */
export function scheduleOf(n: number): Schedule {
  const time = `${two(n % 24)}:${two((n * 7) % 60)}:${two((n * 13) % 60)}`
  const day = new Date(Date.UTC(2026, 0, 1 + (n % 300)))
  const date = day.toISOString().slice(0, 10)
  const weekday = WEEKDAYS[(day.getUTCDay() + 6) % 7]
  const rules = [
    'FREQ=DAILY',
    `FREQ=WEEKLY;BYDAY=${weekday}`,
    `FREQ=MONTHLY;BYMONTHDAY=${day.getUTCDate()}`,
    'FREQ=HOURLY;INTERVAL=2',
  ]
  const tzid = ZONES[n % ZONES.length] ?? 'UTC'
  return scheduleSchema.parse({ dtstart: `${date}T${time}`, tzid, rrule: rules[n % rules.length] })
}

/** The record of the n-th subscription. */
export function recordOf(
  codec: RecordCodec,
  n: number,
  given: { schedule?: Schedule; sinceMs: number; tenant?: string },
): OutgoingRecord {
  const tenant = given.tenant ?? `tenant-${n % TENANTS}`
  const id = `s_${n.toString(16).padStart(32, '0')}`
  const schedule = given.schedule ?? scheduleOf(n)
  const doc: Subscription = scheduled({ tenant, id, since: given.sinceMs, schedule })
  const key = objectKey(tenant, 'subscription', id)
  const facts = { tenant, kind: 'subscription', id, version: 1, deleted: false, updatedAt: 0 }
  return createRecordWriter(codec, 'bench').encode({
    ...{ topic: 'subscriptions', key, id, tenant },
    value: { ...facts, doc },
  })
}

/** The mark of the n-th subscription: it was decided up to now. */
export function markOf(codec: RecordCodec, n: number, decidedMs: number): OutgoingRecord {
  const tenant = `tenant-${n % TENANTS}`
  const id = `s_${n.toString(16).padStart(32, '0')}`
  const key = objectKey(tenant, 'subscription', id)
  const revision = scheduleRevision(scheduleOf(n))
  return createRecordWriter(codec, 'bench').encode({
    ...{ topic: 'schedule.marks', key, id, tenant },
    value: {
      ...{ tenant, subscription: id, version: 1, revision, decidedMs },
      ...{ tz: 'bench', gaps: [], at: decidedMs },
    },
  })
}
