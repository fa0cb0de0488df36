/**
 * Many schedules due in one second, in a process of its own; prints one JSON line:
 * node measure-due.ts DIRECTORY COUNT. Beside it the bare append of as many event records, on the
 * same log and before; another tenant's schedules are due half a second later.
 */
import { systemClock } from '#kernel/adapters/system/system-clock.ts'
import { readConfiguration } from '#kernel/host/configuration.ts'
import { openEmbedded } from '#kernel/host/embedded.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { runScheduler } from '#services/scheduler/run-scheduler.ts'
import { entryOf } from '#services/scheduler/schedule-entry.ts'
import { eventsOf } from '#services/scheduler/time-events.ts'
import { scheduled } from '#test/support/schedule-sample.ts'
import { recordOf } from './workload.ts'

const [directory = '', text = '50000'] = process.argv.slice(2)
const count = Number(text)
const OTHERS = 100
/** Time to write and plan them all before they are due. */
const LEAD_MS = 30_000
const configuration = readConfiguration({ AMBIT_DATA_DIR: directory })
const { log, store, codec, stop } = openEmbedded(configuration, systemClock)
const writer = createRecordWriter(codec, 'scheduler')

const localOf = (ms: number) => new Date(ms).toISOString().slice(0, 19)
const dailyAt = (ms: number) => ({ dtstart: localOf(ms), tzid: 'UTC', rrule: 'FREQ=DAILY' })

const bareMs = await bareAppend()
const dueMs = Math.ceil(Date.now() / 1000) * 1000 + LEAD_MS
await fill(dueMs)
const { flood, others } = await fire()
const at = (list: number[], part: number) => list[Math.floor((list.length - 1) * part)] ?? 0
const [p50, p99, max] = [0.5, 0.99, 1].map(part => at(flood, part))
process.stdout.write(`${JSON.stringify({ bareMs, p50, p99, max, othersMax: at(others, 1) })}\n`)
await stop()

/** As many events as the schedules will make, in batches as the scheduler's. */
async function bareAppend(): Promise<number> {
  const since = Date.UTC(2026, 0, 1)
  const records = Array.from({ length: count }, (_, n) => {
    const id = `bare-${n}`
    const subscription = scheduled({ id, since, schedule: dailyAt(since + 86_400_000) })
    const entry = entryOf(subscription, { key: `bare/subscription/${id}`, partition: 0 })
    if (!entry) throw new Error('expected an entry of an active subscription')
    const instant = { atMs: since + n, nominal: String(n) }
    const firings = [{ instant, lateMs: 0, missedCount: 0 }]
    const [event] = eventsOf(entry, { firings, gaps: [], decidedMs: 0 }, since)
    if (!event) throw new Error('expected an event of a firing')
    return writer.encode(event)
  })
  const started = performance.now()
  for (let from = 0; from < count; from += 1000) await log.append(records.slice(from, from + 1000))
  return performance.now() - started
}

async function fill(firstMs: number): Promise<void> {
  const sinceMs = Date.now() - 1000
  for (let from = 0; from < count; from += 1000) {
    const schedule = () => ({ ...dailyAt(firstMs), missed: 'latest' as const, jitterMs: 0 })
    const batch = Array.from({ length: 1000 }, (_, n) =>
      recordOf(codec, from + n, { schedule: schedule(), sinceMs, tenant: 'flood' }),
    )
    await log.append(batch)
  }
  const once = { once: localOf(firstMs + 1000), tzid: 'UTC' }
  const others = Array.from({ length: OTHERS }, (_, n) =>
    recordOf(codec, n, { schedule: once, sinceMs, tenant: 'other' }),
  )
  await log.append(others)
}

/** Ms from due to durable, sorted. */
async function fire(): Promise<{ flood: number[]; others: number[] }> {
  const flood: number[] = []
  const others: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const scheduler = await runScheduler({
    ...{ log, store, codec, writer, clock: systemClock, logger: silentLogger, tz: 'bench' },
    ownerOf: () => undefined,
    onDispatched: ({ firings }, { tenant }) => {
      const list = tenant === 'flood' ? flood : others
      for (const { instant } of firings) list.push(Date.now() - instant.atMs)
      if (flood.length + others.length === count + OTHERS) resolve()
    },
  })
  await promise
  await scheduler.stop()
  const sorted = (list: number[]) => list.sort((a, b) => a - b)
  return { flood: sorted(flood), others: sorted(others) }
}
