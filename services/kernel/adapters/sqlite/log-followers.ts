/** Reading without a group (L5): live tables, barriers, tails. */
import { AmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Following, FollowOptions, LogRecord } from '#kernel/ports/event-log.ts'
import { createDeliveryPace } from './delivery-pace.ts'
import type { LogStreams } from './log-streams.ts'
import type { Stream } from './log-topics.ts'

export interface FollowerContext {
  streams: LogStreams
  clock: Pick<Clock, 'sleep'>
  isExtIngress(topic: string): boolean
}

interface Cursor {
  stream: Stream
  /** Everything below was delivered. */
  position: number
}

interface Barrier {
  /** What each cursor must reach. */
  targets: Map<Cursor, number>
  resolve(): void
}

const BATCH_MAX = 500
const BARRIER_MS_MAX = 30_000

/** Starts to follow; the records that are there are delivered after it returns. */
export function startFollowing(context: FollowerContext, options: FollowOptions): Following {
  const { streams, clock, isExtIngress } = context
  const cursors = new Map<Stream, Cursor>()
  const barriers = new Set<Barrier>()
  const aborting = new AbortController()
  const pace = createDeliveryPace(clock, aborting.signal)
  let running: Promise<void> | undefined

  function wake(): void {
    if (!aborting.signal.aborted) running ??= Promise.resolve().then(run)
  }

  async function run(): Promise<void> {
    for (let found = nextBehind(); found; found = nextBehind()) await deliver(found)
    running = undefined
  }

  function nextBehind(): Cursor | undefined {
    if (aborting.signal.aborted) return undefined
    return cursors.values().find(({ stream, position }) => position < stream.durableEnd)
  }

  async function deliver(cursor: Cursor): Promise<void> {
    const end = cursor.stream.durableEnd
    const records = await readOrPause(cursor)
    while (records && records.length > 0 && !aborting.signal.aborted) {
      if (await accepted(options, records)) break
      await pace.afterFailure()
    }
    if (!records || aborting.signal.aborted) return
    cursor.position = (records.at(-1)?.offset ?? end - 1) + 1
    for (const barrier of barriers) release(barrier, cursor)
    await pace.afterSuccess()
  }

  async function readOrPause({ stream, position }: Cursor): Promise<LogRecord[] | undefined> {
    try {
      return streams.read(stream, position, BATCH_MAX)
    } catch {
      await pace.afterFailure()
      return undefined
    }
  }

  function release(barrier: Barrier, cursor: Cursor): void {
    if (cursor.position < (barrier.targets.get(cursor) ?? Infinity)) return
    barrier.targets.delete(cursor)
    if (barrier.targets.size > 0) return
    barriers.delete(barrier)
    barrier.resolve()
  }

  function add(topic: string, isNew: boolean): void {
    for (const stream of streams.of(topic)) {
      if (options.partitions && !options.partitions.includes(stream.partition)) continue
      if (cursors.has(stream)) continue
      const position = isNew ? 0 : startOf(streams, stream, options.from)
      cursors.set(stream, { stream, position })
      stream.listeners.add(wake)
    }
    wake()
  }

  const forget = streams.onTopic(topic => {
    if (options.withExtIngress && isExtIngress(topic)) add(topic, true)
  })
  const ext = options.withExtIngress ? streams.storedTopics().filter(isExtIngress) : []
  for (const topic of new Set([...options.topics, ...ext])) add(topic, false)

  return {
    barrier: (timeoutMs = BARRIER_MS_MAX) => waitFor(barriers, cursors, { clock, timeoutMs }),
    async stop() {
      aborting.abort()
      forget()
      for (const stream of cursors.keys()) stream.listeners.delete(wake)
      await running
    },
  }
}

async function accepted(options: FollowOptions, records: LogRecord[]): Promise<boolean> {
  try {
    await options.onRecords(records)
    return true
  } catch {
    return false
  }
}

function startOf(streams: LogStreams, stream: Stream, from: FollowOptions['from']): number {
  if (from === 'beginning') return 0
  if (from === 'end') return stream.durableEnd
  if ('sinceMs' in from) return streams.firstSince(stream, from.sinceMs)
  const { topic, partition } = stream
  const given = from.offsets.find(each => each.topic === topic && each.partition === partition)
  return given?.offset ?? 0
}

/** Costs a comparison per stream when everything was delivered, which is the usual case. */
async function waitFor(
  barriers: Set<Barrier>,
  cursors: Map<Stream, Cursor>,
  { clock, timeoutMs }: { clock: Pick<Clock, 'sleep'>; timeoutMs: number },
): Promise<void> {
  const targets = new Map<Cursor, number>()
  for (const cursor of cursors.values()) {
    if (cursor.position < cursor.stream.durableEnd) targets.set(cursor, cursor.stream.durableEnd)
  }
  if (targets.size === 0) return
  const waiting = Promise.withResolvers<void>()
  const barrier = { targets, resolve: waiting.resolve }
  barriers.add(barrier)
  const timer = new AbortController()
  const late = clock.sleep(timeoutMs, timer.signal).then(() => {
    throw new AmbitError(
      'log-unavailable',
      `Expected to read up to the end within ${timeoutMs} ms, but ${targets.size} partitions ` +
        'are behind. Retry when the reader has caught up.',
    )
  })
  try {
    await Promise.race([waiting.promise, late])
  } finally {
    barriers.delete(barrier)
    late.catch(() => {})
    timer.abort()
  }
}
