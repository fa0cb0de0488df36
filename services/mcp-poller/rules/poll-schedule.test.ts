import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Bucket, takeToken } from '#kernel/domain/token-bucket.ts'
import { firstBeat, intervalOf, nextBeat, probeDelay, retryDelay } from './poll-schedule.ts'

describe('the schedule', () => {
  it('takes the shortest interval, and a second at least', () => {
    assert.equal(intervalOf([{ everyMs: 60_000 }, { everyMs: 5000 }]), 5000)
    assert.equal(intervalOf([{ everyMs: 1 }]), 1000)
  })
  it('makes one poll in each interval, however jitter falls', () => {
    for (const random of [() => 0, () => 0.999, Math.random]) {
      let beat = firstBeat({ interval: 5000, polledAt: null }, { now: 0, random: random() })
      const polls: number[] = []
      while (beat.at < 500_000) {
        polls.push(beat.at)
        beat = nextBeat(beat, 5000, { now: beat.at, random: random() })
      }
      assert.equal(polls.length, 100)
      const gaps = polls.slice(1).map((at, n) => at - (polls[n] ?? 0))
      assert.ok(Math.min(...gaps) >= 4500 && Math.max(...gaps) <= 5500)
    }
  })
  it('never polls twice within the floor', () => {
    let beat = firstBeat({ interval: 1000, polledAt: null }, { now: 0, random: 0.5 })
    for (let n = 0; n < 50; n++) {
      const next = nextBeat(beat, 1000, { now: beat.at, random: Math.random() })
      assert.ok(next.at - beat.at >= 1000)
      beat = next
    }
  })
  it('does not make up for what was missed', () => {
    const next = nextBeat({ base: 0, at: 0 }, 1000, { now: 60_000, random: 0 })
    assert.ok(next.at >= 61_000 - 1000 && next.at <= 62_000)
  })
  it('goes on after a restart where it was, without waiting longer than an interval', () => {
    const at = (polledAt: number, now: number) =>
      firstBeat({ interval: 60_000, polledAt }, { now, random: 0 }).at
    assert.equal(at(0, 10_000), 60_000)
    assert.equal(at(0, 300_000), 300_000)
    assert.equal(at(900_000, 10_000), 70_000)
  })
  it('waits longer before each retry and each probe, up to a bound', () => {
    assert.ok(retryDelay(2, 0.5) > retryDelay(1, 0.5))
    assert.ok(probeDelay(3, 0.5) > probeDelay(2, 0.5))
    assert.ok(probeDelay(1000, 1) <= 1.25 * 3_600_000)
  })
  it('lets a burst through, then the rate', () => {
    let bucket: Bucket | undefined
    let calls = 0
    for (let now = 0; now <= 10_000; now += 10) {
      const taken = takeToken(bucket, now, { perSecond: 2, burst: 5 })
      bucket = taken.bucket
      if (taken.waitMs === 0) calls++
    }
    assert.ok(calls >= 24 && calls <= 25, `${calls}`)
  })
})
