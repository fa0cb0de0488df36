/**
 * What every Clock promises, as one suite for all adapters. `elapse` lets time pass: really, or by
 * moving it.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Clock } from '#kernel/ports/clock.ts'

export interface ClockWorld {
  clock: Clock
  /** Resolves when at least so many ms have passed on the clock. */
  elapse(ms: number): Promise<void>
}

/** Longest delay of a timer of the platform, ms: what is above it must not end at once. */
const TIMER_MAX_MS = 2 ** 31 - 1
const YEAR_2020_MS = 1_577_836_800_000

/** Tells whether a promise has ended, without waiting for it. */
function watch(promise: Promise<void>): { state: 'waiting' | 'slept' | 'rejected' } {
  const seen: ReturnType<typeof watch> = { state: 'waiting' }
  promise.then(
    () => {
      seen.state = 'slept'
    },
    () => {
      seen.state = 'rejected'
    },
  )
  return seen
}

type Check = (world: ClockWorld) => Promise<void>

const promises: Record<string, Check> = {
  'now is a whole number of ms since the epoch, and moves with time': async world => {
    const before = world.clock.now()
    assert.ok(Number.isSafeInteger(before) && before > YEAR_2020_MS, `now is ${before}`)
    await world.elapse(5)
    assert.ok(world.clock.now() >= before + 5)
  },
  'a sleep ends when its duration is over, and not before': async ({ clock, elapse }) => {
    const abort = new AbortController()
    const before = clock.now()
    const long = watch(clock.sleep(600_000, abort.signal))
    const sleeping = clock.sleep(30)
    await elapse(35)
    await sleeping
    assert.equal(long.state, 'waiting')
    abort.abort()
    // A timer of the machine counts from the start of its turn, which now has rounded down.
    assert.ok(clock.now() - before >= 29)
  },
  'the shorter of two sleeps ends first': async ({ clock, elapse }) => {
    const order: string[] = []
    const long = clock.sleep(40).then(() => order.push('long'))
    const short = clock.sleep(5).then(() => order.push('short'))
    await elapse(50)
    await Promise.all([long, short])
    assert.deepEqual(order, ['short', 'long'])
  },
  'a sleep of nothing, or less, ends soon': async ({ clock, elapse }) => {
    const sleeping = Promise.all([clock.sleep(0), clock.sleep(-5)])
    await elapse(5)
    await sleeping
  },
  'an aborted sleep rejects with the reason of its signal': async ({ clock }) => {
    const reason = new Error('rung')
    const abort = new AbortController()
    const sleeping = clock.sleep(60_000, abort.signal)
    abort.abort(reason)
    await assert.rejects(sleeping, error => error === reason)
  },
  'a signal that was aborted before rejects at once with its reason': async ({ clock }) => {
    const reason = new Error('too late')
    const sleeping = clock.sleep(60_000, AbortSignal.abort(reason))
    await assert.rejects(sleeping, error => error === reason)
  },
  'aborting after the end changes nothing': async ({ clock, elapse }) => {
    const abort = new AbortController()
    const sleeping = clock.sleep(1, abort.signal)
    await elapse(10)
    await sleeping
    abort.abort(new Error('nobody hears this'))
    await elapse(1)
  },
  'a sleep of more than 24 days does not end at once': async ({ clock, elapse }) => {
    const abort = new AbortController()
    const sleeping = clock.sleep(TIMER_MAX_MS + 1, abort.signal)
    const seen = watch(sleeping)
    await elapse(20)
    assert.equal(seen.state, 'waiting')
    abort.abort(new Error('enough'))
    await assert.rejects(sleeping, /enough/)
  },
}

/** Declares the whole suite for one adapter; every test gets a world of its own. */
export function clockContract(name: string, makeWorld: () => ClockWorld): void {
  describe(`${name} keeps the Clock contract`, () => {
    for (const [promise, check] of Object.entries(promises)) {
      test(promise, () => check(makeWorld()))
    }
  })
}
