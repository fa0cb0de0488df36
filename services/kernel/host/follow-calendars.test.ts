import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import { CALENDAR_OBJECT_KIND } from '#kernel/domain/calendar/calendar-object.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createManualClock } from '#test/support/manual-clock.ts'
import { meetingIn } from '#test/support/meeting-sample.ts'
import { followCalendars } from './follow-calendars.ts'
import { createRecordWriter } from './record-writer.ts'

const NOON = Date.UTC(2026, 5, 1, 12)

test('a record that nobody can read keeps neither the start nor the other meetings', async () => {
  const clock = createManualClock(NOON)
  const log = createMemoryEventLog({ clock, partitions: () => 1 }).open('test')
  const codec = createRecordCodec()
  const doc = meetingIn('work', 'm1', '2026-06-01T15:00:00')
  const { encode } = createRecordWriter(codec, 'test')
  const [topic, tenant, key, id] = ['calendar.objects' as const, 'acme', 'acme/m1', 'm1']
  const facts = { tenant, kind: CALENDAR_OBJECT_KIND, id, version: 1, deleted: false }
  await log.append([
    { topic, key: 'acme/broken', value: new Uint8Array([9, 9, 9]) },
    encode({ topic, tenant, key, id, value: { ...facts, updatedAt: NOON, doc } }),
  ])
  let calendars: Awaited<ReturnType<typeof followCalendars>> | undefined
  void followCalendars({ log, codec }).then(
    started => {
      calendars = started
    },
    () => {},
  )
  await clock.until(() => calendars !== undefined)
  const anchor = { calendar: 'work', uid: 'm1', edge: 'start' as const, offsetMs: 0 }
  const found = calendars?.book.find(tenant)(anchor, NOON, 5)
  assert.deepEqual(
    found?.map(({ uid }) => uid),
    ['m1'],
  )
  await calendars?.stop()
})
