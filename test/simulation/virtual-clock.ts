/**
 * Time of the whole simulated world: a queue of moments. Between two moments everything that can
 * run runs, so one seed has exactly one order.
 */
import type { Clock } from '#kernel/ports/clock.ts'

export interface Timer {
  cancel(): void
}

export interface WorldClock {
  /** True ms since the epoch; nobody inside the world reads it directly. */
  now(): number
  /** Wakes `act` after a duration; moments at one instant keep their order. */
  after(ms: number, act: () => void): Timer
  sleep(ms: number): Promise<void>
  /** Runs moments until `isDone` or the instant is reached; answers whether it was done. */
  run(untilMs: number, isDone?: () => boolean): Promise<boolean>
}

interface Moment {
  at: number
  order: number
  act: (() => void) | null
}

/** Lets all promises settle: the queue of promises is empty before the next macrotask. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

export function createWorldClock(startMs: number): WorldClock {
  const heap: Moment[] = []
  let now = startMs
  let order = 0
  const after = (ms: number, act: () => void): Timer => {
    order += 1
    const moment: Moment = { at: now + Math.max(0, ms), order, act }
    push(heap, moment)
    return {
      cancel: () => {
        moment.act = null
      },
    }
  }
  return {
    // Moments lie between milliseconds, so that calls can overtake each other inside one.
    now: () => Math.floor(now),
    after,
    sleep: ms => new Promise(resolve => void after(ms, resolve)),
    async run(untilMs, isDone) {
      await settled()
      while (!isDone?.()) {
        const next = heap[0]
        if (!next || next.at > untilMs) {
          now = Math.max(now, untilMs)
          return isDone?.() ?? true
        }
        pop(heap)
        if (!next.act) continue
        now = next.at
        next.act()
        await settled()
      }
      return true
    },
  }
}

const isBefore = (a: Moment, b: Moment) => a.at < b.at || (a.at === b.at && a.order < b.order)

function push(heap: Moment[], moment: Moment): void {
  let at = heap.push(moment) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent] as Moment
    if (!isBefore(moment, above)) break
    heap[at] = above
    at = parent
  }
  heap[at] = moment
}

function pop(heap: Moment[]): void {
  const last = heap.pop()
  if (!last || heap.length === 0) return
  let at = 0
  for (;;) {
    const left = 2 * at + 1
    const right = left + 1
    const l = heap[left]
    const r = heap[right]
    if (!l) break
    const [child, at2]: [Moment, number] = r && isBefore(r, l) ? [r, right] : [l, left]
    if (!isBefore(child, last)) break
    heap[at] = child
    at = at2
  }
  heap[at] = last
}

/** What decides how one process sees time. */
export interface NodeTime {
  world: WorldClock
  /** Ms that this process is ahead of true time; may jump (F15). */
  skewMs(): number
  /** Rings a timer whose time has come, or later (F25). */
  ring(act: () => void): void
  /** Runs the act as soon as the process is awake; never when it is dead. */
  whenAwake(act: () => void): void
}

/** The clock of one process: skewed, with timers that end late; silent once the process is dead. */
export function createNodeClock(time: NodeTime): Clock {
  const { world } = time
  return {
    now: () => world.now() + time.skewMs(),
    sleep: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        let isOver = false
        const abort = () => {
          isOver = true
          timer.cancel()
          reject(signal?.reason)
        }
        const end = () => {
          if (isOver) return
          signal?.removeEventListener('abort', abort)
          time.whenAwake(resolve)
        }
        const timer = world.after(ms, () => time.ring(end))
        signal?.addEventListener('abort', abort, { once: true })
      }),
  }
}
