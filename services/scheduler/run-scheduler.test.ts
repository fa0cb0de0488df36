import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { createMemoryEventLog, type LogCall } from '#kernel/adapters/memory/memory-event-log.ts'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import type { Change, Notice } from '#schemas/generated/records.ts'
import { createManualClock, type ManualClock } from '#test/support/manual-clock.ts'
import { meetingIn } from '#test/support/meeting-sample.ts'
import { type Given, scheduled } from '#test/support/schedule-sample.ts'
import { type RunningScheduler, runScheduler, type SchedulerWorld } from './run-scheduler.ts'

const NOON = Date.UTC(2026, 5, 1, 12)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const codec = createRecordCodec()
const writer = createRecordWriter(codec, 'test')
const hourly = { dtstart: '2026-01-01T00:00:00', tzid: 'UTC', rrule: 'FREQ=HOURLY' }

let clock: ManualClock
let log: ReturnType<typeof createMemoryEventLog>
let store: ReturnType<typeof createMemoryStateStore>
let running: RunningScheduler[]
/** Rejects appends while a test says so; `after` rejects what was written all the same. */
let failing: { topic: string; after: boolean } | undefined

beforeEach(() => {
  clock = createManualClock(NOON)
  running = []
  failing = undefined
  const fail = (call: LogCall, after: boolean) => {
    const isHit =
      call.op === 'append' && failing?.after === after && call.records[0]?.topic === failing.topic
    if (isHit) throw new AmbitError('log-unavailable', 'as the test wants it')
  }
  const hooks = {
    before: async (call: LogCall) => fail(call, false),
    after: async (call: LogCall) => fail(call, true),
  }
  log = createMemoryEventLog({ clock, partitions: () => 2, hooks })
  store = createMemoryStateStore({ now: () => clock.now() })
})
afterEach(async () => {
  for (const each of running) await stop(each)
})

async function stop(scheduler: RunningScheduler): Promise<void> {
  running = running.filter(each => each !== scheduler)
  let isOver = false
  void scheduler.stop().then(() => {
    isOver = true
  })
  await clock.until(() => isOver)
}

/** The log as a process has it that reads calendars so much later than everything else. */
function slowly(inner: EventLog, lateMs: () => number): EventLog {
  return {
    ...inner,
    follow: options =>
      inner.follow({
        ...options,
        onRecords: async records => {
          if (options.topics.includes('calendar.objects')) await clock.sleep(lateMs())
          await options.onRecords(records)
        },
      }),
  }
}

async function start(name = 'one', given: Partial<SchedulerWorld> & { lateMs?(): number } = {}) {
  const instance = log.open(name)
  const { lateMs, ...ports } = given
  const scheduler = await runScheduler({
    ...{
      log: lateMs ? slowly(instance, lateMs) : instance,
      store: store.open(name),
      clock,
      codec,
      logger: silentLogger,
    },
    writer: createRecordWriter(codec, 'scheduler'),
    ownerOf: () => ({ owner: 'user:ana', agent: 'helper', name: 'reminder' }),
    tz: 'test',
    idleMs: 30_000,
    ...ports,
  })
  running.push(scheduler)
  await clock.until(() => running.flatMap(each => each.status().partitions).length === 2)
  return { scheduler, crash: () => instance.crash() }
}

async function put(given: Given): Promise<Subscription> {
  const doc = scheduled(given)
  const { tenant, id, version } = doc
  const deleted = doc.state.operation === 'deleted'
  const value = { ...{ tenant, id, version, deleted }, kind: 'subscription', updatedAt: 0, doc }
  const key = objectKey(tenant, 'subscription', id)
  const output = { topic: 'subscriptions' as const, key, id, tenant, value }
  await log.open().append([writer.encode(output)])
  return doc
}

let version = 0

async function meet(uid: string, local: string, deleted = false): Promise<void> {
  const doc = meetingIn('work', uid, local)
  const tenant = 'acme'
  const value = { kind: 'calendar-object', tenant, id: uid, version: ++version, deleted, doc }
  const output = { topic: 'calendar.objects' as const, key: `acme/${uid}`, id: uid, tenant }
  // What writes calendars has a clock of its own, which nobody goes by (F15).
  const record = { ...value, updatedAt: clock.now() + 24 * HOUR }
  await log.open().append([writer.encode({ ...output, value: record })])
}

interface Fired {
  type: string
  id: string
  at: number
  data: Record<string, unknown>
}

const changes = () =>
  log.records('registry.changes').map(({ value }): Change => {
    return codec.decode('change', value ?? new Uint8Array())
  })

/** What was appended, minutes after noon. */
function fired(): Fired[] {
  return ['ingress.time', 'ingress.calendar'].flatMap(topic =>
    log.records(topic).map(({ value, timestamp }) => {
      const { attributes, json } = codec.decode('event', value ?? new Uint8Array())
      const at = (Date.parse(String(attributes.time)) - NOON) / MINUTE
      const data = JSON.parse(json ?? '{}') as Fired['data']
      return { type: String(attributes.type), id: String(attributes.id), at, data, timestamp }
    }),
  )
}

const times = () => fired().map(({ type, at }) => [type, at])

describe('scheduler', () => {
  test('fires at the instant, marks afterwards, and goes on', async () => {
    await start()
    await put({ since: NOON, schedule: hourly })
    await clock.advance(2.5 * HOUR)
    assert.deepEqual(times(), [
      ['time.recurrence', 60],
      ['time.recurrence', 120],
    ])
    const [first] = fired()
    assert.equal(first?.data.late, false)
    const marks = log.records('schedule.marks').map(({ value }) => {
      return codec.decode('schedule-mark', value ?? new Uint8Array()).decidedMs
    })
    assert.deepEqual(marks, [NOON + HOUR, NOON + 2 * HOUR])
  })

  test('after a restart nothing is fired twice and the newest missed one comes late', async () => {
    const { crash, scheduler } = await start()
    await put({ since: NOON, schedule: hourly })
    await clock.advance(HOUR + 1000)
    running = running.filter(each => each !== scheduler)
    crash()
    await clock.advance(2 * HOUR + 10 * MINUTE)
    await start('two')
    await clock.advance(1000)
    assert.deepEqual(times(), [
      ['time.recurrence', 60],
      ['time.missed', 120],
      ['time.recurrence', 180],
    ])
    const last = fired().at(-1)
    assert.equal(last?.data.late, true)
    assert.equal(last?.data.missedCount, 1)
  })
})

describe('scheduler when things fail', () => {
  test('an event without its mark is known to the next owner', async () => {
    const { crash, scheduler } = await start()
    await put({ since: NOON, schedule: hourly })
    failing = { topic: 'schedule.marks', after: false }
    await clock.advance(HOUR + 2000)
    assert.equal(log.records('schedule.marks').length, 0)
    running = running.filter(each => each !== scheduler)
    crash()
    failing = undefined
    await clock.advance(45 * MINUTE)
    await start('two')
    await clock.advance(MINUTE)
    assert.deepEqual(times(), [['time.recurrence', 60]])
  })

  test('an append that failed after all was written is not told otherwise', async () => {
    await start()
    await put({ since: NOON, schedule: hourly })
    failing = { topic: 'ingress.time', after: true }
    await clock.advance(HOUR)
    failing = undefined
    await clock.advance(10 * MINUTE)
    assert.deepEqual(new Set(fired().map(({ id }) => id)).size, 1)
    assert.deepEqual(new Set(times().map(([type]) => type)), new Set(['time.recurrence']))
  })

  test('without marks, old events and all, recurrences are decided from their start', async () => {
    await put({ since: NOON, schedule: hourly })
    await clock.advance(3 * HOUR + MINUTE)
    await start()
    await clock.advance(1000)
    assert.deepEqual(times(), [
      ['time.missed', 120],
      ['time.recurrence', 180],
    ])
  })

  test('a one-shot fires once, and after a day ends as missed with a notice', async () => {
    await put({ since: NOON, schedule: { once: '2026-06-01T13:00', tzid: 'UTC' } })
    await put({ id: 's2', since: NOON, schedule: { once: '2026-06-02T13:00', tzid: 'UTC' } })
    await clock.advance(26 * HOUR)
    await start()
    await clock.advance(HOUR)
    assert.deepEqual(times().sort(), [
      ['time.missed', 60],
      ['time.once', 1500],
    ])
    const notices = log.records('notices').map(({ value }): Notice => {
      return codec.decode('notice', value ?? new Uint8Array())
    })
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      ['schedule-missed'],
    )
  })
})

describe('scheduler and changes', () => {
  test('an edited, paused or deleted schedule fires no old time', async () => {
    await start()
    for (const id of ['s1', 's2', 's3']) await put({ id, since: NOON, schedule: hourly })
    await clock.advance(HOUR + 1000)
    const since = clock.now()
    const later = { ...hourly, dtstart: '2026-01-01T00:30:00' }
    await put({ id: 's1', version: 2, since, schedule: later })
    await put({ id: 's2', version: 2, since: NOON, schedule: hourly, operation: 'paused' })
    await put({ id: 's3', version: 2, since: NOON, schedule: hourly, operation: 'deleted' })
    await clock.advance(2 * HOUR)
    await put({ id: 's2', version: 3, since: clock.now(), schedule: hourly })
    await clock.advance(HOUR)
    assert.deepEqual(
      times()
        .map(([, at]) => Number(at))
        .sort((a, b) => a - b),
      [60, 60, 60, 90, 150, 210, 240],
    )
  })

  const brief = { timeout: 10_000 }
  test('a calendar record that nobody can read keeps nobody from starting', brief, async () => {
    const broken = { topic: 'calendar.objects', key: 'acme/broken', value: Uint8Array.of(9, 9) }
    await log.open().append([broken])
    await meet('m1', '2026-06-01T14:00:00')
    await start()
    const anchor = { calendar: 'work', uid: 'm1', edge: 'start', offsetMs: -30 * MINUTE }
    await put({ since: NOON, schedule: { anchor } })
    await clock.advance(90 * MINUTE + 1000)
    assert.deepEqual(times(), [['calendar.anchor', 90]])
  })

  test('a moved meeting fires at its new time, a lost one suspends its subscription', async () => {
    await start()
    await meet('m1', '2026-06-01T14:00:00')
    const anchor = { calendar: 'work', uid: 'm1', edge: 'start', offsetMs: -30 * MINUTE }
    await put({ since: NOON, schedule: { anchor } })
    await clock.advance(HOUR)
    await meet('m1', '2026-06-01T15:00:00')
    await clock.advance(90 * MINUTE + 1000)
    assert.deepEqual(times(), [['calendar.anchor', 150]])
    await meet('m1', '2026-06-02T15:00:00')
    await clock.advance(1000)
    await meet('m1', '2026-06-02T15:00:00', true)
    await clock.advance(2000)
    assert.deepEqual(
      changes().map(({ action, id, ifVersion }) => [action, id, ifVersion]),
      [['suspend', 's1', 1]],
    )
    assert.match(changes()[0]?.reason ?? '', /^lost anchor: the meeting m1 .* was deleted$/)
  })

  test('two owners share the partitions, and one takes over from the other', async () => {
    const { crash, scheduler } = await start('one')
    const ids = Array.from({ length: 10 }, (_, n) => `s${n}`)
    for (const id of ids) await put({ id, since: NOON, schedule: hourly })
    await start('two')
    await clock.advance(HOUR + 1000)
    assert.equal(fired().length, 10)
    running = running.filter(each => each !== scheduler)
    crash()
    await clock.advance(HOUR)
    assert.equal(fired().length, 20)
    assert.equal(new Set(fired().map(({ id }) => id)).size, 20)
  })
})

describe('scheduler and meetings that are gone', () => {
  /**
   * Calendars clear away what was over long ago, and feeds list it no more. The deletion that the
   * scheduler reads then, also the first thing it reads after a start, is no lost anchor.
   */
  test('a meeting that is cleared away after it was told of suspends nobody', async () => {
    const { scheduler } = await start()
    await meet('m1', '2026-06-01T14:00:00')
    const anchor = { calendar: 'work', uid: 'm1', edge: 'end', offsetMs: 30 * MINUTE }
    await put({ since: NOON, schedule: { anchor } })
    await clock.advance(4 * HOUR)
    assert.deepEqual(times(), [['calendar.anchor', 210]])
    await meet('m1', '2026-06-01T14:00:00', true)
    await clock.advance(2000)
    await stop(scheduler)
    await start('two')
    await clock.advance(2000)
    assert.deepEqual(log.records('registry.changes'), [])
    assert.deepEqual(log.records('notices'), [])
  })

  test('a meeting that goes before it was told of is lost, although it is over', async () => {
    await start()
    await meet('m1', '2026-06-01T14:00:00')
    const anchor = { calendar: 'work', uid: 'm1', edge: 'end', offsetMs: 3 * HOUR }
    await put({ since: NOON, schedule: { anchor } })
    await clock.advance(4 * HOUR)
    await meet('m1', '2026-06-01T14:00:00', true)
    await clock.advance(2000)
    assert.equal(log.records('registry.changes').length, 1)
  })
})

const schedule = {
  anchor: { calendar: 'work', uid: 'm1', edge: 'start', offsetMs: -30 * MINUTE },
}

describe('scheduler and calendars that change', () => {
  test('what a calendar was told of by the instant counts, however late it is read', async () => {
    let lateMs = 0
    await start('one', { lateMs: () => lateMs })
    await meet('m1', '2026-06-01T14:00:00')
    await put({ since: NOON, schedule })
    await clock.advance(90 * MINUTE - 2000)
    lateMs = 4000
    await meet('m1', '2026-06-01T16:00:00')
    await clock.advance(3 * HOUR)
    assert.deepEqual(times(), [['calendar.anchor', 210]])
  })

  test('an edit in the moment of the instant makes no second occurrence of it', async () => {
    await start()
    await meet('m1', '2026-06-01T14:00:00')
    await put({ since: NOON, schedule })
    await clock.advance(90 * MINUTE)
    const since = NOON + 90 * MINUTE - 1
    await put({ version: 2, since, schedule: { ...schedule, missed: 'all' } })
    await clock.advance(MINUTE)
    assert.equal(new Set(fired().map(({ id }) => id)).size, 2)
    const keys = log.records('ingress.calendar').map(({ value }) => {
      return codec.decode('event', value ?? new Uint8Array()).attributes.dedupkey
    })
    assert.equal(new Set(keys).size, 1)
    assert.ok(keys[0])
  })

  test('another title after the instant, while nobody watched, makes it no past one', async () => {
    await meet('m1', '2026-06-01T14:00:00')
    await put({ since: NOON, schedule })
    await clock.advance(100 * MINUTE)
    await meet('m1', '2026-06-01T14:00:00')
    await start()
    await clock.advance(MINUTE)
    assert.deepEqual(times(), [['calendar.anchor', 90]])
  })
})

describe('scheduler and meetings that nobody was told of', () => {
  test('who resumes after the meeting has gone is told so', async () => {
    await start()
    await meet('m1', '2026-06-01T14:00:00')
    await put({ since: NOON, schedule, operation: 'paused' })
    await meet('m1', '2026-06-01T14:00:00', true)
    await clock.advance(MINUTE)
    assert.deepEqual(changes(), [])
    await put({ version: 2, since: clock.now(), schedule })
    await clock.advance(1000)
    assert.deepEqual(
      changes().map(({ ifVersion }) => ifVersion),
      [2],
    )
  })

  test('a request that an edit overtook is made again for the new version', async () => {
    await start()
    await meet('m1', '2026-06-01T14:00:00')
    await put({ since: NOON, schedule })
    await clock.advance(MINUTE)
    await meet('m1', '2026-06-01T14:00:00', true)
    await clock.advance(1000)
    await put({ version: 2, since: NOON, schedule })
    await clock.advance(1000)
    assert.deepEqual(
      changes().map(({ ifVersion }) => ifVersion),
      [1, 2],
    )
  })

  test('a loss is not forgotten while nobody knows whom to tell', async () => {
    let owner: ReturnType<SchedulerWorld['ownerOf']>
    await start('one', { ownerOf: () => owner })
    await meet('m1', '2026-06-01T14:00:00')
    await put({ since: NOON, schedule })
    await clock.advance(MINUTE)
    await meet('m1', '2026-06-01T14:00:00', true)
    await clock.advance(MINUTE)
    assert.deepEqual(changes(), [])
    owner = { owner: 'user:ana', agent: 'helper', name: 'reminder' }
    await clock.advance(MINUTE)
    assert.equal(changes().length, 1)
  })
})
