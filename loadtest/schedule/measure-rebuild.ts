/**
 * One side of the rebuild, in a process of its own; prints one JSON line:
 * node measure-rebuild.ts fill|read|index DIRECTORY COUNT. `read` only reads and decodes the same
 * records; `index` makes the index that a starting scheduler makes.
 */
import { systemClock } from '#kernel/adapters/system/system-clock.ts'
import { readConfiguration } from '#kernel/host/configuration.ts'
import { openEmbedded } from '#kernel/host/embedded.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createPartitionReader } from '#services/scheduler/partition-reader.ts'
import { createScheduleIndex } from '#services/scheduler/schedule-index.ts'
import { markOf, recordOf } from './workload.ts'

const [side = '', directory = '', count = '0'] = process.argv.slice(2)
const configuration = readConfiguration({ AMBIT_DATA_DIR: directory })
const { log, codec, stop } = openEmbedded(configuration, systemClock)
const PARTITIONS = [0, 1, 2, 3]
const TOPICS = ['subscriptions', 'schedule.marks']

const sides: Record<string, () => Promise<number>> = { fill, read, index }
const started = performance.now()
const records = await (sides[side] ?? fill)()
const tookMs = performance.now() - started
globalThis.gc?.()
const { rss } = process.memoryUsage()
const peakBytes = process.resourceUsage().maxRSS * 1024
process.stdout.write(`${JSON.stringify({ tookMs, records, rssBytes: rss, peakBytes })}\n`)
await stop()

/** Half of the schedules have been decided before. */
async function fill(): Promise<number> {
  const now = Date.now()
  const sinceMs = now - 86_400_000
  for (let at = 0; at < Number(count); at += 1000) {
    const batch = Array.from({ length: 1000 }, (_, n) => recordOf(codec, at + n, { sinceMs }))
    const marks = Array.from({ length: 500 }, (_, n) => markOf(codec, at + 2 * n, now))
    await log.append([...batch, ...marks])
  }
  return Number(count)
}

async function read(): Promise<number> {
  let seen = 0
  const following = await log.follow({
    topics: TOPICS,
    partitions: PARTITIONS,
    from: 'beginning',
    onRecords: found => {
      for (const { topic, value } of found) {
        if (!value) continue
        const name = topic === 'subscriptions' ? 'table-document' : 'schedule-mark'
        codec.decode(name, value)
        seen += 1
      }
    },
  })
  await following.barrier(600_000)
  await following.stop()
  return seen
}

async function index(): Promise<number> {
  const schedules = createScheduleIndex(() => () => [])
  const { promise, resolve } = Promise.withResolvers<void>()
  const reader = createPartitionReader({
    ...{ log, codec, clock: systemClock, logger: silentLogger, index: schedules },
    onMarkBehind: () => {},
    onEntry: () => {},
    onChange: () => {
      if (reader.owned().size === PARTITIONS.length) resolve()
    },
  })
  reader.assign(PARTITIONS)
  await promise
  void reader.stop()
  return schedules.size
}
